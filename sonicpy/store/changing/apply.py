"""Carry out a mutation inside a write transaction: the same code live and in replay."""

from collections.abc import Sequence

from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.changing.bucket_writer import writer_of
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.changing.remove_steps import flush_collection, flush_object, settle, step
from sonicpy.store.views.write_view import WriteView


def apply_pushes(view: WriteView, pushes: Sequence[PushTerms], *, new: bool) -> list[int]:
    """Carry out PUSHes one after the other; return the places of those left out.

    Args:
        new: leave out those whose object exists.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    left_out = []
    try:
        for place, push in enumerate(pushes):
            collection, bucket, oid, terms, _, rules = push
            if view.removals:
                settle(view, push)
            if not writer_of(view, collection, bucket, rules).push(oid, terms, new=new):
                left_out.append(place)
    except (DamagedBytes, OverflowError) as error:
        raise _store_error(error) from error
    return left_out


def apply_mutation(view: WriteView, mutation: Mutation, *, in_steps: bool = False) -> int:
    """Change the store; return the number for the client: words that went, or 0/1 for existence; 0 for PushTerms.

    Args:
        in_steps: let `remove_steps.step` do most of a removal that takes long.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    try:
        if view.removals:
            settle(view, mutation)
        if isinstance(mutation, PushTerms):
            collection, bucket, oid, terms, _, rules = mutation
            writer_of(view, collection, bucket, rules).push(oid, terms)
            return 0
        return _remove(view, mutation, in_steps)
    except (DamagedBytes, OverflowError) as error:
        raise _store_error(error) from error


def apply_mutations(view: WriteView, mutations: Sequence[Mutation]) -> list[int]:
    """Change the store by several mutations, in order; return the number that each answers.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    answers = []
    try:
        for mutation in mutations:
            if view.removals:
                settle(view, mutation)
            if isinstance(mutation, PushTerms):
                collection, bucket, oid, terms, _, rules = mutation
                writer_of(view, collection, bucket, rules).push(oid, terms)
                answers.append(0)
            else:
                answers.append(_remove(view, mutation, in_steps=False))
    except (DamagedBytes, OverflowError) as error:
        raise _store_error(error) from error
    return answers


def take_step(view: WriteView) -> bool:
    """Carry out a step of what is removed in steps; return whether anything is left.

    Raises:
        StoreError: the transaction failed; nothing in it can be used any more.
    """
    try:
        return step(view)
    except DamagedBytes as error:
        raise _store_error(error) from error


def _remove(view: WriteView, mutation: PopTerms | FlushObject | FlushBucket | FlushCollection, in_steps: bool) -> int:
    match mutation:
        case PopTerms(collection, bucket, oid, terms):
            if view.bucket(collection, bucket) is None:
                return 0
            return writer_of(view, collection, bucket).pop(oid, terms.words)
        case FlushObject(collection, bucket, oid):
            return flush_object(view, collection, bucket, oid, in_steps=in_steps)
        case FlushBucket(collection, bucket):
            # As in Sonic, which asks only whether the collection exists.
            is_there_for_sonic = view.by_association and view.has_collection(collection)
            was_there = view.forget_bucket(collection, bucket)
            if was_there and not view.has_buckets(collection):
                view.note_emptied(collection)
            return int(was_there or is_there_for_sonic)
        case FlushCollection(collection):
            return flush_collection(view, collection, in_steps=in_steps)


def _store_error(error: DamagedBytes | OverflowError) -> StoreError:
    """Return the StoreError for an error of native code: numbers are used up, or bytes are damaged."""
    if isinstance(error, OverflowError):
        return StoreError(str(error))
    return StoreDamaged(f"the store is damaged: {error}")
