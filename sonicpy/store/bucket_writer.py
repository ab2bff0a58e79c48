"""One bucket inside the write transaction: PUSH, POP and FLUSHO change its words, postings and objects."""

from sonicpy._native.bucket import PushWriter
from sonicpy._native.lengths import pack_length
from sonicpy._native.object_change import AddTerms, RemoveTerms
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy._native.postings import DamagedBytes, ObjectRecord
from sonicpy.errors import StoreDamaged
from sonicpy.store.bucket_reader import BucketReader
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import COMMON, OBJECTS, POSTINGS, TERMS, WORDS, Row
from sonicpy.store.keys import object_key, term_key
from sonicpy.store.names import drop_stored_name, name_hash, stored_names
from sonicpy.store.view import Why, WriteView
from sonicpy.store.word_rows import stored_words


class BucketWriter(PushWriter, BucketReader):
    """Changes one bucket; what it writes stands in the view's transaction, or is held back by the view.

    It lasts as long as the transaction, unless the bucket is flushed or renamed before: see `writer_of`. `push` is
    inherited; what it does with tables stands first.
    """

    def __init__(self, view: WriteView, state: BucketState) -> None:
        # Not settled: PUSH works on the rows that are still to be written.
        self.state = state
        self._view = self._writer = view
        self._transaction = view.transaction
        self._newest = view.newest(state)
        self._names = view.names(state)
        self._lengths = view.lengths_to_change(state.bucket)
        super().__init__(state, view.terms, self._names, self._newest, self._lengths)

    def _stored_names(self, hash: int) -> tuple[int, ...]:
        return stored_names(self._transaction, self.state, hash)

    def _read_words(self, keys: list[bytes]) -> list[Row]:
        return stored_words(self._transaction, keys)

    def _read_blocks(self, keys: list[bytes]) -> list[Row]:
        return self._transaction.get_many(POSTINGS, keys)

    def _write_blocks(self, rows: list[Row]) -> None:
        self._transaction.put_many(POSTINGS, rows)

    def _write_terms(self, rows: list[Row]) -> None:
        self._transaction.put_many(TERMS, rows)

    def _note_appeared(self, words: list[bytes]) -> None:
        self._writer.note_pending(self.state, words, Why.APPEARED)

    def _put_record(self, iid: int, record: bytes) -> None:
        """Put the record of an object into its row; begin the next row behind the newest one, if it belongs there."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        newest = self._newest
        if number > newest.number:
            newest.write(self._transaction, self.state.bucket)
            newest.begin(number)
        if number == newest.number:
            newest.put(place, record)
            return
        key = object_key(self.state.bucket, number)
        row = RecordRow(self._transaction.get(OBJECTS, key) or b"")
        self._transaction.put(OBJECTS, key, row.put(place, record))

    def _drop_first_block(self, edits: AddTerms | RemoveTerms, number: int) -> None:
        """Delete the used-up first block of an edit's word, and find the one that follows."""
        key = edits.first_block_key(number)
        self._transaction.delete(POSTINGS, key)
        following: Row | None = self._transaction.first(POSTINGS, key)
        if following is None or following[0][:9] != key[:9]:
            edits.advance_to_tail(number)
        else:
            edits.advance(number, int.from_bytes(following[0][9:], "big"), following[1][0])

    def pop(self, oid: str, words: list[bytes]) -> int:
        """Take words from an object; return how many shown ones went. The object goes with its last word."""
        self._writer.flush_term_rows()
        name = oid.encode()
        found = self._find(name, name_hash(name))
        return 0 if found is None else self._unlink(*found, words)

    def flush_object(self, oid: str) -> int:
        """Forget an object; return how many shown words it held."""
        self._writer.flush_term_rows()
        name = oid.encode()
        found = self._find(name, name_hash(name))
        if found is None:
            return 0
        iid, record = found
        keys = [term_key(self.state.bucket, term_id) for term_id, *_ in record.terms()]
        words = [term for _, term in self._transaction.get_many(TERMS, keys)]
        return self._unlink(iid, record, words)

    def _unlink(self, iid: int, record: ObjectRecord, words: list[bytes]) -> int:
        state, transaction = self.state, self._transaction
        unlink = RemoveTerms(state.bucket, iid, words, record)
        self._writer.terms.forget(unlink.word_keys)
        try:
            needed = unlink.take_rows(stored_words(transaction, unlink.word_keys))
            unlink.take_blocks(transaction.get_many(POSTINGS, needed))
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {state.bucket}: {error}") from error
        for number in unlink.used_up:
            self._drop_first_block(unlink, number)
        transaction.put_many(POSTINGS, unlink.blocks)
        self._delete_all(POSTINGS, unlink.deleted_blocks)
        transaction.put_many(WORDS, unlink.words())
        transaction.put_many(COMMON, unlink.common)
        self._delete_all(WORDS, unlink.deleted_words)
        self._delete_all(COMMON, unlink.deleted_common)
        self._delete_all(TERMS, unlink.deleted_terms)
        if unlink.turned:
            why = Why.ORPHANED if len(record) == unlink.removed else Why.POPPED
            self._writer.note_pending(state, unlink.changed_words(), why)
        state.live_words += unlink.live_change
        state.total_length += unlink.length_change
        if len(record) == unlink.removed:  # also an object that never held a word
            self._forget_object(iid, record)
        elif unlink.removed:
            left = unlink.record()
            assert left is not None
            self._put_record(iid, left)
            self._lengths[iid] = pack_length(record.length + unlink.length_change)
        return unlink.removed_shown

    def _forget_object(self, iid: int, record: ObjectRecord) -> None:
        hash = name_hash(record.oid)
        self._drop_record(iid)
        self._names.drop(hash, iid)
        drop_stored_name(self._transaction, self.state, hash, iid)
        self._lengths[iid] = 0
        self.state.objects -= 1

    def _drop_record(self, iid: int) -> None:
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        if number == self._newest.number:
            self._newest.drop(place)
            return
        key = object_key(self.state.bucket, number)
        left = RecordRow(self._transaction.get(OBJECTS, key) or b"").drop(place)
        if left:
            self._transaction.put(OBJECTS, key, left)
        else:
            self._transaction.delete(OBJECTS, key)

    def _delete_all(self, table: int, keys: list[bytes]) -> None:
        for key in keys:
            self._transaction.delete(table, key)


def writer_of(view: WriteView, collection: str, bucket: str) -> BucketWriter:
    """Return the writer of a bucket that is about to change; the bucket is created where it is missing."""
    writer: BucketWriter | None = view.writers.get((collection, bucket))
    if writer is None:
        writer = view.writers[collection, bucket] = BucketWriter(view, view.bucket_to_change(collection, bucket))
    return writer
