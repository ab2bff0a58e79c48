"""A row of records that changed since the last write, and is not the newest one.

It is kept because several changes may concern one row, and because rows in the order of their keys are written in less
time. Records are taken out of a dense row together, when the row is needed: each time, all terms in it are skipped.
"""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.dense_changes cimport changed_row, row_without
from sonicpy._native.dense_records cimport dense_row, is_dense_row
from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.keys cimport term_key
from sonicpy._native.objects cimport RecordRow
from sonicpy._native.record_item cimport PLACES
from sonicpy._native.table_access cimport MixedRows

from sonicpy._native.objects import record_at


cdef class RecentRow:
    """A row of records with changes that wait to be written.

    Args:
        number: the number of the row.
        packed: the row in the table; None: the table does not have it.
        dense: whether to write the row in the dense form.

    Attributes:
        is_changed: whether the row changed since the last write.
    """

    def __init__(self, uint64_t number, bytes packed, *, bint dense):
        self.number = number
        self._row = packed or b""
        self._dense = dense

    @property
    def names(self) -> bytes:
        """The row with all OIDs, perhaps without the newest terms of large objects."""
        return self.whole()

    @property
    def packed(self) -> bytes:
        """The row with all changes, dense or not."""
        cdef GrowingRecord record
        if self._growing is not None:
            for place, record in self._growing.items():
                if record.is_changed:
                    self.replace(place, record.pack())
        return self.whole()

    cdef bytes whole(self):
        """Return the row, from which all dropped records are taken."""
        if self._gone:
            self._row = row_without(self._row, self._gone)
            self._gone = 0
        return self._row

    def record(self, int place) -> bytes | None:
        """Return the record at `place`; None: there is none. Raises DamagedBytes if the row cannot be read."""
        return self.record_at(place)

    cdef bytes record_at(self, int place):
        cdef GrowingRecord growing = self.growing_at(place)
        if growing is None:
            return None if self._gone >> place & 1 else record_at(self._row, place)
        if growing.is_changed:
            self.replace(place, growing.pack())
        return growing.pack()

    def growing(self, int place) -> GrowingRecord | None:
        """Return the record at `place` if it is one that grows, or None."""
        return self.growing_at(place)

    cdef GrowingRecord growing_at(self, int place):
        return None if self._growing is None else self._growing.get(place)

    def grow(self, int place, GrowingRecord record not None) -> None:
        """Take a record that grows instead of the record at `place`: further changes of it are changes of the row."""
        if self._growing is None:
            self._growing = {}
        self._growing[place] = record
        self.is_changed = True

    def put(self, int place, bytes record not None) -> None:
        """Put a record at `place`, instead of an earlier one.

        Raises:
            ValueError: there is no such place.
            DamagedBytes: `record` is not a record, or the row cannot be read.
        """
        self.forget(place)
        self.replace(place, record)

    cdef int replace(self, int place, bytes record) except -1:
        cdef bytes row = changed_row(self.whole(), place, record)
        self._row = self.as_plain().put_record(place, record) if row is None else row
        self._is_made = True
        return 0

    cpdef drop(self, int place):
        """Take the record at `place` out of the row.

        Raises:
            ValueError: there is no such place.
            DamagedBytes: the row cannot be read.
        """
        cdef bytes row
        self.forget(place)
        if self._is_made and is_dense_row(self._row):
            self._gone |= <uint32_t> 1 << place
            return
        row = changed_row(self._row, place, None)
        self._row = self.as_plain().drop(place) if row is None else row
        self._is_made = True

    cdef int forget(self, int place) except -1:
        if not 0 <= place < PLACES:
            raise ValueError(f"a row of objects has the places 0 to {PLACES - 1}, not {place}")
        self.is_changed = True
        if self._growing is not None:
            self._growing.pop(place, None)
        return 0

    cdef RecordRow as_plain(self):
        if self._plain is None:
            self._plain = RecordRow(self._row)
        return self._plain

    def write(self, MixedRows transaction not None, int table, uint32_t bucket) -> None:
        """Write the row into a table, if it changed since the last write; delete it if no record is left."""
        cdef bytes key, packed
        if not self.is_changed:
            return
        key, packed = term_key(bucket, self.number), self.packed
        if packed:
            transaction.put(table, key, dense_row(packed) if self._dense else packed)
        else:
            transaction.delete(table, key)
        self.is_changed = False
