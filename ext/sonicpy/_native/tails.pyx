"""Changes the tail of a word in place: only the posting of the object and the next one are coded anew.

postings.pyx describes a block; a tail in the cache is never dense.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from sonicpy._native.postings cimport put_posting, take_posting
from sonicpy._native.cached_rows cimport Entry
from sonicpy._native.term_cache cimport make_room

from sonicpy._native.varint import DamagedBytes

cdef enum:
    POSTING_BYTES = 20  # at most


cdef struct Place:  # of a posting in a tail
    uint64_t before, iid  # of the posting before, or 0, and of this one
    uint32_t start, end  # bytes of the tail


cdef int put_in_tail(Entry *entry, uint64_t iid, uint32_t tf, bint is_held) except -1:
    """Give the posting of an object another tf, or put a new one in front of the first one of a later object.

    Args:
        is_held: whether the tail holds the object; else it is not full, and holds a later one.

    Raises:
        DamagedBytes: it does not.
    """
    cdef Place place
    cdef uint8_t[POSTING_BYTES] given
    if not find(entry, iid, is_held, &place):
        raise missing(iid)
    if not is_held:
        entry.tail[0] += 1
        place.end, place.iid = place.start, place.before
    replace(entry, &place, given, put_posting(given, place.before, iid, tf) - given, iid)
    return 0


cdef int cut_from_tail(Entry *entry, uint64_t iid) except -1:
    """Remove the posting of an object. Raises DamagedBytes if the tail does not hold it."""
    cdef Place place
    if not find(entry, iid, True, &place):
        raise missing(iid)
    entry.tail[0] -= 1
    if entry.tail[0] == 0:
        entry.tail_size = 0
        return 0
    replace(entry, &place, NULL, 0, place.before)
    return 0


cdef bint find(const Entry *entry, uint64_t iid, bint is_held, Place *place) noexcept nogil:
    """Find the posting of an object, or, if it is not held, the first one of a later object; return False if there is
    none."""
    cdef const uint8_t *at = entry.tail + 1
    cdef const uint8_t *end = entry.tail + entry.tail_size
    cdef const uint8_t *start
    cdef uint64_t now = 0, before, tf = 0
    if not entry.tail_size:
        return False
    while at < end:
        start, before = at, now
        if take_posting(&at, end, &now, &tf) < 0:
            return False
        if now == iid or (now > iid and not is_held):
            place.before, place.iid = before, now
            place.start, place.end = <uint32_t> (start - entry.tail), <uint32_t> (at - entry.tail)
            return True
    return False


cdef int replace(
    Entry *entry, const Place *place, const uint8_t *given, Py_ssize_t size, uint64_t last
) except -1:
    """Put the `size` bytes of `given` into the place of a posting, and code the next posting as the one behind the IID
    `last`."""
    cdef uint8_t[2 * POSTING_BYTES] room
    cdef uint8_t *out = room + size
    cdef const uint8_t *at = entry.tail + place.end
    cdef const uint8_t *end = entry.tail + entry.tail_size
    cdef uint64_t iid = place.iid, tf = 0
    cdef uint32_t behind, changed_size
    if size:
        memcpy(room, given, size)
    if at == end:
        entry.last_iid = last
    elif take_posting(&at, end, &iid, &tf) == 0:
        out = put_posting(out, last, iid, <uint32_t> tf)
    behind = <uint32_t> (at - entry.tail)
    changed_size = place.start + <uint32_t> (out - room) + entry.tail_size - behind
    if changed_size > entry.tail_room:
        make_room(entry, changed_size)
    memmove(entry.tail + place.start + (out - room), entry.tail + behind, entry.tail_size - behind)
    memcpy(entry.tail + place.start, room, out - room)
    entry.tail_size = changed_size
    return 0


cdef object missing(uint64_t iid):
    return DamagedBytes(f"object {iid} is not in the block of postings that it belongs to")
