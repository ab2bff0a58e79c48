"""Rows of records that change in memory, and wait to be written.

Several changes may concern one row. A dense row stays dense as long as only records in it are replaced or removed
(dense_changes.pyx). Large records to which texts are added (growing_record.pyx) wait beside the packed row.
"""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.dense_changes cimport changed_row, row_without
from sonicpy._native.dense_records cimport dense_row, is_dense_row
from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.keys cimport term_key
from sonicpy._native.objects cimport RecordRow, record_in
from sonicpy._native.record_item cimport PLACES
from sonicpy._native.table_access cimport MixedRows


cdef class BufferedRow(RecordRow):
    """A row that changes in memory before its owner writes it.

    Args:
        number: IID // 16 of the objects in the row.
        packed: the row in the table; None: the table does not have it.
        dense: whether to write the row in the dense form.

    Attributes:
        is_changed: whether the row changed since it was written.
    """

    def __init__(self, uint64_t number, bytes packed, bint dense):
        self._row = b"" if packed is None else packed
        self._count = -1
        self.number = number
        self._dense = dense

    @property
    def packed(self) -> bytes:
        """The row with all changes, dense or not."""
        return self.whole()

    @property
    def names(self) -> bytes:
        """The row with all OIDs, perhaps without the newest terms of large objects."""
        return self.cut()

    cdef bytes whole(self):
        """Return the row with all changes."""
        if self._growing is not None:
            for place, record in self._growing.items():
                self.settle(place, record)
        return self.cut()

    cdef bytes cut(self):
        """Return the row, from which all removed records are taken."""
        return self._row

    cdef bytes to_store(self):
        """Return the row with all changes, in the form in which a table has it."""
        return dense_row(self.whole()) if self._dense else self.whole()

    def record(self, int place) -> bytes | None:
        """Return the record at `place`; None: there is none. Raises DamagedBytes if the row cannot be read."""
        return self.record_at(place)

    cdef bytes record_at(self, int place):
        """Return the result of `record`."""
        cdef GrowingRecord growing = self.growing_at(place)
        if growing is None:
            return record_in(self._row, place)
        self.settle(place, growing)
        return growing.pack()

    cdef int settle(self, int place, GrowingRecord record) except -1:
        """Put the new terms of a record that grows into the row."""
        if record.is_changed:
            self.replace(place, record.pack())
        return 0

    def growing(self, int place) -> GrowingRecord | None:
        """Return the record at `place` if it is one that grows, or None."""
        return self.growing_at(place)

    cdef GrowingRecord growing_at(self, int place):
        """Return the result of `growing`."""
        return None if self._growing is None else self._growing.get(place)

    cpdef grow(self, int place, GrowingRecord record):
        """Take a record that grows instead of the record at `place`: further changes of it are changes of the row."""
        if self._growing is None:
            self._growing = {}
        self._growing[place] = record
        self.is_changed = True

    cdef bytes put_record(self, int place, bytes record):
        self.forget(place)
        self.replace(place, record)
        return self._row

    def drop(self, int place) -> bytes:
        """Return the row without the record at `place`; empty if no record is left."""
        self.remove(place)
        return self.cut()

    cpdef remove(self, int place):
        """Take the record at `place` out of the row.

        Raises:
            ValueError: there is no such place.
            DamagedBytes: the row cannot be read.
        """
        self.forget(place)
        self.replace(place, None)

    cdef int forget(self, int place) except -1:
        """Note a change of the record at `place`, which no longer grows."""
        if not 0 <= place < PLACES:
            raise ValueError(f"a row of objects has the places 0 to {PLACES - 1}, not {place}")
        if self._growing is not None:
            self._growing.pop(place, None)
        self.is_changed = True
        return 0

    cdef int replace(self, int place, bytes record) except -1:
        """Put a record at `place`, instead of an earlier one; None: remove that one."""
        cdef bytes row = changed_row(self._row, place, record) if self._count < 0 else None
        if row is not None:
            self._row = row
        elif record is None:
            RecordRow.drop(self, place)
        else:
            RecordRow.put_record(self, place, record)
        return 0


cdef class NewestRow(BufferedRow):
    """The row of records for new objects of a bucket. It may be newer than the row in the table.

    The row is written when it is full, or at a commit, so that pages of the table are filled completely.

    Args:
        number, packed, dense: as of `BufferedRow`.

    Raises:
        DamagedBytes: the row cannot be read.
    """

    def __init__(self, uint64_t number, bytes packed, bint dense):
        BufferedRow.__init__(self, number, packed, dense)
        self._is_stored = packed is not None
        self.opened()

    def write(self, MixedRows transaction not None, int table, uint32_t bucket, *, bint is_last=True) -> None:
        """Write the row into a table, if it changed since the last write; its key sorts behind all others of the
        bucket.

        Args:
            is_last: whether the row may be the last one of the table; False: rows of other buckets follow.
        """
        cdef bytes key, packed
        if not self.is_changed:
            return
        key = term_key(bucket, self.number)
        packed = self.to_store()
        if packed and not is_last:
            transaction.put(table, key, packed)
        else:
            if self._is_stored:
                transaction.delete(table, key)
            if packed:
                transaction.append(table, key, packed)
        self._is_stored = len(packed) > 0
        self.is_changed = False

    def begin(self, uint64_t number) -> None:
        """Begin row `number`, the next one, after this one was written."""
        self.read(b"")
        self._growing = None
        self.number = number
        self.is_changed = self._is_stored = False


cdef class RecentRow(BufferedRow):
    """A row of records that changed since the last write, and is not the newest one.

    It is kept because several changes may concern one row, and because rows in the order of their keys are written in
    less time. Records are taken out of a dense row together, when the row is needed: each time, all terms in it are
    skipped.
    """

    cdef bytes cut(self):
        if self._gone:
            self._row = row_without(self._row, self._gone)
            self._gone = 0
        return self._row

    cdef int opened(self) except -1:
        self.cut()
        return RecordRow.opened(self)

    cdef bytes record_at(self, int place):
        if self._gone and 0 <= place < PLACES and self._gone >> place & 1 and self.growing_at(place) is None:
            return None
        return BufferedRow.record_at(self, place)

    cpdef remove(self, int place):
        self.forget(place)
        if self._is_made and is_dense_row(self._row):
            self._gone |= <uint32_t> 1 << place
        else:
            self.replace(place, None)

    cdef int replace(self, int place, bytes record) except -1:
        self.cut()
        BufferedRow.replace(self, place, record)
        self._is_made = True
        return 0

    def write(self, MixedRows transaction not None, int table, uint32_t bucket) -> None:
        """Write the row into a table, if it changed since the last write; delete it if no record is left."""
        cdef bytes key, packed
        if not self.is_changed:
            return
        key = term_key(bucket, self.number)
        packed = self.to_store()
        if packed:
            transaction.put(table, key, packed)
        else:
            transaction.delete(table, key)
        self.is_changed = False
