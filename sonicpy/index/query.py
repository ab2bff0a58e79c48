"""QUERY: the objects that answer a text, best first."""

from sonicpy._native.text import Terms
from sonicpy.config import SearchConfig
from sonicpy.index.ranking import RANKINGS
from sonicpy.store.bucket import BucketReader
from sonicpy.store.view import View


def query(
    view: View, collection: str, bucket: str, terms: Terms, search: SearchConfig, window: int, limit: int, offset: int
) -> list[str]:
    """Return the names of at most `limit` objects, from place `offset` on.

    Args:
        terms: the distinct terms of the query's text.
        window: how many newest objects each word keeps (0: all).
    """
    state = view.bucket(collection, bucket)
    if state is None or not len(terms):
        return []
    reader = BucketReader(view, state)
    ranker = RANKINGS[search.ranking](reader, terms, search, window)
    return reader.oids(ranker.best(offset, limit))
