"""Bits counted and found by the processor."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #define lowest_bit(bits) __builtin_ctzll(bits)
    #define count_bits(bits) __builtin_popcountll(bits)
    #define highest_bit(bits) (63 - __builtin_clzll(bits))
    """
    int lowest_bit(uint64_t bits) noexcept nogil
    int count_bits(uint64_t bits) noexcept nogil
    int highest_bit(uint64_t bits) noexcept nogil
