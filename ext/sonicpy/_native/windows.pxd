"""Windows: who holds a word among 4,096 neighbouring objects, a bit each.

What two common words share is found 64 objects at a time, and so is who among them is short enough for a good score.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    WINDOW_BITS = 12
    WINDOW_OBJECTS = 1 << WINDOW_BITS
    WINDOW_WORDS = WINDOW_OBJECTS // 64
    WINDOW_POSTINGS = 128  # a word with as many postings in every window, on average, is kept as windows
    ROW_BYTES = WINDOW_OBJECTS // 8


cdef struct Holders:  # of a word, or of the words of a term, in one window
    uint64_t summary  # which words of `bits` are not 0
    uint64_t *bits
    uint64_t *twice  # holders of at least 2 occurrences
    uint64_t *thrice  # of at least 3


cdef inline void hold(Holders *holders, uint32_t iid, uint8_t tf) noexcept nogil:
    """Add a posting; those of several words add up."""
    cdef Py_ssize_t word = iid >> 6 & (WINDOW_WORDS - 1)
    cdef uint64_t bit = <uint64_t> 1 << (iid & 63)
    if holders.bits[word] & bit:
        if tf > 1 or holders.twice[word] & bit:
            holders.thrice[word] |= bit
        holders.twice[word] |= bit
        return
    holders.summary |= <uint64_t> 1 << word
    holders.bits[word] |= bit
    if tf > 1:
        holders.twice[word] |= bit
        if tf > 2:
            holders.thrice[word] |= bit


cdef inline void unite(Holders *holders, const Holders *others) noexcept nogil:
    """Add the postings of another word."""
    cdef Py_ssize_t word
    cdef uint64_t both
    for word in range(WINDOW_WORDS):
        both = holders.bits[word] & others.bits[word]
        holders.thrice[word] |= others.thrice[word] | (both & (holders.twice[word] | others.twice[word]))
        holders.twice[word] |= others.twice[word] | both
        holders.bits[word] |= others.bits[word]
    holders.summary |= others.summary


cdef extern from *:
    """
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif
    #include <stdint.h>
    /* Set a bit for each of 4,096 bytes that is at most `most`. */
    static inline void sonicpy_at_most(const uint8_t *bytes, uint8_t most, uint64_t *out) {
        for (int word = 0; word < 64; word++, bytes += 64) {
            uint64_t bits = 0;
    #if defined(__SSE2__)
            const __m128i limit = _mm_set1_epi8((char) most);
            for (int part = 0; part < 4; part++) {
                __m128i some = _mm_loadu_si128((const __m128i *) (bytes + 16 * part));
                bits |= (uint64_t) _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(some, limit), some)) << 16 * part;
            }
    #else
            for (int place = 0; place < 64; place++)
                bits |= (uint64_t) (bytes[place] <= most) << place;
    #endif
            out[word] = bits;
        }
    }
    #define highest_bit(bits) (63 - __builtin_clzll(bits))
    """
    void at_most "sonicpy_at_most"(const uint8_t *bytes, uint8_t most, uint64_t *out) noexcept nogil
    int highest_bit(uint64_t bits) noexcept nogil
