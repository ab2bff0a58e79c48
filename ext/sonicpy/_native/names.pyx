"""Rows of `oids`: which objects have an OID of this hash. An entry is a hash of 40 bits and an IID.

    row     per entry, by rising hash, then IID: v(hash - hash before), v(IID)

Which hashes stand in which row is told by linear hashing on the first bits (Litwin, "Linear hashing: a new tool for file
and table addressing", 1980): with S slices and 2^b <= S < 2^(b+1), the first S - 2^b of the slices of b bits are split
in two. A slice is named by the smallest hash in it, so the rows of a bucket sort as hashes do.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.postings import DamagedBytes

cdef enum:
    HASH_BITS = 40

NAME_HASH_BITS = HASH_BITS


cdef uint64_t start_of(uint64_t hash, uint64_t slices) noexcept nogil:
    cdef int bits = 0
    cdef uint64_t number
    while (<uint64_t> 2 << bits) <= slices:
        bits += 1
    number = hash >> (HASH_BITS - bits)
    if number < slices - (<uint64_t> 1 << bits):
        bits += 1
        number = hash >> (HASH_BITS - bits)
    return number << (HASH_BITS - bits)


def slice_start(uint64_t hash, uint64_t slices) -> int:
    """Return the smallest hash of the slice that a hash belongs to; there is at least one slice."""
    return start_of(hash, slices)


def slice_to_split(uint64_t slices) -> tuple:
    """Return the smallest hash of the slice that is split next, and the smallest one of its upper half."""
    cdef int bits = 0
    cdef uint64_t number
    while (<uint64_t> 2 << bits) <= slices:
        bits += 1
    number = slices - (<uint64_t> 1 << bits)
    return number << (HASH_BITS - bits), ((number << 1) + 1) << (HASH_BITS - bits - 1)


def by_slice(list entries not None, uint64_t slices) -> list:
    """Return (smallest hash of the slice, its entries) of all slices that some (hash, IID) entries belong to.

    Args:
        entries: by rising hash.
        slices: how many there are, at least one.
    """
    cdef list found = [], some = None
    cdef uint64_t start = 0, slice_of
    cdef tuple entry
    for entry in entries:
        slice_of = start_of(entry[0], slices)
        if some is None or slice_of != start:
            start = slice_of
            some = []
            found.append((start, some))
        some.append(entry)
    return found


def unpack_names(bytes row not None) -> list:
    """Return the (hash, IID) entries of a row, in their order.

    Raises:
        DamagedBytes: it is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t hash = 0, iid = 0
    cdef list entries = []
    while take_entry(&at, end, &hash, &iid):
        entries.append((hash, iid))
    return entries


def merge_names(bytes row not None, list entries not None) -> bytes:
    """Return a row with more (hash, IID) entries, which rise; those that are there already stay once.

    Raises:
        DamagedBytes: the row is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef Py_ssize_t number = 0, count = len(entries)
    cdef uint64_t held_hash = 0, held_iid = 0, hash = 0, iid = 0, before = 0
    cdef bint has_held, has_new
    cdef uint8_t *room = <uint8_t *> malloc(len(row) + 20 * (count + 1))
    cdef uint8_t *out = room
    if room == NULL:
        raise MemoryError
    try:
        has_held = take_entry(&at, end, &held_hash, &held_iid)
        has_new = count > 0
        if has_new:
            hash, iid = entries[0]
        while has_held or has_new:
            if has_held and (not has_new or held_hash < hash or (held_hash == hash and held_iid <= iid)):
                out = put_varint(put_varint(out, held_hash - before), held_iid)
                before = held_hash
                if has_new and held_hash == hash and held_iid == iid:
                    number += 1
                    has_new = number < count
                    if has_new:
                        hash, iid = entries[number]
                has_held = take_entry(&at, end, &held_hash, &held_iid)
            else:
                out = put_varint(put_varint(out, hash - before), iid)
                before = hash
                number += 1
                has_new = number < count
                if has_new:
                    hash, iid = entries[number]
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)


cdef bint take_entry(const uint8_t **at, const uint8_t *end, uint64_t *hash, uint64_t *iid) except -1:
    """Read the entry behind the one with this hash; return whether there is one."""
    cdef uint64_t found = 0
    if at[0] == end:
        return False
    if get_varint(at, end, &found) < 0 or get_varint(at, end, iid) < 0:
        raise DamagedBytes("a row of names is cut off")
    hash[0] += found
    return True


def pack_names(list entries not None) -> bytes:
    """Return the row of (hash, IID) entries, which rise."""
    cdef bytearray out = bytearray()
    cdef uint8_t room[20]
    cdef uint64_t before = 0, hash, iid
    for hash, iid in entries:
        out += PyBytes_FromStringAndSize(<char *> room, put_varint(put_varint(room, hash - before), iid) - room)
        before = hash
    return bytes(out)


def named(bytes row not None, uint64_t hash) -> list:
    """Return the IIDs of the objects whose OID has this hash.

    Raises:
        DamagedBytes: the row is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t current = 0, iid = 0
    cdef list iids = []
    while current <= hash and take_entry(&at, end, &current, &iid):
        if current == hash:
            iids.append(iid)
    return iids
