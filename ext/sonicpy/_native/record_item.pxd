"""One record of a row, in the form in which code for plain and for dense rows passes it on."""

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    PLACES = 16
    OID_BYTES_MAX = 255

cdef struct Item:
    uint8_t place
    uint8_t oid_size
    uint8_t oid[OID_BYTES_MAX]
    const uint8_t *rest
    uint64_t rest_size
