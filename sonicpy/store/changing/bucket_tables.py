"""The rows of one bucket inside the write transaction, read and written by PUSH, POP and FLUSHO."""

from typing import TYPE_CHECKING

from sonicpy._native.bucket import PushWriter
from sonicpy._native.growing_record import GrowingRecord
from sonicpy._native.impact_rows import ImpactRow, rows_with_blocks, widened_rows
from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, oid_at
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.waiting_rows import NewestRow, RecentRow
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import COMMON, IMPACTS, OBJECTS, POSTINGS, WORDS, StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import TERM_KEY_BYTES, block_key, block_position
from sonicpy.store.rows.word_rows import stored_words
from sonicpy.store.views.bucket_reader import find_among, unpacked
from sonicpy.store.views.write_cache import BucketWriteCache

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


class BucketTables:
    """Reads and writes the rows of one bucket that the write cache does not hold.

    Args:
        view: the view of the open write transaction.
        state: the state of the bucket.
    """

    def __init__(self, view: "WriteView", state: BucketState) -> None:
        self._view = view
        self._transaction = view.transaction
        self._state = state
        self._held: BucketWriteCache | None = None  # from the first use on
        readers = view.readers
        self.read_names, self.read_words, self.read_blocks = readers.names, readers.words, readers.blocks

    def push_writer(self, *, letters: bool) -> PushWriter:
        """Return the writer of PUSH into the bucket while the transaction lasts.

        Args:
            letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
        """
        view, state = self._view, self._state
        held = self._held = view.held(state)
        assert held.names is not None
        assert held.newest is not None
        assert held.lengths is not None
        notes = view.word_notes(state.bucket)
        return PushWriter(
            state,
            self,
            view.terms,
            notes,
            held.names,
            held.newest,
            held.recent,
            held.lengths,
            view.by_association,
            letters,
        )

    def find_among(self, iids: tuple[int, ...], oid: bytes) -> tuple[int, ObjectRecord] | None:
        """Return the IID and the record of the object among `iids` that has an OID, or None."""
        return find_among(self._record, iids, oid)

    def find_growing(self, iids: tuple[int, ...], oid: bytes) -> tuple[int, ObjectRecord | GrowingRecord] | None:
        """Return the IID and the record of an object as `find_among` does; a large record is one that grows."""
        return find_among(self._growing_record, iids, oid)

    def _record(self, iid: int) -> ObjectRecord:
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        row = self._record_row(number)
        packed = row.record(place) if row.number == number else None
        return unpacked(self._view.by_association, self._state.bucket, iid, packed, ObjectRecord.unpack)

    def _growing_record(self, iid: int) -> ObjectRecord | GrowingRecord:
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        row = self._record_row(number)
        packed = None
        if row.number == number:
            growing = row.growing(place)
            if growing is not None:
                return growing
            packed = row.record(place)
        return unpacked(self._view.by_association, self._state.bucket, iid, packed, GrowingRecord.of)

    def iid_among(self, iids: tuple[int, ...], oid: bytes) -> int | None:
        """Return the IID of the object among `iids` that has an OID, or None; no record is read."""
        for iid in iids:
            if self.oid(iid) == oid:
                return iid
        return None

    def oid(self, iid: int) -> bytes | None:
        """Return the OID of an object, or None."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        row = self._record_row(number)
        return oid_at(row.names, place) if row.number == number else None

    def grow_record(self, iid: int, record: GrowingRecord) -> None:
        """Take the record of an object, which grows, into its row; see `BufferedRow.grow`."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        self._record_row(number).grow(place, record)

    def _record_row(self, number: int) -> NewestRow | RecentRow:
        """Return a row of records, which is kept, so that a change of it need not read it again; if none covers the
        number yet, the newest row."""
        held = self._held
        if held is None:
            held = self._held = self._view.held(self._state)
        newest = held.newest
        assert newest is not None
        if newest.number <= number:
            return newest
        row = held.recent.get(number)
        return self._view.recent(self._state.bucket, number) if row is None else row

    def read_terms(self, term_ids: list[int]) -> dict[int, bytes]:
        """Return the terms of a list of ids, by id."""
        return self._view.few_terms_numbered(self._state.bucket, term_ids)

    def end_digest(self, iid: int) -> None:
        """Remove the digest of an object that a PUSH changed."""
        self._view.digests.end(self._state.bucket, iid)

    def write_push(
        self,
        iid: int,
        rewritten: list[int] | None,
        record: bytes | None,
        blocks: list[StoredRow] | None,
    ) -> None:
        """Write the rows of a PUSH that no cache takes; the caches and the counters hold the change already.

        Args:
            iid: the object.
            rewritten: the ids of words whose lists changed other than at their end. None, as below: nothing to do.
            record: the record of the object, if it does not belong in the newest row.
            blocks: (key, block) pairs.
        """
        view, state = self._view, self._state
        if rewritten is not None:
            view.note_rewritten(state.bucket, rewritten)
        if record is not None:
            self.put_record(iid, record)
        if blocks is not None:
            self.write_blocks(blocks)
            if not view.by_association:
                self.put_impacts(blocks)

    def write_cut(
        self,
        iid: int,
        blocks: list[StoredRow] | None,
        deleted_blocks: list[bytes] | None,
        shorter: list[tuple[int, int]] | None,
    ) -> None:
        """Write the rows of the words that a replaced text no longer has, or of those of a deleted object.

        Args:
            iid: the object.
            blocks: (key, block) pairs. None, as below: nothing to do.
            deleted_blocks: the keys of blocks to delete.
            shorter: if the object became shorter, the (term id, tf) of its postings whose impacts are stored.
        """
        if blocks is not None:
            self.write_blocks(blocks)
        if deleted_blocks is not None:
            self.drop_impacts(deleted_blocks)
            self._transaction.delete_many(POSTINGS, deleted_blocks)
        if shorter is not None:
            self.widen_impacts_to(iid, shorter, self._view.lengths(self._state)[iid])

    def write_blocks(self, rows: list[StoredRow]) -> None:
        """Write (key, block) pairs into `postings`."""
        self._transaction.put_many(POSTINGS, rows)

    def change_words(self, change: RemoveTerms) -> None:
        """Write the changed rows and postings of the words that an object loses, if no row is cached.

        The caller drops `change.deleted_terms`. Raises StoreDamaged if a row or a block cannot be read.
        """
        transaction = self._transaction
        self._view.terms.forget(change.word_keys)
        try:
            needed = change.take_rows(stored_words(transaction, change.word_keys))
            change.take_blocks(self.read_blocks(needed))
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {self._state.bucket}: {error}") from error
        self.write_blocks(change.blocks)
        if not self._view.by_association:
            self.drop_impacts(change.deleted_blocks)
        transaction.delete_many(POSTINGS, change.deleted_blocks)
        transaction.put_many(WORDS, change.words())
        transaction.put_many(COMMON, change.common)
        transaction.delete_many(WORDS, change.deleted_words)
        transaction.delete_many(COMMON, change.deleted_common)

    def put_impacts(self, blocks: list[StoredRow]) -> None:
        """Write the impacts of new blocks.

        Args:
            blocks: (key, block) pairs; the lengths of their objects have changed already.
        """
        lengths = self._view.lengths(self._state)
        keys = [key for key, _ in blocks]
        rows = self._transaction.floor_many(IMPACTS, keys, TERM_KEY_BYTES)
        self._transaction.put_many(IMPACTS, rows_with_blocks(blocks, rows, lengths))

    def drop_impacts(self, keys: list[bytes]) -> None:
        """Delete the impacts of deleted blocks, given by their keys."""
        for key in keys:
            row_key, row = self._impact_row(key)
            row.remove(block_position(key))
            if row_key == key:  # the row begins with another block now, and its key names that one
                self._transaction.delete(IMPACTS, row_key)
            if len(row):
                self._transaction.put(IMPACTS, key[:TERM_KEY_BYTES] + row.lower.to_bytes(4, "big"), row.pack())

    def widen_impacts(self, iid: int, terms: list[tuple[int, int]], length: int) -> None:
        """Widen the impacts of the blocks that hold an object which became shorter.

        Args:
            terms: (term id, tf) of its terms.
            length: its new length.
        """
        self.widen_impacts_to(iid, terms, pack_length(length))

    def widen_impacts_to(self, iid: int, terms: list[tuple[int, int]], packed: int) -> None:
        """Widen impacts as `widen_impacts` does, given the length in its packed form."""
        keys = [block_key(self._state.bucket, term_id, iid) for term_id, _ in terms]
        rows = self._transaction.floor_many(IMPACTS, keys, TERM_KEY_BYTES)
        self._transaction.put_many(IMPACTS, widened_rows(rows, terms, iid, packed))

    def _impact_row(self, key: bytes) -> tuple[bytes, ImpactRow]:
        """Return the key and the row for the impacts of a block."""
        (found,) = self._transaction.floor_many(IMPACTS, [key], TERM_KEY_BYTES)
        return (key, ImpactRow()) if found is None else (found[0], ImpactRow(found[1]))

    def put_record(self, iid: int, record: bytes) -> None:
        """Put the record of an object into its row, or into a new row if none covers it."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        row = self._record_row(number)
        if row.number < number:  # the newest row, which is full
            assert isinstance(row, NewestRow)
            row.write(self._transaction, OBJECTS, self._state.bucket)
            row.begin(number)
        row.put(place, record)

    def drop_record(self, iid: int) -> None:
        """Take the record of an object out of its row."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        self._record_row(number).remove(place)  # of an object that was found
