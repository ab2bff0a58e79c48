from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.hash_table cimport HashTable, hash_number, home_slot, insert, next_match
from sonicpy._native.top_k cimport EXACT, TopK

cdef enum:
    SPARES = 4  # sets of buffers that wait for the next query
    SPARE_OBJECTS_MAX = 65536  # larger buffers are freed


cdef class ObjectTable:
    cdef uint64_t *_iids
    cdef double *_scores
    cdef uint8_t *_kinds  # the best Kind in which the object matches
    cdef uint32_t *_order  # numbers of the objects that passed the filters, in their order; NULL: all objects
    cdef Py_ssize_t _count, _capacity, _ordered
    cdef HashTable _numbers  # by IID
    cdef bint _is_unhashed  # `_numbers` is not filled yet: a query of one list never looks an IID up

    cdef int32_t append(self, uint64_t iid) except -1
    cdef int reserve(self, Py_ssize_t objects) except -1
    cdef void hash_all(self) noexcept nogil
    cdef int begin_order(self) except -1
    cdef int select(self, uint64_t offset, uint64_t limit, TopK *top) except -1

    cdef inline int32_t find(self, uint64_t iid) noexcept nogil:
        """Return the number of an object in the table, or -1."""
        cdef uint32_t hash = hash_number(iid), slot
        cdef int64_t number
        if self._is_unhashed:
            self.hash_all()
        slot = home_slot(&self._numbers, hash)
        while True:
            number = next_match(&self._numbers, hash, &slot)
            if number < 0 or self._iids[number] == iid:
                return <int32_t> number

    cdef inline int32_t append_reserved(self, uint64_t iid) noexcept nogil:
        """Append an object that is not in the table, for which `reserve` made room, and return its number."""
        cdef int32_t number = <int32_t> self._count
        insert(&self._numbers, hash_number(iid), <uint32_t> number)
        self._iids[number] = iid
        self._scores[number] = 0.0
        self._kinds[number] = EXACT
        self._count += 1
        return number

    cdef inline void pass_filter(self, Py_ssize_t number) noexcept nogil:
        self._order[self._ordered] = <uint32_t> number
        self._ordered += 1

    cdef inline uint32_t at(self, uint32_t place) noexcept nogil:
        """Return the number of the object at `place` of the order."""
        return place if self._order == NULL else self._order[place]
