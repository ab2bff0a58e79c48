"""The likeness of the vectors of objects to the vector of a query, and the order that follows from it.

The vector of a query is whole numbers from -127 to 127. Its likeness to the bits of an object is the sum of its numbers,
where those with a bit of 0 are negated: a whole number, equal on every machine.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort

from sonicpy._native.vectors cimport BITS, before_place, check_row

cdef enum:
    NIBBLES = 16


cdef void fill_sums(int32_t *sums, const int8_t *numbers, Py_ssize_t count) noexcept:
    """Write, for every four numbers, their sums for all sixteen ways to negate some of them."""
    cdef Py_ssize_t group
    cdef int bits, bit
    for group in range(count // 4):
        sums[0] = -(numbers[0] + numbers[1] + numbers[2] + numbers[3])
        for bit in range(4):  # the last number has the lowest bit
            for bits in range(1 << bit):
                sums[(1 << bit) + bits] = sums[bits] + 2 * numbers[3 - bit]
        sums += NIBBLES
        numbers += 4


def likenesses(bytes query not None, list places not None, dict rows not None) -> list:
    """Return the likeness of each object to a query, in the order of the objects; None for an object without a vector.

    Args:
        query: the numbers of the query as int8.
        places: the (key of the row, place in the row) of each object.
        rows: the rows that exist, by key.

    Raises:
        DamagedBytes: a row cannot be read.
        ValueError: the query has a number of numbers that no vector has.
    """
    cdef Py_ssize_t count = PyBytes_GET_SIZE(query), size = count // 8, place, byte, head
    cdef const uint8_t *at
    cdef int32_t total
    cdef int32_t *sums
    cdef list found = []
    if not 0 < count <= BITS or count % 8:
        raise ValueError(f"a query has {count} numbers; allowed are multiples of 8 from 8 to {BITS}")
    sums = <int32_t *> PyMem_Malloc(count * 4 * sizeof(int32_t))
    if sums is NULL:
        raise MemoryError
    try:
        fill_sums(sums, <const int8_t *> PyBytes_AS_STRING(query), count)
        for key, place in places:
            row = rows.get(key)
            if row is None:
                found.append(None)
                continue
            head = check_row(row, size)
            at = <const uint8_t *> PyBytes_AS_STRING(<bytes> row)
            if not at[place >> 3] >> (place & 7) & 1:
                found.append(None)
                continue
            at += head + before_place(at, place) * size
            total = 0
            for byte in range(size):
                total += sums[2 * byte * NIBBLES + (at[byte] >> 4)] + sums[(2 * byte + 1) * NIBBLES + (at[byte] & 15)]
            found.append(total)
        return found
    finally:
        PyMem_Free(sums)


def square_sum(bytes query not None) -> int:
    """Return the sum of the squares of the numbers of a query."""
    cdef const int8_t *numbers = <const int8_t *> PyBytes_AS_STRING(query)
    cdef Py_ssize_t at
    cdef uint64_t total = 0
    for at in range(PyBytes_GET_SIZE(query)):
        total += numbers[at] * numbers[at]
    return total


cdef struct Scored:
    double score
    Py_ssize_t place


cdef int by_score(const void *one, const void *other) noexcept nogil:
    """Compare two objects: the higher score comes first, then the earlier place."""
    cdef const Scored *a = <const Scored *> one
    cdef const Scored *b = <const Scored *> other
    if a.score != b.score:
        return -1 if a.score > b.score else 1
    return -1 if a.place < b.place else 1


def reorder(list scores not None, list sums not None, double norm, double weight) -> tuple:
    """Return the order of objects by words and meaning: their places in `scores`, and their scores, both in the new
    order; then for each of the first ones, by place, its cosine (None: it has no vector), and the number that meaning
    adds to its score.

    Args:
        scores: the scores by words, best first.
        sums: the likeness of the first ones; None: the object has no vector. They get the mean of the others.
        norm: a likeness divided by it is the cosine; 0: all cosines are 0.
        weight: how much a cosine adds.
    """
    cdef Py_ssize_t count = min(len(sums), len(scores)), at, known = 0
    cdef int64_t together = 0
    cdef double mean = 0, cosine
    cdef object more
    cdef list places = [], finals = [], cosines = [], added = []
    cdef Scored *order = <Scored *> PyMem_Malloc((count + 1) * sizeof(Scored))
    if order is NULL:
        raise MemoryError
    try:
        for total in sums:
            if total is not None:
                together += <int64_t> total
                known += 1
        if known and norm:
            mean = <double> together / <double> known / norm
        for at in range(len(sums)):
            total = sums[at]
            if total is None:
                cosine = mean
                cosines.append(None)
            else:
                cosine = <double> <int64_t> total / norm if norm else 0
                cosines.append(cosine)
            more = weight * cosine  # an object, so that no processor rounds the sum as that of one operation
            added.append(more)
            if at < count:
                order[at].score = <double> scores[at] + <double> more
                order[at].place = at
        qsort(order, count, sizeof(Scored), by_score)
        for at in range(count):
            places.append(order[at].place)
            finals.append(order[at].score)
        places += range(count, len(scores))
        finals += scores[count:]
        return places, finals, cosines, added
    finally:
        PyMem_Free(order)
