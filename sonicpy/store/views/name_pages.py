"""Lists the names of collections, of buckets and of objects, some at a time."""

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, names_in
from sonicpy.store.disk.table_numbers import OBJECTS, SCOPES
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, collection_prefix, object_key, scope_of
from sonicpy.store.views.view import View

FIRST_COLLECTION = b"\1"
"""A key that sorts behind those of staged buckets, whose collection has an empty name."""
ROWS_MIN = 2
"""The least number of rows to read: the row in which the last page ended, which may have new objects, and the next
row."""
LAST_BUCKET = b"\xff"
"""Bytes that sort behind every name of a bucket, because names are ASCII."""


def collections_after(view: View, after: str | None, limit: int) -> list[str]:
    """Return names of collections: shorter names first, names of equal length in byte order.

    Args:
        after: only names behind this one, which need not exist; None: from the first on.
        limit: the most names to return.
    """
    found: list[str] = []
    start = FIRST_COLLECTION if after is None else collection_prefix(after) + LAST_BUCKET
    while len(found) < limit and (row := view.transaction.first(SCOPES, start)) is not None:
        found.append(scope_of(row[0]).collection)
        start = collection_prefix(found[-1]) + LAST_BUCKET
    return found


def buckets_after(view: View, collection: str, after: str | None, limit: int) -> list[str]:
    """Return names of buckets of a collection in byte order. Arguments as in `collections_after`."""
    prefix = collection_prefix(collection)
    start = prefix if after is None else prefix + after.encode() + b"\0"
    rows = view.transaction.some_rows(SCOPES, start, limit)
    return [scope_of(key).bucket for key, _ in rows if key.startswith(prefix)]


def objects_from(
    view: View, state: BucketState, start: int, prefix: bytes, limit: int, rows_max: int
) -> tuple[list[str], int | None]:
    """Return names of objects in the order of their first PUSH, and the IID to continue with; None: there are no more.

    Args:
        start: the first IID to read.
        prefix: only names that begin with it.
        limit: the most names to return.
        rows_max: the most rows of sixteen objects to read; at least two.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    view.flush_records(state.bucket)
    names: list[str] = []
    size = limit // OBJECTS_PER_RECORD_ROW + ROWS_MIN
    following: int | None = start
    while following is not None and len(names) < limit and rows_max >= ROWS_MIN:
        size = min(size, rows_max)
        first = object_key(state.bucket, following // OBJECTS_PER_RECORD_ROW)
        rows = view.transaction.some_rows(OBJECTS, first, size, bucket_key(state.bucket))
        more, following = names_in(rows, state.bucket, following, prefix, limit - len(names), ends=len(rows) < size)
        names += more
        rows_max -= size
        size *= 4
    return names, following


def numbered_from(view: View, state: BucketState, start: int, limit: int) -> tuple[list[tuple[int, str]], int | None]:
    """Return the IID and the name of objects by rising IID, and the IID to continue with; None: there are no more.

    Args:
        start: the first IID to read.
        limit: the approximate number of objects to return.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    view.flush_records(state.bucket)
    size = max(limit // OBJECTS_PER_RECORD_ROW, 1)
    first_key = object_key(state.bucket, start // OBJECTS_PER_RECORD_ROW)
    rows = view.transaction.some_rows(OBJECTS, first_key, size, bucket_key(state.bucket))
    found: list[tuple[int, str]] = []
    following: int | None = None
    for key, row in rows:
        first = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
        found += [(first + place, oid.decode()) for place, oid in RecordRow(row).oids()]
        following = first + OBJECTS_PER_RECORD_ROW
    if found and found[-1][0] + 1 < (following or 0):  # the row may get more objects
        following = found[-1][0] + 1
    return [one for one in found if one[0] >= start], following if len(rows) == size else None


def numbered_in(view: View, bucket: int, numbers: list[int]) -> list[tuple[int, str]]:
    """Return the IID and the name of the objects in rows of records. Raises DamagedBytes if one cannot be read.

    Args:
        numbers: the numbers of the rows; some may not exist.
    """
    view.flush_records(bucket)
    found: list[tuple[int, str]] = []
    for key, row in view.transaction.get_many(OBJECTS, [object_key(bucket, number) for number in numbers]):
        first = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
        found += [(first + place, oid.decode()) for place, oid in RecordRow(row).oids()]
    return found
