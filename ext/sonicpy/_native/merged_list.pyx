"""The decoded postings of a word, or of a family of words together.

Words that are too rare for windows are read posting by posting. Decoding their blocks, and merging the lists of a
family, takes most of the time of a query with such words; so merged lists are cached beside the lists.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cimport cython

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.memory cimport zeroed
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block

cdef enum:
    OBJECT_BYTES = 160  # of an object without postings, and its place in a dict


@cython.no_gc  # it refers to bytes, numbers and lists like it, which do not refer to it
cdef class MergedList:
    """A merged list: postings by rising IID."""

    def __dealloc__(self):
        free(self.held.starts)


cdef class TypedFrequencies:
    """The frequency of the typed word in each object of the merged list of its family."""

    def __dealloc__(self):
        free(self.tfs)


cdef MergedList merge(list postings, const PackedLengths *lengths, MergedList before):
    """Return the merged postings of words; None: some of the blocks needed were not read yet.

    Args:
        before: the merged postings of these words before new objects were added; those of older objects have not
            changed. None: no such list is cached.
    """
    cdef StoredPostings one
    cdef Py_ssize_t number, room = 0, count = 0, added
    cdef int64_t last = -1 if before is None else iid_of_last(&before.held, before.held.count)
    cdef uint64_t *pairs
    cdef uint64_t *more
    cdef uint64_t *out
    if len(postings) > 1:
        postings = sorted(postings, key=df_of)  # the longest list is copied once
    for one in postings:  # from here on no other thread may let go of a block
        for number in range(first_block_behind(one, last), one.block_count):
            if one.blocks[number].packed == NULL:
                return None
            room += one.blocks[number].count
    pairs = <uint64_t *> malloc((3 * room + 1) * sizeof(uint64_t))
    if pairs == NULL:
        raise MemoryError
    try:
        more, out = pairs + room, pairs + 2 * room
        for one in postings:
            if not count:
                count = put_behind(one, last, pairs)
                continue
            added = put_behind(one, last, more)
            if added:
                count = merge_two(pairs, count, more, added, out)
                memcpy(pairs, out, count * sizeof(uint64_t))
        return list_of(pairs, count, lengths, before)
    finally:
        free(pairs)


def df_of(StoredPostings one):
    return one.df


cdef Py_ssize_t merge_two(
    const uint64_t *one, Py_ssize_t one_count, const uint64_t *other, Py_ssize_t other_count, uint64_t *out
) noexcept nogil:
    """Merge two lists by rising IID, as `put_behind` writes them; frequencies in one object add up, to at most 255.

    Args:
        out: room for the postings of both lists.

    Returns:
        The number of postings in `out`.
    """
    cdef Py_ssize_t left = 0, right = 0, count = 0
    cdef uint64_t a, b
    cdef bint is_left
    while left < one_count and right < other_count:
        a, b = one[left], other[right]
        if a >> 8 == b >> 8:
            out[count] = (a & ~<uint64_t> 255) | min((a & 255) + (b & 255), 255)
            left += 1
            right += 1
        else:  # without a branch that depends on the data, which no processor could predict
            is_left = a < b
            out[count] = a if is_left else b
            left += is_left
            right += not is_left
        count += 1
    memcpy(out + count, one + left, (one_count - left) * sizeof(uint64_t))
    count += one_count - left
    memcpy(out + count, other + right, (other_count - right) * sizeof(uint64_t))
    return count + other_count - right


cdef int64_t iid_of_last(const Merged *held, Py_ssize_t count) noexcept nogil:
    """Return the IID of the last of the first `count` postings; -1: `count` is 0."""
    if not count:
        return -1
    return <int64_t> part_at(held, count - 1, held.parts - 1) << LOW_BITS | held.lows[count - 1]


cdef Py_ssize_t first_block_behind(StoredPostings one, int64_t last) noexcept nogil:
    """Return the number of the first block that may hold postings of objects behind `last`."""
    cdef Py_ssize_t number = one.block_count
    while number and <int64_t> one.blocks[number - 1].lower > last:
        number -= 1
    return max(number - 1, 0)


cdef Py_ssize_t put_behind(StoredPostings one, int64_t last, uint64_t *out) noexcept nogil:
    """Write the postings of objects behind `last`, each as IID << 8 | tf; return their number. Their blocks must have
    been read."""
    cdef OpenBlock block
    cdef Py_ssize_t number, count = 0
    cdef int place
    for number in range(first_block_behind(one, last), one.block_count):
        decode_block(&one.blocks[number], &block)
        for place in range(block.count):
            if <int64_t> block.iids[place] > last:
                out[count] = <uint64_t> block.iids[place] << 8 | block.tfs[place]
                count += 1
    return count


cdef MergedList list_of(const uint64_t *pairs, Py_ssize_t added, const PackedLengths *lengths, MergedList before):
    """Return a merged list with the postings of an older one, and `added` others behind them.

    Args:
        pairs: the added postings by rising IID, as `put_behind` writes them.
        before: the older list; None: there is none.
    """
    cdef MergedList made = MergedList.__new__(MergedList)
    cdef Merged *held = &made.held
    cdef const Merged *old = NULL if before is None else &before.held
    cdef Py_ssize_t first = 0 if old == NULL else old.count, at = 0, runs, part
    held.count = first + added
    held.parts = 0 if old == NULL else old.parts
    part = max(held.parts - 1, 0)
    if added:
        held.parts = <Py_ssize_t> (pairs[added - 1] >> (8 + LOW_BITS)) + 1
    runs = (held.count >> RUN_BITS) + 1
    made.size_bytes = (held.parts + 1) * sizeof(uint32_t) + held.count * (sizeof(uint16_t) + 1) + 2 * runs
    held.starts = <uint32_t *> zeroed(made.size_bytes, 1)
    held.lows = <uint16_t *> (held.starts + held.parts + 1)
    held.tfs = <uint8_t *> (held.lows + held.count)
    held.shortest = held.tfs + held.count
    held.shortest_many = held.shortest + runs
    memset(held.shortest, 255, 2 * runs)
    if old != NULL:
        runs = (first >> RUN_BITS) + 1
        memcpy(held.starts, old.starts, (old.parts + 1) * sizeof(uint32_t))
        memcpy(held.lows, old.lows, first * sizeof(uint16_t))
        memcpy(held.tfs, old.tfs, first)
        memcpy(held.shortest, old.shortest, runs)
        memcpy(held.shortest_many, old.shortest_many, runs)
    for part in range(part, held.parts):
        while at < added and <Py_ssize_t> (pairs[at] >> (8 + LOW_BITS)) <= part:
            put_posting(held, first + at, pairs[at], lengths)
            at += 1
        held.starts[part + 1] = <uint32_t> (first + at)
    made.size_bytes += OBJECT_BYTES
    if before is not None:
        keep_typed(made, before)
    return made


cdef int keep_typed(MergedList made, MergedList before) except -1:
    """Copy the cached frequencies of typed words from a list to the list that extends it."""
    cdef TypedFrequencies typed
    if before.typed:
        made.older, made.older_count = before.typed, before.held.count
    else:
        made.older, made.older_count = before.older, before.older_count
    if made.older:
        for typed in made.older.values():
            made.size_bytes += typed.size_bytes
    return 0


cdef inline void put_posting(Merged *held, Py_ssize_t at, uint64_t pair, const PackedLengths *lengths) noexcept nogil:
    """Write a posting to its place, and note the length of its object."""
    cdef uint8_t packed = packed_length(lengths, pair >> 8)
    cdef uint8_t *shortest
    held.lows[at] = <uint16_t> (pair >> 8)
    held.tfs[at] = <uint8_t> pair
    shortest = held.shortest if held.tfs[at] == 1 else held.shortest_many
    if packed < shortest[at >> RUN_BITS]:
        shortest[at >> RUN_BITS] = packed


cdef TypedFrequencies typed_of(MergedList merged, object stored):
    """Return the frequencies of a word of a family in its objects; None: some needed blocks were not read yet."""
    cdef StoredPostings word = stored
    cdef TypedFrequencies made
    cdef Merged *held = &merged.held
    cdef TypedFrequencies older
    cdef OpenBlock block
    cdef Py_ssize_t number, first, at = 0
    cdef int64_t last = -1
    cdef int place
    if merged.typed is None:
        merged.typed = {}
    made = merged.typed.get(word.term_id)
    if made is not None:
        return made
    older = None if merged.older is None else merged.older.get(word.term_id)
    if older is not None:
        at = merged.older_count
        last = iid_of_last(held, at)
    first = first_block_behind(word, last)
    for number in range(first, word.block_count):
        if word.blocks[number].packed == NULL:
            return None
    made = TypedFrequencies.__new__(TypedFrequencies)
    made.tfs = <uint8_t *> zeroed(held.count, 1)
    if older is not None:
        memcpy(made.tfs, older.tfs, at)
    for number in range(first, word.block_count):
        decode_block(&word.blocks[number], &block)
        for place in range(block.count):
            if <int64_t> block.iids[place] <= last:
                continue
            at = max(at, <Py_ssize_t> held.starts[block.iids[place] >> LOW_BITS])
            while held.lows[at] != <uint16_t> block.iids[place]:
                at += 1
            made.tfs[at] = block.tfs[place]
    made.size_bytes = OBJECT_BYTES + held.count
    merged.size_bytes += made.size_bytes
    merged.typed[word.term_id] = made
    if older is not None:
        merged.size_bytes -= older.size_bytes
        del merged.older[word.term_id]
    return made
