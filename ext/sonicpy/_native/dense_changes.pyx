"""Replaces or removes one record of a dense row (dense_records.pyx).

The bits of the other records stay as they are: they are skipped, but neither unpacked nor packed again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from sonicpy._native.bit_stream cimport (
    BITS_MAX,
    SPARE_BYTES,
    BitReader,
    BitWriter,
    begin_bits,
    end_bits,
    is_at_end,
    low_bits,
    peek,
    put_bits,
)
from sonicpy._native.dense_records cimport (
    HEAD_BYTES,
    NAMES_BYTES_MAX,
    REST_BYTES_MAX,
    TERM_BYTES_MAX,
    Names,
    NameWriter,
    Rest,
    Term,
    begin_names,
    begin_writing,
    damaged,
    is_dense_row,
    next_name,
    put_name,
    put_places,
    put_terms,
    skip_terms,
)
from sonicpy._native.record_item cimport PLACES, Item


cpdef bytes changed_row(bytes row, int place, bytes record):
    """Return a dense row in which the record at `place` is replaced or removed; empty if no record is left.

    The result equals the `dense_row` of the plain row, but only the terms of this record are written anew. None:
    the row is not dense, has no record with this OID at the place, or could not be dense afterwards.

    Args:
        record: the new record, in the form of `objects.pyx`; None: remove the record.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef Names names
    cdef BitReader bits
    cdef Rest rest
    cdef Py_ssize_t size = 0 if record is None else PyBytes_GET_SIZE(record)
    cdef uint64_t begins = 0, ends = 0
    cdef int count = 0, found = -1, step
    cdef const uint8_t *given = NULL
    if row is None:
        raise TypeError("a row is bytes")
    if record is not None:
        given = <const uint8_t *> PyBytes_AS_STRING(record)
    if not is_dense_row(row):
        return None
    begin_names(&names, row)
    if record is None and 0 <= place < PLACES and names.places >> place & 1:
        return row_without(row, <uint32_t> 1 << place)
    while next_name(&names):
        if names.place == place:
            found = count
            if record is None or size < 2 + names.oid_size or given[0] != names.oid_size:
                return None
            if memcmp(given + 1, names.oid, names.oid_size):
                return None
            rest = Rest(given + 1 + given[0], size - 1 - given[0])
        count += 1
    if found < 0 or rest.size > REST_BYTES_MAX:
        return None
    bits.start, bits.size, bits.at = names.at, names.end - names.at, 0
    for step in range(count):
        if step == found:
            begins = bits.at
        if not skip_terms(&bits):
            raise damaged()
        if step == found:
            ends = bits.at
    if not is_at_end(&bits):
        raise damaged()
    return row_with(row, bits, begins, ends, &rest)


cdef bytes row_with(bytes row, BitReader bits, uint64_t begins, uint64_t ends, const Rest *rest):
    """Return a row in which a plain record replaces the bits from `begins` to `ends`; None: its terms cannot be in a
    dense row.

    Args:
        bits: the bits of all records of the row, read up to the end of the last record.
    """
    cdef Py_ssize_t head = bits.start - <const uint8_t *> PyBytes_AS_STRING(row)
    cdef Term *terms = <Term *> malloc(
        rest.size * sizeof(Term) + head + bits.size + rest.size * TERM_BYTES_MAX + 16 + SPARE_BYTES
    )
    cdef uint8_t *packed = <uint8_t *> (terms + rest.size)
    cdef BitWriter out
    if terms == NULL:
        raise MemoryError
    try:
        memcpy(packed, PyBytes_AS_STRING(row), head)
        begin_bits(&out, packed + head)
        copy_bits(&out, &bits, 0, begins)
        if not put_terms(&out, rest, terms):
            return None
        copy_bits(&out, &bits, ends, bits.at)
        return PyBytes_FromStringAndSize(<char *> packed, end_bits(&out) - packed)
    finally:
        free(terms)


cdef bytes row_without(bytes row, uint32_t gone):
    """Return a dense row without the records at places, given as bits; empty if no record is left. Raises
    DamagedBytes."""
    cdef uint8_t room[NAMES_BYTES_MAX]
    cdef uint64_t begins[PLACES + 1]
    cdef uint8_t kept[PLACES]
    cdef uint8_t *packed
    cdef Names names
    cdef NameWriter writer
    cdef BitReader bits
    cdef BitWriter out
    cdef Item item
    cdef int places = 0, first, step, count = 0
    cdef Py_ssize_t size
    begin_names(&names, row)
    begin_writing(&writer, room + HEAD_BYTES)
    while next_name(&names):
        kept[count] = not gone >> names.place & 1
        if kept[count]:
            places |= 1 << names.place
            item.oid_size = names.oid_size
            memcpy(item.oid, names.oid, names.oid_size)
            put_name(&writer, &item)
        count += 1
    bits.start, bits.size, bits.at = names.at, names.end - names.at, 0
    for step in range(count):
        begins[step] = bits.at
        if not skip_terms(&bits):
            raise damaged()
    begins[count] = bits.at
    if not is_at_end(&bits):
        raise damaged()
    if not places:
        return b""
    first = put_places(room, places)
    size = writer.out - room - first
    packed = <uint8_t *> malloc(size + bits.size + SPARE_BYTES)
    if packed == NULL:
        raise MemoryError
    try:
        memcpy(packed, room + first, size)
        begin_bits(&out, packed + size)
        for step in range(count):
            if kept[step]:
                copy_bits(&out, &bits, begins[step], begins[step + 1])
        return PyBytes_FromStringAndSize(<char *> packed, end_bits(&out) - packed)
    finally:
        free(packed)


cdef void copy_bits(BitWriter *out, const BitReader *bits, uint64_t at, uint64_t until) noexcept nogil:
    """Write the bits from the place `at` up to the place `until`, exclusive."""
    cdef int count
    while at < until:
        count = <int> min(<uint64_t> BITS_MAX, until - at)
        put_bits(out, peek(bits, at) & low_bits(count), count)
        at += count
