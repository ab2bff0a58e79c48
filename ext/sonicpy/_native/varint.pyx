"""Lists of numbers as varints (see `varint.pxd`), and the error of every module that decodes stored bytes."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t


class DamagedBytes(ValueError):
    """Stored bytes do not have the expected layout."""


def pack_varints(numbers) -> bytes:
    """Return numbers (0 to 2**64 - 1) as varints, one after the other."""
    cdef bytearray out = bytearray()
    cdef uint8_t room[10]
    cdef uint64_t number
    for number in numbers:
        out += PyBytes_FromStringAndSize(<char *> room, put_varint(room, number) - room)
    return bytes(out)


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
