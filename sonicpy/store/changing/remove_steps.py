"""Removal in steps: one turn only begins the FLUSHO of a large object, or the FLUSHC of many buckets.

    begin    record the removal durably
    step     remove one part; after each step the tables agree with each other, and `verify` finds no fault
    settle   before a change of an object or collection that is being removed: remove the rest of it

Until the last step readers may see a part of the removed data, so a server sends the reply after it. Opening an index
carries out the remaining steps. Without `in_steps`, and in a replay of the log, a removal happens at once.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sonicpy.errors import StoreDamaged
from sonicpy.late import late
from sonicpy.store.changing.bucket_writer import TERMS_MAX, writer_of
from sonicpy.store.disk.table_numbers import META, SCOPES, VECTORS, StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import BUCKET_MAX, collection_prefix, scope_of
from sonicpy.store.rows.meta import NEXT_BUCKET, flushing
from sonicpy.store.rows.synonym_rules import put_rules
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, pack_columns, unpack_columns, vector_prefix

if TYPE_CHECKING:
    from sonicpy.store.changing.part_sorter import PartSorter, wants_sorting
    from sonicpy.store.views.write_view import WriteView
else:
    PartSorter = late("sonicpy.store.changing.part_sorter", "PartSorter", __name__)
    wants_sorting = late("sonicpy.store.changing.part_sorter", "wants_sorting", __name__)

TERMS_PER_STEP = 300
"""The most terms of an object that one step removes: about 2 ms."""
BUCKETS_PER_STEP = 200
"""The most buckets that one step removes: about 2 ms."""
VECTOR_ROWS_PER_STEP = 500
"""The most rows of vectors that one step removes: about 2 ms."""


def terms_at_once(in_steps: bool) -> int:
    """Return the most terms of an object that FLUSHO removes without a beginning and steps."""
    return TERMS_PER_STEP if in_steps else TERMS_MAX


def flush_object(view: "WriteView", collection: str, bucket: str, oid: str, *, in_steps: bool) -> int:
    """Delete an object, or begin its removal; return its number of words, hidden ones not counted.

    Args:
        in_steps: only begin the removal of a large object, and leave the rest to `step`.
    """
    if view.bucket(collection, bucket) is None:
        return 0
    writer = writer_of(view, collection, bucket)
    return writer.begin_removal(oid, TERMS_PER_STEP) if in_steps else writer.flush_object(oid)


def flush_collection(view: "WriteView", collection: str, *, in_steps: bool) -> int:
    """Delete a collection with its synonyms, or begin its removal; return whether the collection existed.

    Args:
        in_steps: only begin the removal of many buckets, and leave the rest to `step`.
    """
    prefix, most = collection_prefix(collection), BUCKETS_PER_STEP + 1 if in_steps else BUCKET_MAX
    keys = view.transaction.some_keys(SCOPES, prefix, most, prefix)
    if view.synonym_stamp(collection) is not None:
        put_rules(view.transaction, collection, ())
    if in_steps and len(keys) == most:
        limit = NEXT_BUCKET.read(view.transaction) or 0
        flushing(collection).write(view.transaction, limit)
        view.removals.collections[collection] = limit
    else:
        for key in keys:
            view.forget_bucket(*scope_of(key))
        _end_collection(view, collection)
    was_emptied = view.forget_emptied(collection)
    return int(was_emptied or bool(keys))


def step(view: "WriteView") -> bool:
    """Carry out one step of the removals under way; return whether anything is left."""
    removals = view.removals
    for collection, limit in removals.collections.items():
        _step_collection(view, collection, limit)
        break
    else:
        for (bucket, _), iid in removals.objects.items():
            _step_object(view, bucket, iid)
            break
        else:
            for bucket, column in removals.vectors:
                _step_vectors(view, bucket, column)
                break
    return bool(removals)


def settle(view: "WriteView", collection: str, bucket: str | None = None, oid: str | None = None) -> None:
    """Complete the removal of a collection, a bucket or an object, if one is under way, before it is changed or
    flushed.

    Args:
        bucket: the name of the bucket; None: the whole collection.
        oid: the name of the object; None: the whole bucket.
    """
    removals = view.removals
    limit = removals.collections.get(collection)
    if bucket is None:
        while collection in removals.collections:
            _step_collection(view, collection, removals.collections[collection])
        return
    state = view.bucket(collection, bucket)
    if state is None:
        return
    if limit is not None and state.bucket < limit:
        view.forget_bucket(collection, bucket)
    elif oid is not None:
        while (iid := removals.objects.get((state.bucket, oid))) is not None:
            _step_object(view, state.bucket, iid)


def _step_collection(view: "WriteView", collection: str, limit: int) -> None:
    scopes = [scope_of(key) for key, _ in islice(_old_rows(view, collection, limit), BUCKETS_PER_STEP)]
    for scope in scopes:
        view.forget_bucket(*scope)
    if len(scopes) < BUCKETS_PER_STEP:
        _end_collection(view, collection)


def _step_vectors(view: "WriteView", bucket: int, column: int) -> None:
    prefix = vector_prefix(bucket, column)
    if view.transaction.delete_rows(VECTORS, prefix, VECTOR_ROWS_PER_STEP) < VECTOR_ROWS_PER_STEP:
        columns = unpack_columns(view.fact(bucket, VECTOR_COLUMNS))
        left = tuple(each for each in columns if each.number != column)
        view.set_fact(bucket, VECTOR_COLUMNS, pack_columns(left) if left else None)
        del view.removals.vectors[bucket, column]


def drop_vectors(view: "WriteView") -> None:
    """Delete the rows of all dropped columns of vectors."""
    while view.removals.vectors:
        _step_vectors(view, *next(iter(view.removals.vectors)))


def _old_rows(view: "WriteView", collection: str, limit: int) -> Iterator[StoredRow]:
    """Yield the rows of the buckets of a collection whose numbers are below a limit."""
    for key, row in view.transaction.rows(SCOPES, collection_prefix(collection)):
        if BucketState.unpack(row).bucket < limit:
            yield key, row


def _end_collection(view: "WriteView", collection: str) -> None:
    if view.removals.collections.pop(collection, None) is not None:
        view.transaction.delete(META, flushing(collection).name)


def _step_object(view: "WriteView", bucket: int, iid: int) -> None:
    scope = view.scope(bucket)
    if scope is None:
        raise StoreDamaged(f"bucket {bucket}: it has no name, but objects that are being removed")
    if wants_sorting(view, bucket, iid):
        sorter = view.removals.sorter
        if sorter is None or sorter.object != (bucket, iid):
            sorter = view.removals.sorter = PartSorter(bucket, iid, TERMS_PER_STEP)
        if sorter.step(view):
            view.removals.sorter = None
        return
    writer_of(view, *scope).remove_part(iid)
