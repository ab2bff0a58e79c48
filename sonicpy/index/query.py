"""QUERY: the objects that answer a text, best first."""

from sonicpy._native.text import Terms
from sonicpy.config import SearchConfig
from sonicpy.index.lexicon import Lexicon
from sonicpy.index.ranking import RANKINGS


def query(lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, limit: int, offset: int) -> list[str]:
    """Return the names of at most `limit` objects of a bucket, from place `offset` on.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the query's text.
        window: how many newest objects each word keeps (0: all).
    """
    if not len(terms):
        return []
    table = RANKINGS[search.ranking](lexicon, terms, search, window, offset + limit)
    return lexicon.reader.oids(table.best(offset, limit))
