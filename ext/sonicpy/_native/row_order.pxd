"""The order in which changed rows of words are written."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from sonicpy._native.cached_rows cimport KEY_BYTES, Entry, bucket_of, compare, head_of
from sonicpy._native.term_rows cimport is_common

cdef enum:
    FEW_ROWS = 256  # which qsort orders in less time
    STEPS = 16  # of a byte


cdef struct Placed:  # an entry, and the beginning of its place among the rows
    uint64_t head, middle
    Entry *entry


cdef inline void put_place(Placed *placed, Entry *entry, uint64_t head) noexcept nogil:
    """Set the place of an entry, given how its key begins: common words are in the order of buckets and term ids, others
    in that of their keys."""
    placed.entry, placed.head, placed.middle = entry, head, 0
    if is_common(&entry.word):
        placed.head, placed.middle = bucket_of(entry), entry.word.term_id
    elif entry.key_size > KEY_BYTES:
        placed.middle = head_of(<const uint8_t *> entry.key + KEY_BYTES, entry.key_size - KEY_BYTES)


cdef inline int by_place(const void *left, const void *right) noexcept nogil:
    """Compare two entries, both of common words or both of others. For qsort."""
    cdef const Placed *one = <const Placed *> left
    cdef const Placed *other = <const Placed *> right
    if one.head != other.head:
        return 1 if one.head > other.head else -1
    if one.middle != other.middle:
        return 1 if one.middle > other.middle else -1
    return compare(one.entry, other.entry.key, other.entry.key_size)


cdef inline Placed *sorted_rows(Placed *rows, Placed *room, Py_ssize_t count) noexcept nogil:
    """Return `rows` in order, in their memory or in `room`: sorted byte by byte from the last one of `middle` to the first
    one of `head`, then the few that are equal so far."""
    cdef uint32_t[STEPS][256] begins
    cdef uint32_t sum, found
    cdef uint64_t part
    cdef Py_ssize_t number, last
    cdef Placed *swapped
    cdef int step, value
    if count < FEW_ROWS:
        qsort(rows, count, sizeof(Placed), by_place)
        return rows
    memset(begins, 0, sizeof(begins))
    for number in range(count):
        for step in range(8):
            begins[step][rows[number].middle >> 8 * step & 255] += 1
            begins[step + 8][rows[number].head >> 8 * step & 255] += 1
    for step in range(STEPS):
        part = rows[0].middle if step < 8 else rows[0].head
        if begins[step][part >> 8 * (step & 7) & 255] == <uint32_t> count:
            continue  # the byte is the same everywhere
        sum = 0
        for value in range(256):
            found = begins[step][value]
            begins[step][value] = sum
            sum += found
        for number in range(count):
            part = rows[number].middle if step < 8 else rows[number].head
            value = <int> (part >> 8 * (step & 7) & 255)
            room[begins[step][value]] = rows[number]
            begins[step][value] += 1
        swapped = rows
        rows = room
        room = swapped
    number = 0
    while number < count:
        last = number
        while last + 1 < count and rows[last + 1].head == rows[number].head and rows[last + 1].middle == rows[number].middle:
            last += 1
        if last > number:
            qsort(rows + number, last + 1 - number, sizeof(Placed), by_place)
        number = last + 1
    return rows
