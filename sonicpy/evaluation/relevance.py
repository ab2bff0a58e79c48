"""Judges answers by queries with known relevant documents: the quality of their order."""

import time
from dataclasses import dataclass

from sonicpy.evaluation.inputs import Collection
from sonicpy.evaluation.measures import measure
from sonicpy.evaluation.searched import Searched, fill

PLACES = 100
"""The number of answers to ask for: Recall@100 counts them, and a Sonic server gives no more by default."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """The figures of one judged collection."""

    name: str
    documents: int
    queries: int
    ndcg_10: float
    mrr_10: float
    recall_100: float
    empty: int
    """The number of queries without an answer."""
    query_us: float
    """The mean time of a query for 100 answers in microseconds, including the round trip to a server."""
    push_us: float
    """The mean time of pushing a document, in microseconds."""


def evaluate(
    searched: Searched,
    scope: str,
    given: Collection,
    *,
    lang: str | None = None,
    query_lang: str | None = None,
    most_bytes: int | None = None,
) -> Relevance:
    """Push all documents, ask all queries, judge the answers, and return the figures.

    Args:
        scope: name of a collection that only this evaluation uses.
        lang: the language of documents and queries; None: the language of each text is guessed.
        query_lang: the language of queries, instead of `lang`.
        most_bytes: the most bytes of one PUSH; None: documents are pushed whole.

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
