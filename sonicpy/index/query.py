"""QUERY: the objects that answer a text, best first."""

from sonicpy._native.ranking import ObjectTable, Ranker
from sonicpy._native.text import Terms
from sonicpy.config import SearchConfig
from sonicpy.hits import Hits
from sonicpy.index.lexicon import Lexicon
from sonicpy.index.ranking import RANKINGS

WHOLLY = 3
"""The whole number of the score of an object that holds every word as it was typed; one less for some of the words,
two less for completions, none for corrections."""
HIGHEST_SHARE = 0.999999
"""So the fraction of a score stays one, even when six digits of it are written."""


def query(lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, limit: int, offset: int) -> list[str]:
    """Return the names of at most `limit` objects of a bucket, from place `offset` on.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the query's text.
        window: how many newest objects each word keeps (0: all).
    """
    if not len(terms):
        return []
    table = RANKINGS[search.ranking](lexicon, terms, search, window, offset + limit, None)
    return lexicon.reader.oids(table.best(offset, limit))


def query_hits(
    lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, limit: int, offset: int, total: bool
) -> Hits:
    """Return the same objects with their scores and, if asked, how many there are in all."""
    if not len(terms):
        return Hits(total=0 if total else None)
    table = RANKINGS[search.ranking](lexicon, terms, search, window, offset + limit, None)
    best = table.best_scored(offset, limit)
    scores = None if search.ranking == "newest" else shown_scores(table, best)
    return Hits(lexicon.reader.oids([iid for iid, _, _ in best]), scores, len(table) if total else None)


def shown_scores(table: ObjectTable, best: list[tuple[int, int, float]]) -> list[float]:
    """Return `shown_score` of each of (IID, kind, score); written out, because it is most of what a Hits costs."""
    if not isinstance(table, Ranker) or table.ceiling <= 0:
        return [shown_score(table, kind, score) for _, kind, score in best]
    ceiling, highest = table.ceiling, HIGHEST_SHARE
    return [
        WHOLLY - kind + (share if (share := score / ceiling) < highest else highest) for _, kind, score in best
    ]


def shown_score(table: ObjectTable, kind: int, score: float) -> float:
    """Return the score that users see, which orders objects as the kind and the table's score do."""
    return WHOLLY - kind + share_of_best(table, score) if isinstance(table, Ranker) else score


def share_of_best(table: Ranker, score: float) -> float:
    """Return which share of the best imaginable score a score, or a part of one, is."""
    return min(score / table.ceiling, HIGHEST_SHARE) if table.ceiling > 0 else 0.0
