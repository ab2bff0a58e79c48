from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

cdef enum Kind:
    FULL  # every word of the query as it was typed
    EXACT
    COMPLETED
    CORRECTED


cdef enum:
    SPARES = 4
    SPARE_OBJECTS_MAX = 65536  # larger tables are not kept for the next query


cdef inline uint32_t mix(uint64_t iid) noexcept nogil:
    iid *= <uint64_t> 0x9E3779B97F4A7C15
    return <uint32_t> (iid >> 32)


cdef class ObjectTable:
    cdef uint64_t *_iids
    cdef double *_scores
    cdef uint8_t *_kinds  # the best way (Kind) in which the object was found; better ones come first
    cdef uint32_t *_order  # the objects that are left after filters, in their order; NULL: all, as they came
    cdef Py_ssize_t _count, _capacity, _ordered
    cdef int32_t *_slots
    cdef uint32_t _mask
    cdef bint _is_unhashed  # the objects are not in `_slots` yet: one list alone needs none of them

    cdef int32_t insert(self, uint64_t iid) except -1
    cdef int make_room(self, Py_ssize_t objects) except -1
    cdef void hash_all(self) noexcept nogil
    cdef int begin_order(self) except -1
    cdef uint32_t *choose(self, uint64_t offset, uint64_t limit, Py_ssize_t *end) except? NULL
    cdef void sift_up(self, uint32_t *heap, Py_ssize_t at) noexcept nogil
    cdef void sift_down(self, uint32_t *heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil

    cdef inline int32_t find(self, uint64_t iid) noexcept nogil:
        """Return the number of an object in the table, or -1."""
        cdef uint32_t slot = mix(iid) & self._mask
        if self._is_unhashed:
            self.hash_all()
        while self._slots[slot] >= 0 and self._iids[self._slots[slot]] != iid:
            slot = (slot + 1) & self._mask
        return self._slots[slot]

    cdef inline int32_t put(self, uint64_t iid) noexcept nogil:
        """Insert where there is room."""
        cdef uint32_t slot = mix(iid) & self._mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t> self._count
        self._iids[self._count] = iid
        self._scores[self._count] = 0.0
        self._kinds[self._count] = EXACT
        self._count += 1
        return <int32_t> (self._count - 1)

    cdef inline void keep(self, Py_ssize_t number) noexcept nogil:
        self._order[self._ordered] = <uint32_t> number
        self._ordered += 1

    cdef inline uint32_t at(self, uint32_t place) noexcept nogil:
        return place if self._order == NULL else self._order[place]

    cdef inline bint is_better(self, uint32_t left, uint32_t right) noexcept nogil:
        """Whether the object at place `left` goes before the one at `right`."""
        cdef uint32_t a = self.at(left), b = self.at(right)
        if self._kinds[a] != self._kinds[b]:
            return self._kinds[a] < self._kinds[b]
        return self._scores[a] > self._scores[b] or (self._scores[a] == self._scores[b] and left < right)


cdef void *resized(void *held, size_t size) except NULL
cdef void *grown(void *held, Py_ssize_t *capacity, Py_ssize_t needed, size_t size) except NULL
cdef int check_dead(Py_ssize_t dead) except -1
