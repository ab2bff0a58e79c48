"""Judged queries: the quality of the order of answers."""

import time
from dataclasses import dataclass

from sonicpy.evaluation.inputs import Collection
from sonicpy.evaluation.measures import measure
from sonicpy.evaluation.searched import Searched, fill

PLACES = 100
"""Answers asked for: those that Recall@100 counts, and the most that a Sonic server gives by default."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """The figures of one collection."""

    name: str
    documents: int
    queries: int
    ndcg_10: float
    mrr_10: float
    recall_100: float
    empty: int
    """Queries without any answer."""
    query_us: float
    """Mean time of a query for 100 answers, in microseconds, with a server including the round trip."""
    push_us: float
    """Mean time of pushing a document."""


def evaluate(
    searched: Searched,
    scope: str,
    given: Collection,
    *,
    lang: str | None = None,
    query_lang: str | None = None,
    most_bytes: int | None = None,
) -> Relevance:
    """Push all documents, ask all queries, and judge the answers.

    Args:
        scope: name of a collection that only this evaluation uses.
        lang: language of documents and queries; None: each text's language is guessed.
        query_lang: language of queries, instead of `lang`.
        most_bytes: of one PUSH; None: push documents whole.

    Raises:
        EvaluationError: the extra [eval] is not installed.
    """
    # Ids may contain blanks and letters beyond ASCII, names of objects may not.
    names = list(given.documents)
    began = time.perf_counter()
    texts = ((str(number), given.documents[name]) for number, name in enumerate(names))
    fill(searched, scope, "documents", texts, lang=lang, most_bytes=most_bytes)
    push_us = (time.perf_counter() - began) / len(names) * 1e6
    answers = {}
    taken_s = 0.0
    for query, text in given.queries.items():
        began = time.perf_counter()
        found = searched.query(scope, "documents", text, limit=PLACES, lang=query_lang or lang)
        taken_s += time.perf_counter() - began
        answers[query] = [names[int(number)] for number in found]
    figures = measure(given.relevant, answers)
    return Relevance(
        given.name,
        len(names),
        len(answers),
        figures.ndcg_10,
        figures.mrr_10,
        figures.recall_100,
        sum(not found for found in answers.values()),
        taken_s / len(answers) * 1e6,
        push_us,
    )
