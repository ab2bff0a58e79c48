"""QUERY: the objects that answer a text, best first."""

from sonicpy._native import ranking
from sonicpy._native.object_table import ObjectTable
from sonicpy._native.ranking import Ranker
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.config import Config
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.ranking import RANKINGS

WHOLLY = 3
"""The whole number of the score of an object that holds every word as typed; 2 stands for some of the words, 1 for
completions, 0 for corrections."""
HIGHEST_SHARE = 0.999999
"""The highest fraction of a score: it does not round up to the next whole number when six digits of it are written."""


def query(lexicon: Lexicon, terms: Terms, config: Config, limit: int, offset: int) -> list[str]:
    """Return the names of at most `limit` objects of a bucket, from place `offset` on.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the query's text.
    """
    if not len(terms):
        return []
    _, table = RANKINGS[config.search.ranking](lexicon, terms, config, offset + limit)
    return lexicon.reader.oids(table.best(offset, limit))


def query_hits(lexicon: Lexicon, terms: Terms, config: Config, limit: int, offset: int, *, total: bool) -> Hits:
    """Return the same objects with their scores.

    Args:
        total: also tell how many objects answer.
    """
    if not len(terms):
        return Hits(total=0 if total else None)
    ranking = config.search.ranking
    _, table = RANKINGS[ranking](lexicon, terms, config, offset + limit)
    iids, scores = shown_best(table, offset, limit)
    return Hits(lexicon.reader.oids(iids), None if ranking == "newest" else scores, len(table) if total else None)


def shown_best(table: ObjectTable, offset: int, limit: int) -> tuple[list[int], list[float]]:
    """Return the IIDs of the best objects, and `shown_score` of each."""
    if isinstance(table, Ranker):
        return table.best_shown(offset, limit, WHOLLY, HIGHEST_SHARE)
    best = table.best_scored(offset, limit)
    return [iid for iid, _, _ in best], [score for _, _, score in best]


def shown_score(table: ObjectTable, kind: int, score: float) -> float:
    """Return the score that users see; it orders objects as the kind and the table's score together do."""
    if not isinstance(table, Ranker):
        return score
    return ranking.shown_score(WHOLLY, kind, score, table.ceiling, HIGHEST_SHARE)


def share_of_best(table: Ranker, score: float) -> float:
    """Return a score, or a part of one, as a share of the highest score that the query allows."""
    return ranking.shown_score(0, 0, score, table.ceiling, HIGHEST_SHARE)
