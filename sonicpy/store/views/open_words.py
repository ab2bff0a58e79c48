"""Rows of words as the open write transaction shows them: those of the tables, with the changes of the `TermCache`.

A word that lost its last object in the cache, for example by an UPSERT, has a row in the tables until the next write.
"""

from bisect import bisect_left
from collections.abc import Callable
from operator import itemgetter

from sonicpy._native.term_cache import TermCache
from sonicpy.store.disk.table_numbers import COMMON, WORDS, StoredRow
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.numbered_terms import drop_terms

KEY = itemgetter(0)
"""Return the key of a row."""
NO_LETTER = b"\xff" * 33
"""Bytes that sort behind every continuation of a prefix in a key of a word: letters in UTF-8, or 0xFF and a hash of 32
bytes."""


def rows(cache: TermCache, read: Callable[[list[bytes]], dict[bytes, bytes]], keys: list[bytes]) -> dict[bytes, bytes]:
    """Return the rows of the words with these keys, by key; `read` returns the rows in the tables."""
    found, others = cache.held(keys)
    if others:
        found.update(read(others))
    return found


def rows_from(
    cache: TermCache, read: Callable[[bytes, int, bytes], list[StoredRow]], start: bytes, limit: int, prefix: bytes
) -> list[StoredRow]:
    """Return the first `limit` rows of words whose keys begin with `prefix`, from the key `start` on; `read` returns
    the rows in the tables."""
    vanished = cache.vanished(start, behind(prefix))
    asked = limit + len(vanished)
    stored = read(start, asked, prefix)
    waiting = cache.waiting_between(start, stored[-1][0] if len(stored) == asked else behind(prefix))
    if vanished:
        stored = [row for row in stored if row[0] not in vanished]
    for row in sorted(waiting.items()):  # few, in a list that is sorted: sorting all again would take longer
        place = bisect_left(stored, row[0], key=KEY)
        stored[place : place + (place < len(stored) and stored[place][0] == row[0])] = [row]
    return stored[:limit]


def keys_from(
    cache: TermCache, read: Callable[[bytes, int, bytes], list[bytes]], start: bytes, limit: int, prefix: bytes
) -> list[bytes]:
    """Return the keys of the rows that `rows_from` would return; `read` returns the keys in the tables."""
    vanished = cache.vanished(start, behind(prefix))
    asked = limit + len(vanished)
    stored = read(start, asked, prefix)
    waiting = cache.waiting_between(start, stored[-1] if len(stored) == asked else behind(prefix))
    if vanished:
        stored = [key for key in stored if key not in vanished]
    for key in sorted(waiting):
        place = bisect_left(stored, key)
        if place == len(stored) or stored[place] != key:
            stored.insert(place, key)
    return stored[:limit]


def delete_vanished(transaction: Transaction, cache: TermCache) -> None:
    """Delete the rows of words that have lost their last object, and drop them from the cache. The terms of new words
    must have been written before."""
    words, common, terms = cache.take_vanished()
    transaction.delete_many(WORDS, words)
    transaction.delete_many(COMMON, common)
    for bucket in sorted({bucket for bucket, _ in terms}):
        drop_terms(transaction, bucket, [term_id for other, term_id in terms if other == bucket])


def behind(prefix: bytes) -> bytes | None:
    """Return the smallest bytes that sort behind all keys that begin with `prefix`; None: no bytes do."""
    return prefix + NO_LETTER if prefix else None
