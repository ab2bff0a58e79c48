"""Carries out mutations inside a write transaction. The same code runs live, in replay and at a replica."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.rules import FIRST
from sonicpy.store.changing.bucket_writer import BucketWriter, writer_of
from sonicpy.store.changing.mutations import (
    ChangeFields,
    ChangeSynonyms,
    FlushBucket,
    FlushCollection,
    FlushObject,
    Mutation,
    PopTerms,
    PushTerms,
    PushWith,
    UpsertTerms,
    names_of,
)
from sonicpy.store.changing.remove_steps import drop_vectors, flush_collection, flush_object, settle, step
from sonicpy.store.changing.synonym_writer import set_synonyms
from sonicpy.store.fields.all_fields import DIGESTS, FIELDS, ORDER, TAGS, TEXTS, VALUES, VECTORS
from sonicpy.store.fields.facts import rules_of_facts
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows import uses
from sonicpy.store.rows.digests import NO_DIGEST
from sonicpy.store.rows.undecoded import UNDECODED
from sonicpy.store.views.bucket_reader import find_object

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


def apply_all(
    view: "WriteView", mutations: Iterable[Mutation], *, in_steps: bool = False, new: bool = False
) -> list[int]:
    """Carry out mutations one after the other; return the result of each: the number of removed words, 0 or 1 for
    existence, or, of a PUSH, 1 if it was left out.

    Args:
        in_steps: only begin a removal that takes long, and leave the rest to `remove_steps.step`.
        new: leave out each PUSH whose object exists.

    Raises:
        StoreError: the transaction failed, and cannot be used any more.
    """
    answers = []
    try:
        for mutation in mutations:
            if type(mutation) is PushTerms:
                answers.append(_push(view, mutation, new))
                continue
            if type(mutation) is PushWith:
                answers.append(_push_with(view, mutation, new))
                continue
            if view.removals:
                settle(view, *names_of(mutation))
            answers.append(APPLY[type(mutation)](view, mutation, in_steps))
    except (*UNDECODED, OverflowError) as error:
        raise _store_error(error) from error
    return answers


def take_step(view: "WriteView") -> bool:
    """Carry out a step of the removals under way; return whether anything is left.

    Raises:
        StoreError: the transaction failed, and cannot be used any more.
    """
    try:
        return step(view)
    except UNDECODED as error:
        raise _store_error(error) from error


def _push(view: "WriteView", mutation: PushTerms, new: bool) -> int:
    collection, bucket, oid, terms, _, rules = mutation
    removals = view.removals
    if removals.objects or removals.collections:
        settle(view, collection, bucket, oid)
    writer = view.writer_cache.get((collection, bucket)) or writer_of(view, collection, bucket, rules)
    if not writer.push(oid, terms, new=new):
        return 1
    if terms.languages:
        writer.count_languages(terms.languages)
    return 0


def _push_with(view: "WriteView", mutation: PushWith, new: bool) -> int:
    """Carry out a PUSH with other fields of its object; return 1 if it was left out, with its fields, else 0."""
    collection, bucket, oid, terms, fields, rules = mutation
    if view.removals:
        settle(view, collection, bucket, oid)
    writer = view.writer_cache.get((collection, bucket)) or writer_of(view, collection, bucket, rules)
    if fields and fields[0][0] == ORDER.id:
        return _push_with_order(writer, mutation, new)
    next_iid = writer.state.next_iid
    slot = writer.vectors.of(fields[0][1]) if is_vector(fields) else None
    is_done = None if slot is None else writer.push_with_vector(oid, terms, slot, fields[0][1], new=new)
    if is_done is None and not writer.push(oid, terms, new=new) or is_done is False:
        return 1
    if terms.languages:
        writer.count_languages(terms.languages)
    if not is_done:
        _add_fields(writer, oid, fields, next_iid)
    return 0


def _add_fields(writer: BucketWriter, oid: str, fields: Iterable[tuple[int, bytes]], next_iid: int) -> None:
    """Add the other fields of an object whose terms were pushed; `next_iid` is its IID, if the object is new."""
    writer.begun = (oid, next_iid) if writer.state.next_iid != next_iid else None
    for id, value in fields:
        FIELDS[id].apply(writer, oid, FieldMode.ADD, value)
    writer.begun = None


def _push_with_order(writer: BucketWriter, mutation: PushWith, new: bool) -> int:
    """Carry out a PUSH whose first other field is the order of the words; return 1 if it was left out, else 0."""
    _, _, oid, terms, ((_, order), *others), _ = mutation
    next_iid = writer.state.next_iid
    if not writer.push_with_order(oid, terms, order, new=new):
        return 1
    if terms.languages:
        writer.count_languages(terms.languages)
    _add_fields(writer, oid, others, next_iid)
    return 0


def is_vector(fields: tuple[tuple[int, bytes], ...]) -> bool:
    """Return whether the only field is a vector that is not empty."""
    return len(fields) == 1 and fields[0][0] == VECTORS.id and bool(fields[0][1])


def _pop(view: "WriteView", mutation: PopTerms, in_steps: bool) -> int:
    collection, bucket, oid, terms = mutation
    if view.bucket(collection, bucket) is None:
        return 0
    return writer_of(view, collection, bucket).pop(oid, terms.words)


def _flush_object(view: "WriteView", mutation: FlushObject, in_steps: bool) -> int:
    return flush_object(view, *mutation, in_steps=in_steps)


def _flush_bucket(view: "WriteView", mutation: FlushBucket, in_steps: bool) -> int:
    collection, bucket = mutation
    # As in Sonic, which asks only whether the collection exists.
    is_there_for_sonic = view.by_association and view.has_collection(collection)
    was_there = view.forget_bucket(collection, bucket)
    if was_there and not view.has_buckets(collection):
        view.note_emptied(collection)
    return int(was_there or is_there_for_sonic)


def _flush_collection(view: "WriteView", mutation: FlushCollection, in_steps: bool) -> int:
    return flush_collection(view, mutation.collection, in_steps=in_steps)


def _change_fields(view: "WriteView", mutation: ChangeFields, in_steps: bool) -> int:
    """Change fields of a bucket or an object. Return, for an object, 1 if only tags or values changed, else 0, also if
    these had no object to change; for a bucket, the number of columns of vectors dropped."""
    changes_only = all(id in OF_EXISTING for id, _ in mutation.fields)
    if mutation.oid and changes_only:
        state = view.bucket(mutation.collection, mutation.bucket)
        if state is None or find_object(view, state, mutation.oid) is None:
            return 0
    drops_only = not mutation.oid and all(id == VECTORS.id for id, _ in mutation.fields)
    if drops_only and view.bucket(mutation.collection, mutation.bucket) is None:
        return 0
    rules = FIRST if mutation.oid else rules_of_facts(mutation.fields)
    writer, mode = writer_of(view, mutation.collection, mutation.bucket, rules), FieldMode(mutation.mode)
    before = len(view.removals.vectors)
    for id, value in mutation.fields:
        FIELDS[id].apply(writer, mutation.oid, mode, value)
    dropped = len(view.removals.vectors) - before
    if dropped and not in_steps:
        drop_vectors(view)
    return int(changes_only) if mutation.oid else dropped


def _upsert(view: "WriteView", mutation: UpsertTerms, in_steps: bool) -> int:
    collection, bucket, oid, terms, rules, fields = mutation
    writer = view.writer_cache.get((collection, bucket)) or writer_of(view, collection, bucket, rules)
    if len(fields) == 1 and fields[0][0] == DIGESTS.id and fields[0][1] != NO_DIGEST:  # as most are
        writer.upsert(oid, terms, fields[0][1])
        if terms.languages:
            writer.count_languages(terms.languages)
        return 0
    order = fields[0][1] if fields and fields[0][0] == ORDER.id else None
    if order is not None:
        writer.keep_orders()  # from before the change, which notes the ids of the terms
    iid = writer.replace(oid, terms)
    if terms.languages:
        writer.count_languages(terms.languages)
    digest = NO_DIGEST
    writer.replace_order(iid, order)
    for id, value in fields:
        if id == ORDER.id:
            continue
        if id == DIGESTS.id:
            digest = value
        else:
            FIELDS[id].apply(writer, oid, FieldMode.ADD if id in BESIDE_TEXTS else FieldMode.REPLACE, value)
    if view.is_used(uses.TEXTS) and all(id != TEXTS.id for id, _ in fields):
        writer.texts.drop(iid)
    if digest == NO_DIGEST:
        view.digests.end(writer.state.bucket, iid)
    else:
        view.digests.set(writer.state.bucket, iid, digest)
    return 0


OF_EXISTING = frozenset((TAGS.id, VALUES.id))
"""The fields that only an existing object can have: they do not create one."""
BESIDE_TEXTS = OF_EXISTING | {VECTORS.id}
"""The fields that an object keeps through an UPSERT that does not give them."""
APPLY: "dict[type[Mutation], Callable[[WriteView, Any, bool], int]]" = {
    PopTerms: _pop,
    FlushObject: _flush_object,
    FlushBucket: _flush_bucket,
    FlushCollection: _flush_collection,
    ChangeFields: _change_fields,
    UpsertTerms: _upsert,
    ChangeSynonyms: set_synonyms,
}
"""Mutation -> the function that carries it out. PUSH, the most frequent one, has its own branch."""


def _store_error(error: ValueError | OverflowError) -> StoreError:
    """Return the StoreError for an error of native code: numbers are used up, or bytes are damaged."""
    if isinstance(error, OverflowError):
        return StoreError(str(error))
    return StoreDamaged(f"the store is damaged: {error}")
