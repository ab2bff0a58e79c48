"""The values of a column, for native code."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    /* Set a bit for each of 4,096 numbers from `low` on, and not above it by more than `span`. */
    #if defined(__SSE2__)
    #include <emmintrin.h>
    static inline void sonicpy_within(const uint32_t *numbers, uint32_t low, uint32_t span, uint64_t *out) {
        /* Comparisons have signs: numbers are moved by 2^31. */
        const __m128i first = _mm_set1_epi32((int) (low + 0x80000000u));
        const __m128i most = _mm_set1_epi32((int) (span + 0x80000000u));
        const __m128i *at = (const __m128i *) numbers;
        #define SONICPY_ABOVE(at) _mm_cmpgt_epi32(_mm_sub_epi32(_mm_loadu_si128(at), first), most)
        #define SONICPY_EIGHT(at) _mm_packs_epi32(SONICPY_ABOVE(at), SONICPY_ABOVE((at) + 1))
        for (int word = 0; word < 64; word++) {
            uint64_t above = 0;
            for (int part = 0; part < 64; part += 16, at += 4)
                above |= (uint64_t) _mm_movemask_epi8(_mm_packs_epi16(SONICPY_EIGHT(at), SONICPY_EIGHT(at + 2))) << part;
            out[word] = ~above;
        }
    }
    #else
    static inline void sonicpy_within(const uint32_t *numbers, uint32_t low, uint32_t span, uint64_t *out) {
        for (int word = 0; word < 64; word++, numbers += 64) {
            uint8_t some[64];
            uint64_t bits = 0;
            for (int place = 0; place < 64; place++)
                some[place] = (uint32_t) (numbers[place] - low) <= span;
            for (int part = 0; part < 8; part++) {
                uint64_t eight;
                __builtin_memcpy(&eight, some + 8 * part, 8);
                bits |= (eight * 0x0102040810204080ull >> 56) << 8 * part;
            }
            out[word] = bits;
        }
    }
    #endif
    """
    void within "sonicpy_within"(const uint32_t *numbers, uint32_t low, uint32_t span, uint64_t *out) noexcept nogil

cdef enum:
    COLUMN_BITS = 7
    COLUMN_PLACES = 1 << COLUMN_BITS  # objects that share a row of `columns`
    ROWS_PER_WINDOW = 32


cdef struct ColumnHead:  # of a row
    int count  # of values
    int width  # bits of a packed difference
    uint64_t step
    int64_t lowest
    uint64_t most  # the largest packed difference
    uint64_t places[2]  # objects with a value, as bits
    const uint8_t *packed  # the differences
    Py_ssize_t size  # bytes of them


cdef class ColumnWindow:
    cdef readonly int64_t lowest
    cdef readonly int64_t highest
    cdef readonly int count
    cdef uint64_t bits[64]
    cdef uint32_t *narrow
    cdef int64_t *wide
    cdef list _rows  # None: decoded
    cdef Py_ssize_t _size_bytes

    cdef int decode_all(self) except -1
    cdef bint mark(self, int64_t low, int64_t high, uint64_t *bits) noexcept nogil

    cdef inline int decode(self) except -1:
        """Decode the values into `bits`, and `narrow` or `wide`, unless that was done before."""
        return 0 if self._rows is None else self.decode_all()

    cdef inline bint has(self, int place) noexcept nogil:
        return self.bits[place >> 6] >> (place & 63) & 1

    cdef inline int64_t at(self, int place) noexcept nogil:
        """Return the value of an object that has one; `decode` must have been called."""
        if self.narrow != NULL:
            return <int64_t> (<uint64_t> self.lowest + self.narrow[place])
        return self.wide[place]


cdef int read_head(const uint8_t *row, Py_ssize_t size, ColumnHead *head) except -1
