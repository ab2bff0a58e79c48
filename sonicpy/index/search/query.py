"""QUERY: the objects that answer a text, best first."""

from sonicpy._native import ranking
from sonicpy._native.object_table import ObjectTable
from sonicpy._native.ranking import Ranker
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.config import SearchConfig
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.ranking import RANKINGS

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
    iids, scores = shown_best(table, offset, limit)
    return Hits(
        lexicon.reader.oids(iids), None if search.ranking == "newest" else scores, len(table) if total else None
    )


def shown_best(table: ObjectTable, offset: int, limit: int) -> tuple[list[int], list[float]]:
    """Return the IIDs of the best objects and `shown_score` of each."""
    if isinstance(table, Ranker):
        return table.best_shown(offset, limit, WHOLLY, HIGHEST_SHARE)
    best = table.best_scored(offset, limit)
    return [iid for iid, _, _ in best], [score for _, _, score in best]


def shown_score(table: ObjectTable, kind: int, score: float) -> float:
    """Return the score that users see, which orders objects as the kind and the table's score do."""
    if not isinstance(table, Ranker):
        return score
    return ranking.shown_score(WHOLLY, kind, score, table.ceiling, HIGHEST_SHARE)


def share_of_best(table: Ranker, score: float) -> float:
    """Return which share of the best imaginable score a score, or a part of one, is."""
    return ranking.shown_score(0, 0, score, table.ceiling, HIGHEST_SHARE)
