"""The digests of all objects of a bucket at one moment: rows of a table whose digest is among them need no look-up in
the store."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sonicpy._native.hash_table cimport (
    HashTable,
    begin_table,
    double_table,
    end_table,
    home_slot,
    insert,
    next_match,
)
from sonicpy._native.memory cimport grown, zeroed

cdef enum:
    DIGEST = 8
    SLOTS_MIN = 64
    PLACES = 16  # of a row of records
    OBJECT = 2  # places of a row to push
    VECTOR = 5
    TAGS = 6
    VALUES = 7

COUNT_MAX = 1 << 30
"""The most digests that are known; the slots of the table have 32-bit numbers."""


cdef struct Known:
    uint64_t digest
    uint64_t iid


cdef class KnownDigests:
    """Digests with the IIDs of their objects, and a mark for each object that a row was found to be in step with.

    Args:
        end: all IIDs are below it.

    Attributes:
        marked: how many objects are marked.
    """
    cdef Known *_known
    cdef Py_ssize_t _count, _room, _next  # `_next` is behind the one that was found last: rows mostly come in order
    cdef HashTable _table
    cdef uint8_t *_marks  # a bit for each IID
    cdef uint64_t _end
    cdef readonly Py_ssize_t marked

    def __cinit__(self, uint64_t end):
        self._end = end
        self._marks = <uint8_t *> zeroed(<Py_ssize_t> (end // PLACES + 1), PLACES // 8)
        if not begin_table(&self._table, SLOTS_MIN):
            raise MemoryError

    def __dealloc__(self):
        free(self._known)
        free(self._marks)
        end_table(&self._table)

    def __len__(self) -> int:
        return self._count

    def add(self, uint64_t first, bytes row not None) -> None:
        """Add the digests of a row; eight zero bytes, and IIDs that are not below the end, are left out.

        Args:
            first: the IID of the first digest.

        Raises:
            OverflowError: there are too many.
        """
        cdef Py_ssize_t place
        cdef uint64_t digest
        for place in range(len(row) // DIGEST):
            memcpy(&digest, <const char *> row + place * DIGEST, DIGEST)
            if not digest or first + place >= self._end:
                continue
            if self._count >= COUNT_MAX:
                raise OverflowError("a bucket has too many digests to know them all")
            if 2 * (self._count + 1) > <Py_ssize_t> self._table.mask and not double_table(&self._table):
                raise MemoryError
            self._known = <Known *> grown(self._known, &self._room, self._count + 1, sizeof(Known))
            self._known[self._count] = Known(digest, first + place)
            insert(&self._table, <uint32_t> digest, <uint32_t> self._count)
            self._count += 1

    def others(self, list rows not None, list digests not None, set names not None) -> list:
        """Return the places of the rows whose digest is not known, that have one of some names, or that give vectors,
        tags or values. The objects of all others are marked.

        Args:
            rows: rows to push; see `digest.digests_of`.
            digests: the digest of each row, or anything else: it has none.
            names: hashes of names of objects.
        """
        cdef list places = []
        cdef Py_ssize_t place
        cdef tuple row
        for place in range(len(rows)):
            if type(digests[place]) is bytes and len(<bytes> digests[place]) == DIGEST and isinstance(rows[place], tuple):
                row = <tuple> rows[place]
                if (
                    len(row) > VALUES and row[VECTOR] is None and row[TAGS] is None and row[VALUES] is None
                    and not (names and hash(row[OBJECT]) in names)
                    and self.mark(<const char *> <bytes> digests[place])
                ):
                    continue
            places.append(place)
        return places

    def unmarked_rows(self, uint64_t start, Py_ssize_t limit) -> list:
        """Return the numbers of the next rows of records in which an IID is not marked.

        Args:
            start: the first row.
            limit: the most numbers.
        """
        cdef list rows = []
        cdef uint64_t number = start
        while number * PLACES < self._end and len(rows) < limit:
            if self._marks[2 * number] != 0xFF or self._marks[2 * number + 1] != 0xFF:
                rows.append(number)
            number += 1
        return rows

    def is_marked(self, uint64_t iid) -> bool:
        """Return whether an object is marked."""
        return iid < self._end and self._marks[iid >> 3] >> (iid & 7) & 1

    cdef bint mark(self, const char *packed) noexcept:
        """Mark the object of a digest; return whether there is one."""
        cdef uint64_t digest
        cdef int64_t number
        cdef uint32_t slot
        memcpy(&digest, packed, DIGEST)
        if self._next < self._count and self._known[self._next].digest == digest:
            number = self._next
        else:
            slot = home_slot(&self._table, <uint32_t> digest)
            while True:
                number = next_match(&self._table, <uint32_t> digest, &slot)
                if number < 0:
                    return False
                if self._known[number].digest == digest:
                    break
        self._next = number + 1
        self.set_mark(self._known[number].iid)
        return True

    cdef inline void set_mark(self, uint64_t iid) noexcept:
        cdef uint8_t bit = <uint8_t> (1 << (iid & 7))
        self.marked += not self._marks[iid >> 3] & bit
        self._marks[iid >> 3] |= bit
