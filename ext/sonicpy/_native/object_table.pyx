"""Objects by IID, in the order they came, and the selection of the best: what every way to rank shares.

Open addressing on the IID. No Python object is made for an object.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

cdef enum:
    ROOM_OBJECTS = 256  # what a table has room for at first


cdef struct Room:  # memory of a table, handed on from query to query: taking it from the system costs more than ranking
    uint64_t *iids
    double *scores
    uint8_t *kinds
    int32_t *slots
    Py_ssize_t capacity


cdef Room spares[SPARES]
cdef int spare_count = 0


cdef class ObjectTable:
    """Objects by IID, in the order they came, each with a score."""

    def __cinit__(self, *args):
        global spare_count
        cdef Room room
        if spare_count:
            spare_count -= 1
            room = spares[spare_count]
            self._capacity = room.capacity
            self._iids = room.iids
            self._scores = room.scores
            self._kinds = room.kinds
            self._slots = room.slots
        else:
            self._capacity = ROOM_OBJECTS
            self._iids = <uint64_t *> malloc(self._capacity * sizeof(uint64_t))
            self._scores = <double *> malloc(self._capacity * sizeof(double))
            self._kinds = <uint8_t *> malloc(self._capacity)
            self._slots = <int32_t *> malloc(2 * self._capacity * sizeof(int32_t))
            if self._iids == NULL or self._scores == NULL or self._kinds == NULL or self._slots == NULL:
                raise MemoryError
        self._mask = 2 * ROOM_OBJECTS - 1
        self._is_unhashed = True

    def __dealloc__(self):
        global spare_count
        free(self._order)
        if self._slots != NULL and spare_count < SPARES and self._capacity <= SPARE_OBJECTS_MAX:
            spares[spare_count] = Room(self._iids, self._scores, self._kinds, self._slots, self._capacity)
            spare_count += 1
            return
        free(self._iids)
        free(self._scores)
        free(self._kinds)
        free(self._slots)

    def __len__(self) -> int:
        return self._count if self._order == NULL else self._ordered

    cdef int32_t insert(self, uint64_t iid) except -1:
        """Put an object that is not there at the end of the table and return its number."""
        self.make_room(1)
        return self.put(iid)

    cdef int make_room(self, Py_ssize_t objects) except -1:
        """Make sure that so many objects more can be put; at most half of the slots are ever taken."""
        cdef uint32_t slots = self._mask + 1
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
            self._slots = <int32_t *> resized(self._slots, slots * sizeof(int32_t))
            self._capacity = capacity
        self._mask = slots - 1
        if not self._is_unhashed:
            self.hash_all()
        return 0

    cdef void hash_all(self) noexcept nogil:
        """Put all objects into the slots, afresh."""
        cdef Py_ssize_t number
        cdef uint32_t slot
        self._is_unhashed = False
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))
        for number in range(self._count):
            slot = mix(self._iids[number]) & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
            self._slots[slot] = <int32_t> number

    cdef int begin_order(self) except -1:
        """Make room for the numbers of the objects that stay."""
        self._order = <uint32_t *> resized(self._order, (self._count + 1) * sizeof(uint32_t))
        self._ordered = 0
        return 0

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of the objects from place `offset` on, at most `limit`: best first, equals as they came."""
        cdef Py_ssize_t end = 0, place
        cdef uint32_t *chosen = self.choose(offset, limit, &end)
        cdef list out = []
        if chosen == NULL:
            return out
        try:
            for place in range(<Py_ssize_t> offset, end):
                out.append(self._iids[self.at(chosen[place])])
            return out
        finally:
            free(chosen)

    def best_scored(self, uint64_t offset, uint64_t limit) -> list:
        """Return (IID, kind, score) of the same objects.

        The kind, which is compared before the score, is 0 for an object that holds every word as it was typed, 1 for
        some of the words, 2 for completions, 3 for corrections.
        """
        cdef Py_ssize_t end = 0, place
        cdef uint32_t *chosen = self.choose(offset, limit, &end)
        cdef uint32_t number
        cdef list out = []
        if chosen == NULL:
            return out
        try:
            for place in range(<Py_ssize_t> offset, end):
                number = self.at(chosen[place])
                out.append((self._iids[number], self._kinds[number], self._scores[number]))
            return out
        finally:
            free(chosen)

    cdef uint32_t *choose(self, uint64_t offset, uint64_t limit, Py_ssize_t *end) except? NULL:
        """Return the places of the objects before `end`, best first, to be freed; NULL: there are none from `offset`
        on."""
        cdef Py_ssize_t left = len(self), wanted, size = 0, number
        cdef uint32_t moved, at, worst = 0
        cdef uint32_t *heap
        end[0] = 0
        if offset >= <uint64_t> left:
            return NULL
        wanted = left if limit >= <uint64_t> left - offset else <Py_ssize_t> (offset + limit)
        heap = <uint32_t *> malloc((wanted + 1) * sizeof(uint32_t))
        if heap == NULL:
            raise MemoryError
        for number in range(left):  # the worst of the best stands at the root
            if size < wanted:
                heap[size] = <uint32_t> number
                size += 1
                self.sift_up(heap, size - 1)
                worst = self.at(heap[0])
                continue
            if not wanted:
                break
            # `is_better` written out for most, which are not: of equals those that came before stay.
            at = self.at(<uint32_t> number)
            if self._kinds[at] > self._kinds[worst] or (
                self._kinds[at] == self._kinds[worst] and self._scores[at] <= self._scores[worst]
            ):
                continue
            heap[0] = <uint32_t> number
            self.sift_down(heap, size, 0)
            worst = self.at(heap[0])
        while size > 1:  # heap sort: the worst goes to the end
            size -= 1
            moved = heap[size]
            heap[size] = heap[0]
            heap[0] = moved
            self.sift_down(heap, size, 0)
        end[0] = wanted
        return heap

    cdef void sift_up(self, uint32_t *heap, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t parent
        cdef uint32_t moved = heap[at]
        while at > 0:
            parent = (at - 1) >> 1
            if not self.is_better(heap[parent], moved):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = moved

    cdef void sift_down(self, uint32_t *heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t child
        cdef uint32_t moved = heap[at]
        while True:
            child = 2 * at + 1
            if child >= size:
                break
            if child + 1 < size and self.is_better(heap[child], heap[child + 1]):
                child += 1
            if not self.is_better(moved, heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved


cdef void *resized(void *held, size_t size) except NULL:
    cdef void *grown = realloc(held, size)
    if grown == NULL:
        raise MemoryError
    return grown


cdef void *grown(void *held, Py_ssize_t *capacity, Py_ssize_t needed, size_t size) except NULL:
    """Return memory for at least so many items."""
    cdef Py_ssize_t wanted = max(needed, 2 * capacity[0])
    cdef void *found = resized(held, wanted * size)
    capacity[0] = wanted
    return found


cdef int check_dead(Py_ssize_t dead) except -1:
    if dead < 0:
        raise ValueError(f"{dead} postings cannot be dead")
    return 0
