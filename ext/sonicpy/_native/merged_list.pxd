"""The decoded postings of a word, or of a family of words together, cached for later queries; for other native code."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths

cdef enum:
    LOW_BITS = 16  # of an IID; postings with the same higher bits are a part
    RUN_BITS = 6  # a run is 64 neighbouring postings


cdef struct Merged:
    Py_ssize_t count
    Py_ssize_t parts  # of the list, by the higher bits of the IIDs
    uint32_t *starts  # the number of postings before each part; behind the last one, `count`
    uint16_t *lows  # the lower bits of the IIDs; rising in each part
    uint8_t *tfs  # how often an object holds the words together, at most 255
    uint8_t *shortest  # of each run: the shortest packed length of objects that hold the words once
    uint8_t *shortest_many  # of each run: the shortest one of objects that hold them more often


cdef class MergedList:
    cdef Merged held
    cdef uint64_t postings  # of all words that were put together
    cdef dict typed  # TypedFrequencies of the words of a family that were typed, by term id
    cdef dict older  # those of the list with which this one begins; None: no such list, or no such words
    cdef Py_ssize_t older_count  # its postings
    cdef readonly Py_ssize_t size_bytes


cdef class TypedFrequencies:
    cdef uint8_t *tfs  # how often the object of each posting of the family holds the typed word
    cdef readonly Py_ssize_t size_bytes


cdef MergedList merge(list postings, const PackedLengths *lengths, MergedList before)
cdef TypedFrequencies typed_of(MergedList merged, object stored)


cdef inline Py_ssize_t count_up_to(const Merged *merged, uint32_t iid, Py_ssize_t end) noexcept nogil:
    """Return the number of postings for objects up to `iid` among the first `end`, galloping down from the end."""
    cdef Py_ssize_t part = iid >> LOW_BITS, low, first, count, half, step = 1
    cdef uint16_t wanted = <uint16_t> iid
    if part >= merged.parts:
        return end
    first = merged.starts[part]
    end = min(end, <Py_ssize_t> merged.starts[part + 1])
    if end <= first:
        return min(end, first)
    low = end - 1
    while low >= first and merged.lows[low] > wanted:
        end = low
        low -= step
        step *= 2
    low = max(low + 1, first)
    count = end - low
    while count > 1:  # without a branch, as in `tf_of`
        half = count >> 1
        low += half if merged.lows[low + half - 1] <= wanted else 0
        count -= half
    return low + 1 if count > 0 and merged.lows[low] <= wanted else low


cdef inline int find_tf(const Merged *merged, uint32_t iid, Py_ssize_t *end) noexcept nogil:
    """Return the frequency of the words in an object, at most 255; 0: the object holds none of them.

    Args:
        end: an upper bound of the number of postings for objects up to `iid`; it is set to this number, so that a found
            posting is the last one before `end`.
    """
    end[0] = count_up_to(merged, iid, end[0])
    if iid >> LOW_BITS >= <uint32_t> merged.parts or end[0] <= <Py_ssize_t> merged.starts[iid >> LOW_BITS]:
        return 0
    return merged.tfs[end[0] - 1] if merged.lows[end[0] - 1] == <uint16_t> iid else 0


cdef inline Py_ssize_t part_at(const Merged *merged, Py_ssize_t at, Py_ssize_t part) noexcept nogil:
    """Return the number of the part that contains the posting `at`; it is at most `part`."""
    while at < <Py_ssize_t> merged.starts[part]:
        part -= 1
    return part
