"""Words that lost their last object in the cache of rows of words, as an UPSERT leaves them: their rows wait to go."""

from sonicpy._native.term_cache import TermCache
from sonicpy.store.disk.transaction import COMMON, WORDS, Transaction
from sonicpy.store.rows.numbered_terms import drop_terms


def delete_vanished(transaction: Transaction, cache: TermCache) -> None:
    """Delete the rows of these words, and drop them from the cache; the terms of new words are in the tables."""
    words, common, terms = cache.take_vanished()
    transaction.delete_many(WORDS, words)
    transaction.delete_many(COMMON, common)
    for bucket in sorted({bucket for bucket, _ in terms}):
        drop_terms(transaction, bucket, [term_id for other, term_id in terms if other == bucket])
