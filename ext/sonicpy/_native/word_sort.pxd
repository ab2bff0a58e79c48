"""Sorts words, each given as its length and its bytes, by the number that their first eight bytes make."""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memset

from sonicpy._native.automaton cimport read_u64, swap_bytes

cdef struct Headed:
    uint64_t head  # of the word: see `head_of`
    const uint8_t *word  # its length, then its bytes


cdef inline uint64_t head_of(const uint8_t *word) noexcept nogil:
    """Return the first eight bytes behind the length as a big-endian number, filled up with zeros."""
    cdef uint64_t head = swap_bytes(read_u64(word + 1))
    return head if word[0] >= 8 else head & ~(<uint64_t> -1 >> 8 * word[0])


cdef inline int compare_words(const void *left, const void *right) noexcept nogil:
    cdef const uint8_t *one = (<const Headed *> left).word
    cdef const uint8_t *other = (<const Headed *> right).word
    cdef int order = memcmp(one + 1, other + 1, min(one[0], other[0]))
    return order if order else <int> one[0] - <int> other[0]


cdef inline void sort_words(Headed *words, Headed *room, uint64_t count) noexcept nogil:
    """Sort by heads, byte by byte from the last one; then sort the few words of equal heads by all their bytes."""
    cdef uint64_t begins[257]
    cdef uint64_t number, last
    cdef Headed *swapped
    cdef int shift, value
    for shift in range(0, 64, 8):
        memset(begins, 0, sizeof(begins))
        for number in range(count):
            begins[(words[number].head >> shift & 255) + 1] += 1
        for value in range(255):
            begins[value + 1] += begins[value]
        for number in range(count):
            value = words[number].head >> shift & 255
            room[begins[value]] = words[number]
            begins[value] += 1
        swapped = words
        words = room
        room = swapped
    number = 0
    while number < count:
        last = number
        while last + 1 < count and words[last + 1].head == words[number].head:
            last += 1
        if last > number:
            qsort(words + number, last + 1 - number, sizeof(Headed), compare_words)
        number = last + 1
