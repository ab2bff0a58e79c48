"""QUERY: the objects that answer a text, best first."""

from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.config import Config
from sonicpy.index.search.families import Matching
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.ranking import RANKINGS, Answer
from sonicpy.index.search.walk import Walk
from sonicpy.search import Search

WHOLLY = 3
"""The whole number of the score of an object that holds every word as typed; 2 stands for some of the words, 1 for
completions, 0 for corrections."""
HIGHEST_SHARE = 0.999999
"""The highest fraction of a score: it does not round up to the next whole number when six digits of it are written."""


def query(
    lexicon: Lexicon, terms: Terms, config: Config, search: Search, matching: Matching | None = None
) -> list[str]:
    """Return the names of the objects on a page of the answer to a search.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the search's text.
        matching: how words lead to families; None: no word has one.
    """
    if not len(terms):
        return []
    _, answer = RANKINGS[config.search.ranking](lexicon, terms, config, matching)
    return lexicon.reader.oids([iid for iid, _, _ in answer.best(search.offset, search.limit)])


def query_hits(
    lexicon: Lexicon, terms: Terms, config: Config, search: Search, matching: Matching | None = None
) -> Hits:
    """Return the same objects with their scores, and the number of all that answer, if the search asks for it."""
    if not len(terms):
        return Hits(total=0 if search.total else None)
    ranking = config.search.ranking
    _, answer = RANKINGS[ranking](lexicon, terms, config, matching)
    iids, scores = shown_best(answer, search.offset, search.limit)
    total = answer.total() if search.total else None
    return Hits(lexicon.reader.oids(iids), None if ranking == "newest" else scores, total)


def shown_best(answer: Answer, offset: int, limit: int) -> tuple[list[int], list[float]]:
    """Return the IIDs of the best objects, and `shown_score` of each."""
    if isinstance(answer, Walk):
        return answer.best_shown(offset, limit, WHOLLY, HIGHEST_SHARE)
    best = answer.best(offset, limit)
    return [iid for iid, _, _ in best], [score for _, _, score in best]


def shown_score(answer: Answer, kind: int, score: float) -> float:
    """Return the score that users see; it orders objects as the kind and the score together do."""
    return WHOLLY - kind + share_of_best(answer, score) if isinstance(answer, Walk) else score


def share_of_best(walk: Walk, score: float) -> float:
    """Return a score, or a part of one, as a share of the highest score that the query allows."""
    return min(score / walk.ceiling, HIGHEST_SHARE) if walk.ceiling > 0 else 0.0
