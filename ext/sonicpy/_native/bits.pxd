"""Counts and finds bits with instructions of the processor.

Wheels are built for every processor of a family, and the oldest ones of x86-64 have no instruction that counts bits. So
the bits of arrays are counted by a function with two bodies, one of which is chosen at its first call; the bits of a
single number are counted by the body that every processor can run.
"""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #define lowest_bit(bits) __builtin_ctzll(bits)
    #define count_bits(bits) __builtin_popcountll(bits)
    #define highest_bit(bits) (63 - __builtin_clzll(bits))

    #define COUNT_ALL(name, target) \\
        target static inline uint64_t name(const uint64_t *one, const uint64_t *other, Py_ssize_t words) { \\
            uint64_t found = 0; \\
            Py_ssize_t word; \\
            for (word = 0; word < words; word++) \\
                found += (uint64_t) __builtin_popcountll(one[word] & other[word]); \\
            return found; \\
        }

    COUNT_ALL(count_common_plain, )
    #if defined(__x86_64__) && defined(__GNUC__)
    COUNT_ALL(count_common_popcnt, __attribute__((target("popcnt"))))
    static inline uint64_t count_common(const uint64_t *one, const uint64_t *other, Py_ssize_t words) {
        static int counts = -1;
        if (counts < 0)
            counts = __builtin_cpu_supports("popcnt") != 0;
        return counts ? count_common_popcnt(one, other, words) : count_common_plain(one, other, words);
    }
    #else
    #define count_common count_common_plain
    #endif
    """
    int lowest_bit(uint64_t bits) noexcept nogil
    int count_bits(uint64_t bits) noexcept nogil
    int highest_bit(uint64_t bits) noexcept nogil
    uint64_t count_common(const uint64_t *one, const uint64_t *other, Py_ssize_t words) noexcept nogil
    uint64_t count_common_plain(const uint64_t *one, const uint64_t *other, Py_ssize_t words) noexcept nogil
