"""The postings of a word, or of a family of words together, decoded.

Words that are too rare for windows are read posting by posting. Decoding their blocks, and putting those of a family
together, takes most of the time of such a query; so what was put together is kept beside the lists.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.memory cimport zeroed
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block

cdef enum:
    OBJECT_BYTES = 160  # of an object without postings, and its place in a dict


@cython.no_gc  # it refers to bytes, numbers and lists like it, which do not refer to it
cdef class MergedList:
    """Postings by rising IID."""

    def __dealloc__(self):
        free(self.held.starts)


cdef class TypedFrequencies:
    """How often the objects of a family hold the word that was typed."""

    def __dealloc__(self):
        free(self.tfs)


cdef MergedList merge(list postings, const PackedLengths *lengths):
    """Return the postings of some words together; None: some of their blocks were not read yet."""
    cdef StoredPostings one
    cdef Py_ssize_t number, room = 0, count, added
    cdef uint64_t *pairs
    cdef uint64_t *more
    cdef uint64_t *out
    if len(postings) > 1:
        postings = sorted(postings, key=df_of)  # the longest list is copied once
    for one in postings:  # from here on no other thread may let go of a block
        for number in range(one.block_count):
            if one.blocks[number].packed == NULL:
                return None
            room += one.blocks[number].count
    pairs = <uint64_t *> malloc((3 * room + 1) * sizeof(uint64_t))
    if pairs == NULL:
        raise MemoryError
    try:
        if len(postings) == 1:
            return list_of(pairs, put_all(postings[0], pairs), lengths)
        more, out = pairs + room, pairs + 2 * room
        count = 0
        for one in postings:
            added = put_all(one, more)
            if not count:
                memcpy(pairs, more, added * sizeof(uint64_t))
                count = added
            elif added:
                count = merge_two(pairs, count, more, added, out)
                memcpy(pairs, out, count * sizeof(uint64_t))
        return list_of(pairs, count, lengths)
    finally:
        free(pairs)


def df_of(StoredPostings one):
    return one.df


cdef Py_ssize_t put_all(StoredPostings one, uint64_t *out) noexcept nogil:
    """Write the postings of a word, IID and tf in one number each; return how many they are."""
    cdef OpenBlock block
    cdef Py_ssize_t number, count = 0
    cdef int place
    for number in range(one.block_count):
        decode_block(&one.blocks[number], &block)
        for place in range(block.count):
            out[count] = <uint64_t> block.iids[place] << 8 | block.tfs[place]
            count += 1
    return count


cdef Py_ssize_t merge_two(
    const uint64_t *one, Py_ssize_t one_count, const uint64_t *other, Py_ssize_t other_count, uint64_t *out
) noexcept nogil:
    """Merge two lists; frequencies in the same object add up. Return how many postings there are."""
    cdef Py_ssize_t left = 0, right = 0, count = 0
    cdef uint64_t a, b
    while left < one_count and right < other_count:
        a, b = one[left], other[right]
        if a >> 8 == b >> 8:
            out[count] = (a & ~<uint64_t> 255) | min((a & 255) + (b & 255), 255)
            left += 1
            right += 1
        elif a < b:
            out[count] = a
            left += 1
        else:
            out[count] = b
            right += 1
        count += 1
    memcpy(out + count, one + left, (one_count - left) * sizeof(uint64_t))
    count += one_count - left
    memcpy(out + count, other + right, (other_count - right) * sizeof(uint64_t))
    return count + other_count - right


cdef MergedList list_of(const uint64_t *pairs, Py_ssize_t count, const PackedLengths *lengths):
    cdef MergedList made = MergedList.__new__(MergedList)
    cdef Merged *held = &made.held
    cdef Py_ssize_t runs = (count >> RUN_BITS) + 1, at, part
    held.count = count
    held.parts = <Py_ssize_t> (pairs[count - 1] >> (8 + LOW_BITS)) + 1 if count else 0
    made.size_bytes = (held.parts + 1) * sizeof(uint32_t) + count * (sizeof(uint16_t) + 1) + 2 * runs
    held.starts = <uint32_t *> zeroed(made.size_bytes, 1)
    held.lows = <uint16_t *> (held.starts + held.parts + 1)
    held.tfs = <uint8_t *> (held.lows + count)
    held.shortest = held.tfs + count
    held.shortest_many = held.shortest + runs
    for at in range(count):
        held.starts[(pairs[at] >> (8 + LOW_BITS)) + 1] += 1
        held.lows[at] = <uint16_t> (pairs[at] >> 8)
        held.tfs[at] = <uint8_t> pairs[at]
    for part in range(held.parts):
        held.starts[part + 1] += held.starts[part]
    find_shortest(held, pairs, lengths)
    made.size_bytes += OBJECT_BYTES
    return made


cdef void find_shortest(Merged *held, const uint64_t *pairs, const PackedLengths *lengths) noexcept nogil:
    """Find the shortest object of each run."""
    cdef Py_ssize_t at, run
    cdef uint8_t packed
    cdef uint8_t *shortest
    for run in range((held.count >> RUN_BITS) + 1):
        held.shortest[run] = held.shortest_many[run] = 255
    for at in range(held.count):
        packed = packed_length(lengths, pairs[at] >> 8)
        shortest = held.shortest if held.tfs[at] == 1 else held.shortest_many
        if packed < shortest[at >> RUN_BITS]:
            shortest[at >> RUN_BITS] = packed


cdef TypedFrequencies typed_of(MergedList merged, object stored):
    """Return how often the objects of a family hold one of its words, whose blocks were read; kept with the list."""
    cdef StoredPostings word = stored
    cdef TypedFrequencies made
    cdef Merged *held = &merged.held
    cdef OpenBlock block
    cdef Py_ssize_t number, at = 0
    cdef int place
    if merged.typed is None:
        merged.typed = {}
    made = merged.typed.get(word.term_id)
    if made is not None:
        return made
    for number in range(word.block_count):
        if word.blocks[number].packed == NULL:
            return None
    made = TypedFrequencies.__new__(TypedFrequencies)
    made.tfs = <uint8_t *> zeroed(held.count, 1)
    for number in range(word.block_count):
        decode_block(&word.blocks[number], &block)
        for place in range(block.count):
            at = max(at, <Py_ssize_t> held.starts[block.iids[place] >> LOW_BITS])
            while held.lows[at] != <uint16_t> block.iids[place]:
                at += 1
            made.tfs[at] = block.tfs[place]
    made.size_bytes = OBJECT_BYTES + held.count
    merged.size_bytes += made.size_bytes
    merged.typed[word.term_id] = made
    return made
