"""The rows of one bucket inside the write transaction, as PUSH, POP and FLUSHO read and write them."""

from collections.abc import Iterable

from sonicpy._native.add_terms import AddTerms
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy.store.bucket_reader import find_among
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import OBJECTS, POSTINGS, TERMS, Row
from sonicpy.store.keys import object_key
from sonicpy.store.names import stored_names
from sonicpy.store.word_rows import stored_words
from sonicpy.store.write_view import Why, WriteView


class BucketTables:
    """Reads and writes the rows that are not cached; `PushWriter` gets one.

    Args:
        view: of the open write transaction.
        state: of the bucket.
    """

    def __init__(self, view: WriteView, state: BucketState) -> None:
        self._view = view
        self._transaction = view.transaction
        self._state = state

    def stored_names(self, hash: int) -> tuple[int, ...]:
        """Return the IIDs of the objects in `oids` whose OID has this hash."""
        return stored_names(self._transaction, self._state, hash)

    def find_among(self, iids: Iterable[int], oid: bytes) -> tuple[int, ObjectRecord] | None:
        """Return the IID and the record of the object among some that has an OID, or None."""
        return find_among(self._view, self._state.bucket, iids, oid)

    def read_words(self, keys: list[bytes]) -> list[Row]:
        """Return (key, row) of the words that have a row, in the order of `keys`."""
        return stored_words(self._transaction, keys)

    def read_blocks(self, keys: list[bytes]) -> list[Row]:
        """Return (key, block) of the blocks that `postings` holds, in the order of `keys`."""
        return self._transaction.get_many(POSTINGS, keys)

    def write_blocks(self, rows: list[Row]) -> None:
        """Write (key, block) pairs into `postings`."""
        self._transaction.put_many(POSTINGS, rows)

    def drop_first_block(self, change: AddTerms | RemoveTerms, number: int) -> None:
        """Delete the used-up first block of word `number` of a change, and give the change the block that follows."""
        key = change.first_block_key(number)
        self._transaction.delete(POSTINGS, key)
        following = self._transaction.first(POSTINGS, key)
        if following is None or following[0][:9] != key[:9]:
            change.advance_to_tail(number)
        else:
            change.advance(number, int.from_bytes(following[0][9:], "big"), following[1][0])

    def write_terms(self, rows: list[Row]) -> None:
        """Write (key, term) pairs into `terms`."""
        self._transaction.put_many(TERMS, rows)

    def note_appeared(self, keys: list[bytes]) -> None:
        """Add words, by their keys, to the pending words: they are live now."""
        self._view.note_pending(self._state, keys, Why.APPEARED)

    def put_record(self, iid: int, record: bytes) -> None:
        """Put the record of an object into its row; start the next newest row if it belongs there."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        newest = self._view.newest(self._state)
        if number > newest.number:
            newest.write(self._transaction, self._state.bucket)
            newest.begin(number)
        if number == newest.number:
            newest.put(place, record)
            return
        key = object_key(self._state.bucket, number)
        row = RecordRow(self._transaction.get(OBJECTS, key) or b"")
        self._transaction.put(OBJECTS, key, row.put(place, record))

    def drop_record(self, iid: int) -> None:
        """Take the record of an object out of its row."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        newest = self._view.newest(self._state)
        if number == newest.number:
            newest.drop(place)
            return
        key = object_key(self._state.bucket, number)
        left = RecordRow(self._transaction.get(OBJECTS, key) or b"").drop(place)
        if left:
            self._transaction.put(OBJECTS, key, left)
        else:
            self._transaction.delete(OBJECTS, key)
