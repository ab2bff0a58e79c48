"""The term of a term id: the table `terms`, where neighbouring term ids share rows.

New terms get the next term ids, so the new terms of a text usually share a row. A row of an older version holds one
term: see `sonicpy._native.numbered_terms`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sonicpy._native.numbered_terms import (
    TERMS_PER_ROW,
    is_shared,
    pack_terms,
    row_keys,
    term_at,
    terms_in,
    unpack_terms,
)
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import TERMS
from sonicpy.store.rows.keys import bucket_key, term_key

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


FEW = 4
"""The most term ids that are looked up one by one."""


def terms_numbered(transaction: "Transaction", bucket: int, term_ids: Iterable[int]) -> dict[int, bytes]:
    """Return the terms of term ids, by id; ids without a term are left out.

    Raises:
        StoreDamaged: a row cannot be read.
    """
    ids = list(term_ids)
    rows = transaction.get_many(TERMS, row_keys(bucket, ids))
    try:
        found = terms_in(bucket, ids, rows)
    except DamagedBytes as error:
        raise StoreDamaged(f"bucket {bucket}, {error}") from error
    if len(found) < len(ids):  # rows of an older version, under term ids of their own
        missing = {term_key(bucket, term_id): term_id for term_id in ids if term_id not in found}
        single = transaction.get_many(TERMS, list(missing))
        found.update((missing[key], row) for key, row in single if not is_shared(row))
    return found


def few_terms_numbered(transaction: "Transaction", bucket: int, term_ids: list[int]) -> dict[int, bytes]:
    """Return the result of `terms_numbered`, in less time for a few term ids."""
    if len(term_ids) > FEW:
        return terms_numbered(transaction, bucket, term_ids)
    found: dict[int, bytes] = {}
    for term_id in term_ids:
        place = term_id % TERMS_PER_ROW
        row = transaction.get(TERMS, term_key(bucket, term_id - place))
        term = None if row is None or not is_shared(row) else term_at(row, place)
        if term is None:
            found.update(terms_numbered(transaction, bucket, (term_id,)))  # a row of its own
        else:
            found[term_id] = term
    return found


def drop_terms(transaction: "Transaction", bucket: int, term_ids: Iterable[int]) -> None:
    """Delete the terms with these ids.

    Raises:
        StoreDamaged: a row cannot be read.
    """
    by_row = _by_row(term_ids)
    held = _shared(transaction, bucket, by_row)
    left = {
        first: {place: term for place, term in terms.items() if place not in by_row[first]}
        for first, terms in held.items()
    }
    _write(transaction, bucket, {first: terms for first, terms in left.items() if len(terms) < len(held[first])})
    single = [
        term_key(bucket, first + place)
        for first, places in by_row.items()
        for place in places
        if place and place not in held.get(first, {})
    ]
    transaction.delete_many(TERMS, single)


def all_terms(transaction: "Transaction", bucket: int) -> Iterator[tuple[int, bytes]]:
    """Yield the id and the bytes of all terms of a bucket, row by row.

    Raises:
        StoreDamaged: a row cannot be read.
    """
    for key, row in transaction.rows(TERMS, bucket_key(bucket)):
        first = int.from_bytes(key[4:], "big")
        for place, term in _unpacked(bucket, first, row).items():
            yield first + place, term


def _by_row(term_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return, for the first term id of each row, the places of the given term ids in that row."""
    by_row: defaultdict[int, list[int]] = defaultdict(list)
    for term_id in term_ids:
        place = term_id % TERMS_PER_ROW
        by_row[term_id - place].append(place)
    return by_row


def _shared(transaction: "Transaction", bucket: int, firsts: Iterable[int]) -> dict[int, dict[int, bytes]]:
    """Return, for the first term id of each row that exists, its terms by their places."""
    keys = {term_key(bucket, first): first for first in firsts}
    rows = transaction.get_many(TERMS, list(keys))
    return {keys[key]: _unpacked(bucket, keys[key], row) for key, row in rows}


def _unpacked(bucket: int, first: int, row: bytes) -> dict[int, bytes]:
    if not is_shared(row):
        return {0: row}
    try:
        return unpack_terms(row)
    except DamagedBytes as error:
        raise StoreDamaged(f"bucket {bucket}, terms from {first} on: {error}") from error


def _write(transaction: "Transaction", bucket: int, rows: dict[int, dict[int, bytes]]) -> None:
    transaction.put_many(
        TERMS, [(term_key(bucket, first), pack_terms(terms)) for first, terms in rows.items() if terms]
    )
    transaction.delete_many(TERMS, [term_key(bucket, first) for first, terms in rows.items() if not terms])
