"""Objects by IID in the order in which a query found them, and the selection of the best.

No Python object is made for an object of the table.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.hash_table cimport clear_table, hash_number, insert
from sonicpy._native.memory cimport resized
from sonicpy._native.top_k cimport Kind, ScoredObject, TopK, begin_top, collect, end_top, page_start, sort_top

cdef enum:
    FIRST_OBJECTS = 256  # that a new table has room for


cdef struct Buffers:  # of a table, passed on from query to query: to allocate them would take longer than to rank
    uint64_t *iids
    double *scores
    uint8_t *kinds
    uint64_t *slots  # two for each object
    Py_ssize_t capacity


cdef Buffers spares[SPARES]
cdef int spare_count = 0


cdef class ObjectTable:
    """Objects by IID, each with a score and the kind of its match."""

    def __cinit__(self, *args):
        global spare_count
        cdef Buffers buffers
        if spare_count:
            spare_count -= 1
            buffers = spares[spare_count]
            self._capacity = buffers.capacity
            self._iids = buffers.iids
            self._scores = buffers.scores
            self._kinds = buffers.kinds
            self._numbers.slots = buffers.slots
        else:
            self._capacity = FIRST_OBJECTS
            self._iids = <uint64_t *> malloc(self._capacity * sizeof(uint64_t))
            self._scores = <double *> malloc(self._capacity * sizeof(double))
            self._kinds = <uint8_t *> malloc(self._capacity)
            self._numbers.slots = <uint64_t *> malloc(2 * self._capacity * sizeof(uint64_t))
            if self._iids == NULL or self._scores == NULL or self._kinds == NULL or self._numbers.slots == NULL:
                raise MemoryError
        self._numbers.mask = 2 * FIRST_OBJECTS - 1
        self._is_unhashed = True

    def __dealloc__(self):
        global spare_count
        cdef uint64_t *slots = self._numbers.slots
        free(self._order)
        if slots != NULL and spare_count < SPARES and self._capacity <= SPARE_OBJECTS_MAX:
            spares[spare_count] = Buffers(self._iids, self._scores, self._kinds, slots, self._capacity)
            spare_count += 1
            return
        free(self._iids)
        free(self._scores)
        free(self._kinds)
        free(slots)

    def __len__(self) -> int:
        return self._count if self._order == NULL else self._ordered

    cdef int32_t append(self, uint64_t iid) except -1:
        """Append an object that is not in the table and return its number."""
        self.reserve(1)
        return self.append_reserved(iid)

    cdef int reserve(self, Py_ssize_t objects) except -1:
        """Make room for `objects` more objects; at most half of the slots of the hash table are ever used."""
        cdef uint32_t slots = self._numbers.mask + 1
        cdef Py_ssize_t capacity = self._capacity
        if 2 * (self._count + objects) <= <Py_ssize_t> slots:
            return 0
        while 2 * (self._count + objects) > <Py_ssize_t> slots:
            slots *= 2
        if <Py_ssize_t> slots > 2 * capacity:
            capacity = slots // 2
            self._iids = <uint64_t *> resized(self._iids, capacity * sizeof(uint64_t))
            self._scores = <double *> resized(self._scores, capacity * sizeof(double))
            self._kinds = <uint8_t *> resized(self._kinds, capacity)
            self._numbers.slots = <uint64_t *> resized(self._numbers.slots, slots * sizeof(uint64_t))
            self._capacity = capacity
        self._numbers.mask = slots - 1
        if not self._is_unhashed:
            self.hash_all()
        return 0

    cdef void hash_all(self) noexcept nogil:
        """Fill the hash table with all objects."""
        cdef Py_ssize_t number
        self._is_unhashed = False
        clear_table(&self._numbers)
        for number in range(self._count):
            insert(&self._numbers, hash_number(self._iids[number]), <uint32_t> number)

    cdef int begin_order(self) except -1:
        """Make room for the numbers of the objects that pass the filters."""
        self._order = <uint32_t *> resized(self._order, (self._count + 1) * sizeof(uint32_t))
        self._ordered = 0
        return 0

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of at most `limit` objects from place `offset` on, best first, then in the order of
        finding."""
        cdef TopK top
        cdef list iids = []
        cdef Py_ssize_t place
        self.select(offset, limit, &top)
        try:
            for place in range(page_start(&top, offset), top.size):
                iids.append(top.objects[place].iid)
            return iids
        finally:
            end_top(&top)

    def best_scored(self, uint64_t offset, uint64_t limit) -> list:
        """Return the (IID, kind, score) of the objects that `best` would return.

        The kind, which is compared before the score, is 0 for an object that holds every word as typed, 1 for some of
        the words, 2 for completions, 3 for corrections.
        """
        cdef TopK top
        cdef ScoredObject *object
        cdef list scored = []
        cdef Py_ssize_t place
        self.select(offset, limit, &top)
        try:
            for place in range(page_start(&top, offset), top.size):
                object = &top.objects[place]
                scored.append((object.iid, object.kind, object.score))
            return scored
        finally:
            end_top(&top)

    cdef int select(self, uint64_t offset, uint64_t limit, TopK *top) except -1:
        """Begin `top`, and put the best objects up to the end of a page into it; the caller ends `top`."""
        cdef uint64_t count = len(self)
        cdef uint32_t place, number
        if offset >= count or limit == 0:
            return begin_top(top, 0)
        begin_top(top, <Py_ssize_t> (count if limit >= count - offset else offset + limit))
        for place in range(<uint32_t> count):
            number = self.at(place)
            # Most objects are not among the best; of equals, those that were found first stay.
            if self._kinds[number] > top.worst_kind or (
                self._kinds[number] == top.worst_kind and self._scores[number] <= top.worst_score
            ):
                continue
            collect(top, self._iids[number], <Kind> self._kinds[number], self._scores[number], place)
        sort_top(top)
        return 0
