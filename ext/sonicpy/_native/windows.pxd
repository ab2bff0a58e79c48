"""Windows: a bit for each of 4,096 neighbouring objects, 1 if the object holds a word.

So the objects that hold two words, or are short enough for a good score, are found 64 at a time.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.bits cimport lowest_bit

cdef enum:
    WINDOW_BITS = 12
    WINDOW_OBJECTS = 1 << WINDOW_BITS
    WINDOW_WORDS = WINDOW_OBJECTS // 64
    LARGE_WINDOWS = 256  # of a bucket: the windows of all words and limits in use would take too much memory
    WINDOW_POSTINGS = 128  # a word with as many postings in every window, on average, is kept as windows
    ROW_BYTES = WINDOW_OBJECTS // 8  # of bits


cdef struct Holders:  # of a word, or of the words of a term, in one window
    uint64_t summary  # which words of `bits` are not 0
    uint64_t *bits
    Py_ssize_t many  # how many hold it more than once
    uint16_t *places  # of these in the window, rising
    uint8_t *tfs  # how often each of these holds it
    uint8_t *lengths  # how long each of these is, packed


cdef inline uint8_t tf_of(const Holders *holders, uint32_t iid) noexcept nogil:
    """Return the frequency of the word in an object of the window; 0: the object does not hold the word."""
    cdef uint32_t place = iid & (WINDOW_OBJECTS - 1)
    cdef Py_ssize_t low = 0, count = holders.many, half
    if not holders.bits[place >> 6] >> (place & 63) & 1:
        return 0
    while count > 1:  # without a branch that depends on the data, which no processor could predict
        half = count >> 1
        low += half if holders.places[low + half] <= place else 0
        count -= half
    return holders.tfs[low] if count and holders.places[low] == place else 1


cdef struct Gathered:  # the holders of one window while they are put together; those of several words add up
    uint64_t summary
    uint64_t bits[WINDOW_WORDS]
    uint64_t many  # which words of `twice` are not 0
    uint64_t twice[WINDOW_WORDS]  # objects that hold it more than once
    uint8_t tfs[WINDOW_OBJECTS]  # the frequency in each of these


cdef inline void clear(Gathered *held) noexcept nogil:
    held.summary = held.many = 0
    memset(held.bits, 0, ROW_BYTES)
    memset(held.twice, 0, ROW_BYTES)


cdef inline void gather(Gathered *held, uint32_t iid, uint8_t tf) noexcept nogil:
    """Add a posting."""
    cdef Py_ssize_t place = iid & (WINDOW_OBJECTS - 1), word = place >> 6
    cdef uint64_t bit = <uint64_t> 1 << (place & 63)
    if held.bits[word] & bit:
        held.tfs[place] = <uint8_t> min(255, tf + (held.tfs[place] if held.twice[word] & bit else 1))
    elif tf == 1:
        held.summary |= <uint64_t> 1 << word
        held.bits[word] |= bit
        return
    else:
        held.summary |= <uint64_t> 1 << word
        held.bits[word] |= bit
        held.tfs[place] = tf
    held.many |= <uint64_t> 1 << word
    held.twice[word] |= bit


cdef inline void gather_all(Gathered *held, const Holders *others, uint32_t first) noexcept nogil:
    """Add the postings of a cached window of another word, which begins with object `first`."""
    cdef Py_ssize_t word, at
    cdef uint64_t left, both
    for at in range(others.many):  # one of these is in `bits`, too: the loop below does not see it as new
        gather(held, first + others.places[at], others.tfs[at])
    for word in range(WINDOW_WORDS):
        left = others.bits[word]
        both = held.bits[word] & left
        held.bits[word] |= left
        while both:
            at = word << 6 | lowest_bit(both)
            both &= both - 1
            if tf_of(others, <uint32_t> at) == 1:
                held.tfs[at] = <uint8_t> min(255, 1 + (held.tfs[at] if held.twice[word] >> (at & 63) & 1 else 1))
                held.twice[word] |= <uint64_t> 1 << (at & 63)
                held.many |= <uint64_t> 1 << word
    held.summary |= others.summary


cdef inline Py_ssize_t list_many(const Gathered *held, uint16_t *places, uint8_t *tfs) noexcept nogil:
    """Write the objects that hold the word more than once, and how often; return their number.

    Args:
        places, tfs: room for WINDOW_OBJECTS numbers each.
    """
    cdef uint64_t words = held.many, left
    cdef Py_ssize_t count = 0, word, place
    while words:
        word = lowest_bit(words)
        words &= words - 1
        left = held.twice[word]
        while left:
            place = word << 6 | lowest_bit(left)
            left &= left - 1
            places[count] = <uint16_t> place
            tfs[count] = held.tfs[place]
            count += 1
    return count


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
    /* Return the smallest of 4,096 bytes whose bits are set; 255: no bit is set. */
    static inline uint8_t sonicpy_least(const uint8_t *bytes, const uint64_t *bits) {
    #if defined(__SSE2__)
        const __m128i places = _mm_set1_epi64x((long long) 0x8040201008040201), none = _mm_setzero_si128();
        __m128i found = _mm_set1_epi8((char) 255);
        for (int word = 0; word < 64; word++) {
            const uint8_t *some = bytes + 64 * word;
            for (uint64_t left = bits[word]; left; left >>= 16, some += 16) {
                __m128i set = _mm_cvtsi32_si128((int) (left & 0xFFFF));
                set = _mm_unpacklo_epi8(set, set);
                set = _mm_shufflelo_epi16(set, 0x50);
                set = _mm_unpacklo_epi32(set, set);  /* eight times the first byte, eight times the second one */
                set = _mm_cmpeq_epi8(_mm_and_si128(set, places), none);  /* 255 where the bit is not set */
                found = _mm_min_epu8(found, _mm_or_si128(_mm_loadu_si128((const __m128i *) some), set));
            }
        }
        found = _mm_min_epu8(found, _mm_srli_si128(found, 8));
        found = _mm_min_epu8(found, _mm_srli_si128(found, 4));
        found = _mm_min_epu8(found, _mm_srli_si128(found, 2));
        found = _mm_min_epu8(found, _mm_srli_si128(found, 1));
        return (uint8_t) _mm_cvtsi128_si32(found);
    #else
        uint8_t least = 255;
        for (int word = 0; word < 64; word++)
            for (uint64_t left = bits[word]; left; left &= left - 1)
                if (bytes[64 * word + __builtin_ctzll(left)] < least)
                    least = bytes[64 * word + __builtin_ctzll(left)];
        return least;
    #endif
    }
    #define highest_bit(bits) (63 - __builtin_clzll(bits))
    """
    uint8_t least_of "sonicpy_least"(const uint8_t *bytes, const uint64_t *bits) noexcept nogil
    void at_most "sonicpy_at_most"(const uint8_t *bytes, uint8_t most, uint64_t *out) noexcept nogil
    int highest_bit(uint64_t bits) noexcept nogil


cdef inline void intersect(const uint64_t *one, const uint64_t *other, uint64_t *out) noexcept nogil:
    """Write the bits that are set in both rows."""
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        out[word] = one[word] & other[word]


cdef inline void intersect_two(
    const uint64_t *one, const uint64_t *other, const uint64_t *third, const uint64_t *fourth, uint64_t *out
) noexcept nogil:
    """Write the bits that are set in both of the first two rows, or in both of the other two."""
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        out[word] = (one[word] & other[word]) | (third[word] & fourth[word])


cdef inline Py_ssize_t count_up_to_few(const uint64_t *bits, uint64_t *summary) noexcept nogil:
    """Find the words that are not 0; return the number of set bits, or a lower number if there are many."""
    cdef Py_ssize_t word, count = 0
    cdef uint64_t some = 0
    summary[0] = 0
    for word in range(WINDOW_WORDS):
        some |= bits[word]
    if not some:
        return 0
    for word in range(WINDOW_WORDS):
        if bits[word]:
            summary[0] |= <uint64_t> 1 << word
            count += 1 + (bits[word] & (bits[word] - 1) != 0)
    return count
