"""One bucket inside the write transaction: PUSH, POP and FLUSHO change its words, postings and objects."""

from sonicpy._native.bucket import PushWriter
from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.store.changing.bucket_tables import BucketTables
from sonicpy.store.disk.transaction import COMMON, POSTINGS, REMOVED, WORDS
from sonicpy.store.disk.why import Why
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import object_key
from sonicpy.store.rows.names import drop_stored_name, name_hash
from sonicpy.store.rows.numbered_terms import drop_terms, terms_numbered
from sonicpy.store.rows.removals import removed_key
from sonicpy.store.rows.word_rows import stored_words
from sonicpy.store.views.bucket_reader import find_object
from sonicpy.store.views.write_view import WriteView


class BucketWriter:
    """Changes one bucket, in the view's transaction and in its `WriteCache`.

    It is valid as long as the transaction, unless the bucket is flushed or renamed: see `writer_of`. PUSH is native and
    works on cached rows of words; POP and FLUSHO write these rows first and work on the tables.
    """

    def __init__(self, view: WriteView, state: BucketState) -> None:
        self._view = view
        self._state = state
        self._transaction = view.transaction
        self._tables = BucketTables(view, state)
        self.push = PushWriter(
            state,
            view.terms,
            view.names(state),
            view.newest(state),
            view.lengths_to_change(state.bucket),
            self._tables,
            view.by_association,
        ).push
        """Add the terms of a text to an object; see `PushWriter.push`."""

    def pop(self, oid: str, words: list[bytes]) -> int:
        """Remove words from an object; delete it if none is left; return the number of removed words, except hidden
        ones."""
        self._view.flush_term_rows()
        found = find_object(self._view, self._state, oid)
        if found is None or (self._view.by_association and not len(found[1])):
            return 0  # Sonic's POP leaves an object alone that never held a word
        return self._remove(*found, words)

    def flush_object(self, oid: str) -> int:
        """Delete an object; return its number of words, hidden ones not counted."""
        self._view.flush_term_rows()
        found = find_object(self._view, self._state, oid)
        if found is None:
            return 0
        iid, record = found
        return self._remove(iid, record, self._words(record))

    def begin_removal(self, oid: str, terms: int) -> int:
        """Empty an object of more than `terms` terms, and leave its terms to `remove_part`; delete a smaller object.

        Returns:
            Its number of words, hidden ones not counted.
        """
        found = find_object(self._view, self._state, oid)
        if found is None:
            return 0
        iid, record = found
        if len(record) <= terms:
            return self.flush_object(oid)
        bucket = self._state.bucket
        parts = record.parts(terms)
        self._transaction.put_many(
            REMOVED, [(removed_key(bucket, iid, place), part) for place, part in enumerate(parts)]
        )
        self._tables.put_record(iid, ObjectRecord.empty(record.oid, self._view.by_association).pack())
        self._state.total_length -= record.length
        self._view.removals.objects[bucket, oid] = iid
        return record.shown

    def remove_part(self, iid: int) -> None:
        """Remove the next part of an object that `begin_removal` has emptied; with the last part, delete the object."""
        prefix = object_key(self._state.bucket, iid)
        rows = self._transaction.some_rows(REMOVED, prefix, 2)
        key, part = rows[0]
        record = ObjectRecord.unpack(part, self._view.by_association)
        self._view.flush_term_rows()
        self._tables.note_rewritten([term_id for term_id, *_ in record.terms()])
        change = RemoveTerms(self._state.bucket, iid, self._words(record), record, self._view.by_association)
        self._change_words(change)
        if change.turned:
            self._note_vanished(change, Why.ORPHANED)
        self._state.live_words += change.live_change
        self._transaction.delete(REMOVED, key)
        if len(rows) < 2 or not rows[1][0].startswith(prefix):
            self._drop_object(iid, record)
            del self._view.removals.objects[self._state.bucket, record.oid.decode()]

    def _words(self, record: ObjectRecord) -> list[bytes]:
        term_ids = [term_id for term_id, *_ in record.terms()]
        return list(terms_numbered(self._transaction, self._state.bucket, term_ids).values())

    def _remove(self, iid: int, record: ObjectRecord, words: list[bytes]) -> int:
        state = self._state
        self._tables.note_rewritten([term_id for term_id, *_ in record.terms()])  # the other words gain impacts
        change = RemoveTerms(state.bucket, iid, words, record, self._view.by_association)
        self._change_words(change)
        if change.turned:
            self._note_vanished(change, Why.ORPHANED if len(record) == change.removed else Why.POPPED)
        state.live_words += change.live_change
        state.total_length += change.length_change
        if len(record) == change.removed:  # also an object that never held a word
            self._drop_object(iid, record)
        elif change.removed:
            left = change.record()
            assert left is not None
            self._tables.put_record(iid, left)
            length = record.length + change.length_change
            self._view.lengths_to_change(state.bucket)[iid] = pack_length(length)
            if not self._view.by_association:
                self._tables.widen_impacts(iid, change.left(), length)
        return change.removed_shown

    def _note_vanished(self, change: RemoveTerms, why: Why) -> None:
        """Note vanished words for the next consolidation; as in Sonic, words that vanished with their object are
        kept."""
        if why is not Why.ORPHANED or not self._view.by_association:
            self._view.note_pending(self._state, change.changed_words(), why)

    def _change_words(self, change: RemoveTerms) -> None:
        """Write the changed rows and postings of words."""
        transaction = self._transaction
        self._view.terms.forget(change.word_keys)
        try:
            needed = change.take_rows(stored_words(transaction, change.word_keys))
            change.take_blocks(self._tables.read_blocks(needed))
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {self._state.bucket}: {error}") from error
        self._tables.write_blocks(change.blocks)
        if not self._view.by_association:
            self._tables.drop_impacts(change.deleted_blocks)
        transaction.delete_many(POSTINGS, change.deleted_blocks)
        transaction.put_many(WORDS, change.words())
        transaction.put_many(COMMON, change.common)
        transaction.delete_many(WORDS, change.deleted_words)
        transaction.delete_many(COMMON, change.deleted_common)
        drop_terms(transaction, self._state.bucket, change.deleted_terms)

    def _drop_object(self, iid: int, record: ObjectRecord) -> None:
        hash = name_hash(record.oid)
        self._tables.drop_record(iid)
        self._view.names(self._state).drop(hash, iid)
        drop_stored_name(self._transaction, self._state, hash, iid)
        self._view.lengths_to_change(self._state.bucket)[iid] = 0
        self._state.objects -= 1


def writer_of(view: WriteView, collection: str, bucket: str) -> BucketWriter:
    """Return the writer of a bucket to be changed; create the bucket if it is missing."""
    writer: BucketWriter | None = view.writer_cache.get((collection, bucket))
    if writer is None:
        writer = view.writer_cache[collection, bucket] = BucketWriter(view, view.bucket_to_change(collection, bucket))
    return writer
