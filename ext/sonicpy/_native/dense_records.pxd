"""Dense rows of records, for native code that reads or changes rows."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.bit_stream cimport BitReader, BitWriter
from sonicpy._native.record_item cimport OID_BYTES_MAX, PLACES, Item

cdef enum:
    FULL = 0xFE
    PARTLY = 0xFF
    ALL_PLACES = 0xFFFF
    HEAD_BYTES = 3
    COUNT_K = 3
    K_MIN = 4
    K_LESS = 2
    REST_BYTES_MAX = 4096  # of a record in a dense row
    TERM_BITS_MIN = 5  # of a term in a dense row
    TERM_BYTES_MAX = 20  # of a term in a dense row: golomb takes at most 78 bits, its mark 12 and 1 and 64
    NAMES_BYTES_MAX = HEAD_BYTES + PLACES * (3 + OID_BYTES_MAX)
    PLAIN_TERM_BYTES_MAX = 14  # of a term in a plain one

cdef struct Rest:  # of a plain record, behind its OID
    const uint8_t *at
    uint64_t size


cdef struct Term:
    uint64_t term_id
    uint32_t tf
    bint hidden


cdef struct Names:  # reads the OIDs of a row; `next_name` goes on to the first one, and to each next one
    const uint8_t *at
    const uint8_t *end
    int places  # that follow, as bits
    int place
    int more  # OIDs that follow in the run
    uint8_t shared  # bytes of the OID before
    uint8_t oid_size
    uint8_t oid[OID_BYTES_MAX + 1]


cdef struct NameWriter:
    uint8_t *out
    uint8_t *more  # how many OIDs follow in the run; NULL: there is no run yet
    int oid_size  # of the OID before
    uint8_t oid[OID_BYTES_MAX]
    uint8_t next[OID_BYTES_MAX]  # the OID that counts up; `has_next`: there is such a one
    bint has_next


cpdef bytes dense_row(bytes row)
cdef bytes plain_row(bytes row)
cdef bytes dense_record(bytes row, int place)
cdef bytes dense_names(bytes row)
cdef object damaged()
cdef int put_places(uint8_t *out, int places) noexcept nogil
cdef int begin_names(Names *names, bytes row) except -1
cdef bint next_name(Names *names) except -1
cdef void begin_writing(NameWriter *names, uint8_t *out) noexcept nogil
cdef void put_name(NameWriter *names, const Item *item) noexcept nogil
cdef bint put_terms(BitWriter *bits, const Rest *rest, Term *terms) noexcept nogil
cdef int begin_terms(bytes row, BitReader *bits, uint64_t *most) except -1
cdef bint skip_terms(BitReader *bits) noexcept nogil
cdef int64_t take_ids(BitReader *bits, uint64_t *ids) noexcept nogil


cdef inline bint is_dense_row(bytes row) noexcept:
    """Return whether a row is dense; other rows begin with a place, below 16, or are empty."""
    return len(row) > 0 and (<const uint8_t *> <const char *> row)[0] >= 0xFE
