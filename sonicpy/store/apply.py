"""Carry out a mutation inside a write transaction: the same code live and in replay."""

from collections.abc import Sequence

from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.bucket_writer import writer_of
from sonicpy.store.environment import SCOPES
from sonicpy.store.keys import collection_prefix, scope_of
from sonicpy.store.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.write_view import WriteView


def apply_pushes(view: WriteView, pushes: Sequence[PushTerms], *, new: bool) -> list[int]:
    """Carry out PUSHes one after the other; return the places of those left out.

    Args:
        new: leave out those whose object exists.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    left_out = []
    try:
        for place, (collection, bucket, oid, terms, _) in enumerate(pushes):
            if not writer_of(view, collection, bucket).push(oid, terms, new=new):
                left_out.append(place)
    except (DamagedBytes, OverflowError) as error:
        raise _store_error(error) from error
    return left_out


def apply_mutation(view: WriteView, mutation: Mutation) -> int:
    """Change the store; return the number for the client: words that went, or 0/1 for existence; 0 for PushTerms.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    try:
        if isinstance(mutation, PushTerms):
            collection, bucket, oid, terms, _ = mutation
            writer_of(view, collection, bucket).push(oid, terms)
            return 0
        return _remove(view, mutation)
    except (DamagedBytes, OverflowError) as error:
        raise _store_error(error) from error


def _remove(view: WriteView, mutation: PopTerms | FlushObject | FlushBucket | FlushCollection) -> int:
    match mutation:
        case PopTerms(collection, bucket, oid, terms):
            if view.bucket(collection, bucket) is None:
                return 0
            return writer_of(view, collection, bucket).pop(oid, terms.words)
        case FlushObject(collection, bucket, oid):
            if view.bucket(collection, bucket) is None:
                return 0
            return writer_of(view, collection, bucket).flush_object(oid)
        case FlushBucket(collection, bucket):
            # As in Sonic, which asks only whether the collection exists.
            is_there_for_sonic = view.by_association and view.has_collection(collection)
            was_there = view.forget_bucket(collection, bucket)
            if was_there and not view.has_buckets(collection):
                view.note_emptied(collection)
            return int(was_there or is_there_for_sonic)
        case FlushCollection(collection):
            rows = view.transaction.rows(SCOPES, collection_prefix(collection))
            scopes = [scope_of(key) for key, _ in rows]
            for scope in scopes:
                view.forget_bucket(*scope)
            return int(view.forget_emptied(collection) or bool(scopes))


def _store_error(error: DamagedBytes | OverflowError) -> StoreError:
    """Return the StoreError for an error of native code: numbers are used up, or bytes are damaged."""
    if isinstance(error, OverflowError):
        return StoreError(str(error))
    return StoreDamaged(f"the store is damaged: {error}")
