"""Lists of numbers as varints (see `varint.pxd`), and the error of every module that decodes stored bytes."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc


class DamagedBytes(ValueError):
    """Stored bytes do not have the expected layout."""


def pack_varints(numbers) -> bytes:
    """Return numbers (0 to 2**64 - 1) as varints, one after the other."""
    cdef list given = list(numbers)
    cdef uint8_t *room = <uint8_t *> malloc(10 * len(given) + 1)
    cdef uint8_t *out = room
    cdef uint64_t number
    if room == NULL:
        raise MemoryError
    try:
        for number in given:
            out = put_varint(out, number)
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)


def unpack_varints(bytes packed) -> list:
    """Return the numbers that `pack_varints` packed.

    Raises:
        DamagedBytes: the last number is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> packed
    cdef const uint8_t *end = at + len(packed)
    cdef uint64_t number = 0
    cdef list out = []
    while at < end:
        if get_varint(&at, end, &number) < 0:
            raise DamagedBytes("a list of numbers is cut off")
        out.append(number)
    return out
