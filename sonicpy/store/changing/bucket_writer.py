"""One bucket inside the write transaction: PUSH, UPSERT, POP and FLUSHO change its words, postings and objects."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sonicpy._native.cut_terms import CutTerms, cut_terms
from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.parts import JOINT_MARK
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.vectors import VectorSlot, VectorSlots
from sonicpy.errors import StoreDamaged
from sonicpy.rules import FIRST, NEWEST, counts_letters
from sonicpy.store.changing.bucket_tables import BucketTables
from sonicpy.store.changing.tag_writer import TagWriter
from sonicpy.store.changing.text_writer import TextWriter
from sonicpy.store.changing.value_writer import ValueWriter
from sonicpy.store.changing.vector_slots import slots_of
from sonicpy.store.disk.table_numbers import POSTINGS, REMOVED, StoredRow
from sonicpy.store.disk.why import Why
from sonicpy.store.fields.all_fields import FACTS, TAGS, VALUES, beside_terms
from sonicpy.store.fields.field import Field
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import TAGS_MARK, object_key
from sonicpy.store.rows.names import drop_stored_name, name_hash, write_names
from sonicpy.store.rows.numbered_terms import drop_terms
from sonicpy.store.rows.order_rows import ORDERED
from sonicpy.store.rows.removals import removed_key
from sonicpy.store.rows.tag_counts import OF_TEXTS
from sonicpy.store.rows.word_rows import stored_words

if TYPE_CHECKING:
    from sonicpy.store.changing.order_writer import OrderWriter
    from sonicpy.store.views.write_view import WriteView


TERMS_MAX = 1 << 40
"""A number of terms that no object can reach."""


class BucketWriter:
    """Changes one bucket, in the view's transaction and in its `WriteCache`.

    A writer is valid until the transaction ends, or the bucket is flushed or renamed: see `writer_of`. PUSH, POP and
    FLUSHO work on cached rows of words. In lists in the order of association, and for parts of large objects, POP and
    FLUSHO write these rows first and work on the tables.
    """

    begun: tuple[str, int] | None = None
    """The name and the IID of the object that the change under way has created; None: it created none, or has added
    named texts to it."""
    _noted = -1  # how many uses `_beside` is for
    _beside: Sequence[Field] = ()
    _orders: "OrderWriter | None" = None

    def __init__(self, view: "WriteView", state: BucketState, rules: int) -> None:
        self.view = view
        self.state = state
        self._transaction = view.transaction
        self._tables = BucketTables(view, state)
        self.rules = rules
        """The version of the rules by which the texts of the bucket are cut."""
        self._letters = counts_letters(self.rules)
        writer = self._tables.push_writer(letters=self._letters)
        self._pushes = writer
        self.push = writer.push
        """Add the terms of a text to an object; see `PushWriter.push`."""
        self.replace = self._replace_by_association if view.by_association else writer.replace
        """Give an object the terms of a text, and take away all others; see `PushWriter.replace`."""
        if view.is_used(uses.ORDER) and view.fact(state.bucket, ORDERED) is not None:
            self.keep_orders()

    @cached_property
    def vectors(self) -> VectorSlots:
        """The slots for the vectors of objects."""
        return slots_of(self.view, self.state.bucket)

    @cached_property
    def tags(self) -> TagWriter:
        """The writer of the tags of objects."""
        tables = BucketTables(self.view, BucketState(self.state.bucket | TAGS_MARK))
        return TagWriter(self.view, self.state, tables)

    @cached_property
    def values(self) -> ValueWriter:
        """The writer of the values of objects."""
        return ValueWriter(self.view, self.state)

    @cached_property
    def texts(self) -> TextWriter:
        """The writer of the named texts of objects."""
        tables = BucketTables(self.view, BucketState(self.state.bucket | OF_TEXTS.mark))
        return TextWriter(self.view, self.state, TagWriter(self.view, self.state, tables, OF_TEXTS))

    def count_languages(self, languages: bytes) -> None:
        """Count the languages of a pushed text, see `Terms.languages`; a bucket of old rules counts none."""
        if self.rules >= NEWEST:
            waiting = self.view.languages_waiting(self.state.bucket)
            if not waiting:
                self.view.note_languages_wait(self.state.bucket)
            waiting[languages] = waiting.get(languages, 0) + 1

    def keep_orders(self) -> "OrderWriter":
        """Keep the orders of objects from now on: each change of words also changes them. Return their writer."""
        if self._orders is None:
            from sonicpy.store.changing.order_writer import OrderWriter  # noqa: PLC0415  loaded when it is needed

            self.push = self._push_without_order
            self._orders = OrderWriter(self.view, self.state, self._pushes)
        return self._orders

    def push_with_order(self, oid: str, terms: Terms, given: bytes | None, *, new: bool = False) -> bool:
        """Add the terms of a text, and the order of its words, to an object; return False if `new` forbids that.

        Args:
            given: the order as a record of the log holds it; None: the text has none.
        """
        orders = self._orders or self.keep_orders()
        pushes = self._pushes
        if not pushes.push(oid, terms, new=new):
            return False
        begun = pushes.begun
        if begun < 0:
            iid = self.iid_of(oid)
            assert iid is not None
            orders.add(iid, given)
        elif given is not None:
            orders.begin(begun, given)
        return True

    def _push_without_order(self, oid: str, terms: Terms, *, new: bool = False) -> bool:
        return self.push_with_order(oid, terms, None, new=new)

    def upsert(self, oid: str, terms: Terms, digest: bytes) -> bool:
        """Replace the terms of an object by those of a text without named parts, and note its digest; return True."""
        iid = self.replace(oid, terms)
        if self._orders is not None:
            self._orders.replace(iid, None)
        if self.view.is_used(uses.TEXTS):
            self.texts.drop(iid)
        self.view.digests.set(self.state.bucket, iid, digest)
        return True

    def replace_order(self, iid: int, given: bytes | None) -> None:
        """Replace the order of an object by that of its new text; None: the text has none."""
        if given is not None or self._orders is not None:
            self.keep_orders().replace(iid, given)

    def drop_order(self, iid: int) -> None:
        """Remove the order of an object."""
        if self._orders is not None:
            self._orders.drop(iid)

    def push_with_vector(self, oid: str, terms: Terms, slot: VectorSlot, packed: bytes, *, new: bool = False) -> bool:
        """Add the terms of a text and one vector, in the slot that `vectors` has for it, to an object; return as `push`
        does.
        """
        if not self.push(oid, terms, new=new):
            return False
        iid: int | None = self._pushes.begun
        if iid == -1:
            iid = self.iid_of(oid)
        assert iid is not None
        slot.put(iid, packed)
        return True

    def forget_columns(self) -> None:
        """Read the columns of vectors again before the next use, because they have changed."""
        self.vectors.clear()

    def iid_of(self, oid: str) -> int | None:
        """Return the IID of an object; None: there is no such object. The newest object is found at once."""
        if self.begun is not None and self.begun[0] == oid:
            return self.begun[1]
        newest = self.state.next_iid - 1
        if newest >= 0 and self._tables.oid(newest) == oid.encode():
            return newest
        return self._pushes.iid_of(oid)

    def is_new(self, oid: str) -> bool:
        """Return whether the change under way has created an object, to which it has not added named texts yet."""
        return self.begun is not None and self.begun[0] == oid

    def takes_first_texts(self) -> bool:
        """Return whether the change under way has created its object; True only once, for the first named texts."""
        begun, self.begun = self.begun, None
        return begun is not None

    def pop(self, oid: str, words: list[bytes]) -> int:
        """Remove words from an object, and delete it if nothing is left; return the number of removed words, hidden
        ones not counted. An object that holds no words stays, as in Sonic, except in a bucket with the rules 1: there,
        nodes of version 1.0 delete it.
        """
        found = self._pushes.found(oid)
        if found is None or ((self.view.by_association or self._letters) and not len(found[1])):
            return 0
        iid, record = found
        words = self._with_joints(record, words) if self._letters else words
        if self.view.is_used(uses.TEXTS):
            self.texts.take(iid, words)
        return self._remove(iid, record, words, keeps_object=TAGS.holds(self, iid) or VALUES.holds(self, iid))

    def flush_object(self, oid: str) -> int:
        """Delete an object; return its number of words, hidden ones not counted."""
        if not self.view.by_association:
            return self._pushes.flush(oid, TERMS_MAX, self._write_gone)
        found = self._pushes.found(oid)
        if found is None:
            return 0
        iid, record = found
        return self._remove(iid, record, self._words(record))

    def begin_removal(self, oid: str, terms: int) -> int:
        """Begin the removal of an object of more than `terms` terms, which `remove_part` completes; delete a smaller
        object.

        Returns:
            The number of words of the object, hidden ones not counted.
        """
        if not self.view.by_association and (words := self.flush_small(oid, terms)) is not None:
            return words
        found = self._pushes.found(oid)
        if found is None:
            return 0
        iid, record = found
        if len(record) <= terms:
            return self._remove(iid, record, self._words(record))
        bucket = self.state.bucket
        self.view.digests.end(bucket, iid)
        self.drop_order(iid)
        parts = record.parts(terms)
        self._transaction.put_many(
            REMOVED, [(removed_key(bucket, iid, place), part) for place, part in enumerate(parts)]
        )
        self._tables.put_record(iid, ObjectRecord.empty(record.oid, self.view.by_association).pack())
        self.state.total_length -= record.length
        self.view.removals.objects[bucket, oid] = iid
        return record.shown

    def flush_small(self, oid: str, terms: int) -> int | None:
        """Delete an object of at most `terms` terms, if lists are in the order of IIDs; return its number of words,
        hidden ones not counted; None: the object has more terms, and nothing was done."""
        words = self._pushes.flush(oid, terms, self._write_gone)
        return None if words < 0 else words

    def has_digest(self, oid: str, digest: bytes) -> bool:
        """Return whether the text of an object has this digest. Digests cover names, so no record has to be read."""
        return self.view.digests.holds(self.state.bucket, self._pushes.named(oid), digest)

    def remove_part(self, iid: int) -> None:
        """Remove the next part of an object whose removal has begun; with the last part, delete the object."""
        prefix = object_key(self.state.bucket, iid)
        rows = self._transaction.some_rows(REMOVED, prefix, 2)
        key, part = rows[0]
        record = ObjectRecord.unpack(part, self.view.by_association)
        self.view.flush_term_rows()
        self._note_rewritten(record)
        change = RemoveTerms(
            self.state.bucket, iid, self._words(record), record, self.view.by_association, self._letters
        )
        self._change_words(change)
        if change.turned:
            self._note_vanished(change, Why.ORPHANED)
        self.state.live_words += change.live_change
        self._transaction.delete(REMOVED, key)
        if len(rows) < 2 or not rows[1][0].startswith(prefix):
            self._drop_object(iid, record)
            del self.view.removals.objects[self.state.bucket, record.oid.decode()]

    def _replace_by_association(self, oid: str, terms: Terms) -> int:
        """Replace the terms of an object where lists are in the order of association; return its IID."""
        self.view.flush_term_rows()
        found = self._pushes.found(oid)
        if found is not None:
            iid, record = found
            wanted = {
                word: (max(count, 1), bool(flags & (STOP | PART)))
                for word, count, flags in zip(terms.words, terms.counts, terms.flags, strict=True)
            }
            term_ids = [term_id for term_id, *_ in record.terms()]
            words = self.view.terms_numbered(self.state.bucket, term_ids)
            # PUSH adds, raises a frequency and shows a hidden word; what it cannot do goes first.
            gone = [
                words[term_id]
                for term_id, tf, hidden, _ in record.terms()
                if (new := wanted.get(words[term_id])) is None or new[0] < tf or (new[1] and not hidden)
            ]
            if gone:
                self._remove(iid, record, gone, keeps_object=True)
        self.push(oid, terms)
        return self.state.next_iid - 1 if found is None else found[0]

    def _note_rewritten(self, record: ObjectRecord) -> None:
        """Note that the lists of all words of an object change: some lose the object, the others gain impacts."""
        self.view.note_rewritten(self.state.bucket, record.term_ids())

    def _with_joints(self, record: ObjectRecord, words: list[bytes]) -> list[bytes]:
        """Return words, and the hidden terms of an object that mark where one of these words is joined from parts."""
        gone = set(words)
        if record.shown == len(record):
            return words
        hidden_ids = [term_id for term_id, _, is_hidden, _ in record.terms() if is_hidden]
        hidden = (word for word in self._terms(hidden_ids) if word.startswith(JOINT_MARK))
        joints = (word for word in hidden if word.replace(JOINT_MARK, b"") in gone)
        return words + [word for word in joints if word not in gone]

    def _words(self, record: ObjectRecord) -> list[bytes]:
        return self._terms(record.term_ids())

    def _terms(self, term_ids: list[int]) -> list[bytes]:
        return list(self.view.terms_numbered(self.state.bucket, term_ids).values())

    def _remove(self, iid: int, record: ObjectRecord, words: list[bytes], *, keeps_object: bool = False) -> int:
        """Take words from an object; return the number of words taken, hidden ones not counted.

        Args:
            keeps_object: the object stays, even if no word is left.
        """
        state = self.state
        self._note_rewritten(record)
        self.view.digests.end(state.bucket, iid)
        change: RemoveTerms | CutTerms
        if self.view.by_association:
            self.view.flush_term_rows()
            change = RemoveTerms(state.bucket, iid, words, record, True, self._letters)
            self._change_words(change)
        else:
            change = cut_terms(state.bucket, iid, words, record, self.view.terms, self._letters, True)
            self._cut(change)
        if change.turned:
            self._note_vanished(change, Why.ORPHANED if len(record) == change.removed else Why.POPPED)
        state.live_words += change.live_change
        state.total_length += change.length_change
        if len(record) == change.removed and not keeps_object:  # also an object that never held a word
            self._drop_object(iid, record)
        elif change.removed:
            before = [] if self._orders is None else record.term_ids()
            left = change.record() or ObjectRecord.empty(record.oid, self.view.by_association).pack()
            self._tables.put_record(iid, left)
            if self._orders is not None:
                self._orders.take(iid, before)
            length = record.length + change.length_change
            self.view.lengths_to_change(state)[iid] = pack_length(length)
            if not self.view.by_association:
                self._tables.widen_impacts(iid, change.left(), length)
        return change.removed_shown

    def _cut(self, change: CutTerms) -> None:
        """Change the cached rows of words, and write the changed postings. Raises StoreDamaged if a row or a block
        cannot be read."""
        transaction, tables = self._transaction, self._tables
        try:
            keys = change.word_keys
            needed = change.take_rows(stored_words(transaction, keys) if keys else [])
            change.take_blocks(tables.read_blocks(needed) if needed else [])
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {self.state.bucket}: {error}") from error
        change.finish()
        tables.write_blocks(change.blocks)
        if change.deleted_blocks:
            tables.drop_impacts(change.deleted_blocks)
            transaction.delete_many(POSTINGS, change.deleted_blocks)

    def _note_vanished(self, change: RemoveTerms | CutTerms, why: Why) -> None:
        """Note vanished words for the next consolidation; as in Sonic, words whose object was deleted stay in the
        graph."""
        if why is not Why.ORPHANED or not self.view.by_association:
            self.view.word_notes(self.state.bucket).add(self.state, change.changed_words(), why)

    def _change_words(self, change: RemoveTerms) -> None:
        """Write the changed rows and postings of words, and delete the terms that no object holds any more."""
        self._tables.change_words(change)
        drop_terms(self._transaction, self.state.bucket, change.deleted_terms)

    def _write_gone(
        self,
        iid: int,
        record: ObjectRecord,
        is_dropped: bool,
        rewritten: list[int],
        names: StoredRow | None,
        blocks: list[StoredRow] | None,
        deleted_blocks: list[bytes] | None,
    ) -> None:
        """Write the rows that native code has made for a deleted object; see `PushWriter.flush`."""
        view, state = self.view, self.state
        for field in self._fields_beside():
            field.remove(self, iid, record)
        view.note_rewritten(state.bucket, rewritten)
        self._tables.write_cut(iid, blocks, deleted_blocks, None)
        if not is_dropped:
            self._tables.drop_record(iid)
        if names is not None:
            write_names(self._transaction, *names)

    def _fields_beside(self) -> Sequence[Field]:
        """Return the fields other than terms that the store uses."""
        noted = self.view.uses_noted
        if noted != self._noted:
            is_used = self.view.is_used
            of_objects = [field for field in beside_terms() if field is not FACTS]
            self._beside = [field for field in of_objects if field.name is None or is_used(field.name)]
            self._noted = noted
        return self._beside

    def _drop_object(self, iid: int, record: ObjectRecord) -> None:
        for field in self._fields_beside():
            field.remove(self, iid, record)
        hash = name_hash(record.oid)
        self._tables.drop_record(iid)
        self.view.names(self.state).drop(hash, iid)
        self._pushes.forget_named()
        drop_stored_name(self._transaction, self.state, hash, iid)
        self.view.lengths_to_change(self.state)[iid] = 0
        self.state.objects -= 1


def writer_of(view: "WriteView", collection: str, bucket: str, rules: int = FIRST) -> BucketWriter:
    """Return the writer of a bucket to be changed; create the bucket if it is missing.

    Args:
        rules: the rules of a new bucket.
    """
    writer: BucketWriter | None = view.writer_cache.get((collection, bucket))
    if writer is None:
        state = view.bucket_to_change(collection, bucket, rules)
        writer = view.writer_cache[collection, bucket] = BucketWriter(view, state, view.rules(state.bucket))
    return writer


def opened(view: "WriteView", collection: str, bucket: str, rules: int | None) -> BucketWriter | None:
    """Return the writer of a bucket; None: the change has to take the way of `apply`, because there is no such bucket,
    it has other rules, or its rows cannot be read.

    Args:
        rules: the rules that the bucket must have; None: any.
    """
    try:
        state = view.bucket(collection, bucket)
        if state is None or (has := view.rules(state.bucket)) != rules is not None:
            return None
        scope = (collection, bucket)
        view.note_state(scope, state)
        writer = view.writer_cache[scope] = BucketWriter(view, state, has)
        return writer
    except (StoreDamaged, DamagedBytes):  # `apply` meets the same rows, and its error names the fault
        return None
