"""One word's postings while a query is answered, and the look-up of objects in them, newest objects first."""

from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.extremes cimport Extremes, no_postings, take_posting
from sonicpy._native.impacts cimport Block, Impacts
from sonicpy._native.stored_postings cimport OpenBlock, decode_block, is_in_windows
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS, Gathered, Holders, gather, tf_of

cdef struct Source:  # one word's postings
    Block *blocks
    Py_ssize_t count  # of blocks
    Holders **windows  # of a common word, by number; NULL where it was not needed yet
    Extremes *extremes  # of the windows of a common word, see Windows
    Py_ssize_t window_count
    int64_t next  # no object of the list before the window that the walk is in is newer
    Py_ssize_t top  # the block at the newest end of the window that the walk is in; -1: every block is of newer objects
    Py_ssize_t block  # where the last object was looked up; -1: as above
    uint8_t tf_max
    uint8_t length_min
    Impacts impacts  # of all blocks
    OpenBlock *opened  # the block that the last object was looked up in
    uint32_t gap, gap_size  # the list holds none of the IIDs from `gap` to `gap` + `gap_size` - 1


cdef inline const OpenBlock *open_block(const Source *source, Py_ssize_t number) noexcept nogil:
    """Return a block of a list, which must have been read, decoded; it is valid until another block is opened."""
    if source.opened.number != number:
        source.opened.number = number
        decode_block(&source.blocks[number], source.opened)
    return source.opened


cdef inline Py_ssize_t block_for(const Source *source, uint32_t iid, Py_ssize_t newest) noexcept nogil:
    """Return the number of the block that may hold an object, at most `newest`; -1: there is no such block.

    Gallops from `newest` down: objects are looked up newest first.
    """
    cdef const Block *blocks = source.blocks
    cdef Py_ssize_t high = newest, low, count, half, step = 1
    if high < 0 or blocks[high].lower <= iid:
        return high
    low = high - 1
    while low >= 0 and blocks[low].lower > iid:
        high = low
        step *= 2
        low = high - step
    if low < -1:
        low = -1
    count = high - low
    while count > 1:  # without a branch, as in `tf_of`
        half = count >> 1
        low += half if blocks[low + half].lower <= iid else 0
        count -= half
    return low


cdef inline Py_ssize_t place_from(const OpenBlock *block, uint64_t iid) noexcept nogil:
    """Return the place in a block of the first object that is not older than `iid`; `block.count`: there is none."""
    cdef Py_ssize_t low = 0, count = block.count, half
    while count > 1:  # without a branch, as in `tf_of`
        half = count >> 1
        low += half if block.iids[low + half - 1] < iid else 0
        count -= half
    return low + 1 if count and block.iids[low] < iid else low


cdef inline int search(const OpenBlock *block, uint32_t iid) noexcept nogil:
    """Return the tf of an object anywhere in a block, or 0."""
    cdef Py_ssize_t place = place_from(block, iid)
    return block.tfs[place] if place < block.count and block.iids[place] == iid else 0


cdef inline bint has_window(const Source *source, Py_ssize_t window) noexcept nogil:
    """Return whether the bits of a window were made for a common word."""
    return window < source.window_count and source.windows[window] != NULL


cdef inline int look_up(Source *source, uint32_t iid) noexcept nogil:
    """Return the tf of an object in a list, 0 if the object is not in the list, or -1 if its block was not read yet.

    Objects must be looked up newest first, because the search begins at the block that was found last.
    """
    cdef const OpenBlock *block
    cdef Py_ssize_t place
    cdef uint32_t end = UINT32_MAX
    if iid - source.gap < source.gap_size:  # as nearly always in the list of a rare word
        return 0
    if has_window(source, iid >> WINDOW_BITS):
        return tf_of(source.windows[iid >> WINDOW_BITS], iid)
    source.block = block_for(source, iid, source.block)
    if source.block < 0:  # from here on, all objects are older than those of the list
        source.gap, source.gap_size = 0, iid + 1
        return 0
    if source.blocks[source.block].packed == NULL:
        return -1
    block = open_block(source, source.block)
    place = place_from(block, iid)
    if place < block.count:
        end = block.iids[place]
        if end == iid:
            return block.tfs[place]
    elif source.block + 1 < source.count:
        end = source.blocks[source.block + 1].lower
    source.gap = block.iids[place - 1] + 1 if place else source.blocks[source.block].lower
    source.gap_size = end - source.gap
    return 0


cdef inline bint stands_in_windows(const Source *source, Py_ssize_t number) noexcept nogil:
    """Return whether the windows that were made cover all postings that a block may hold."""
    return is_in_windows(source.blocks, source.count, number, source.windows, source.window_count)


cdef inline bint is_missing(const Source *source, Py_ssize_t number) noexcept nogil:
    """Return whether a block has to be read before its objects can be looked up."""
    return source.blocks[number].packed == NULL and not stands_in_windows(source, number)


cdef inline bint is_read(Source *source, Py_ssize_t window) noexcept nogil:
    """Return whether all blocks that may hold objects of a window were read; moves to the newest of them."""
    cdef uint64_t first = <uint64_t> window << WINDOW_BITS
    cdef Py_ssize_t number
    if source.next < <int64_t> first:
        return True
    number = source.top = block_for(source, <uint32_t> (first | ((1 << WINDOW_BITS) - 1)), source.top)
    while number >= 0:
        if source.blocks[number].packed == NULL:
            return False
        if source.blocks[number].lower <= first:
            break
        number -= 1
    return True


cdef inline void put_postings(Source *source, Py_ssize_t window, Gathered *held) noexcept nogil:
    """Add the postings of a window, whose blocks were read, unless they were added before."""
    if source.next >= <int64_t> window << WINDOW_BITS:
        put_all_postings(source, window, held)


cdef inline void put_all_postings(Source *source, Py_ssize_t window, Gathered *held) noexcept nogil:
    """Add the postings of a window, whose blocks were read, even if they were added before."""
    cdef uint64_t first = <uint64_t> window << WINDOW_BITS, end = first + (1 << WINDOW_BITS)
    cdef const OpenBlock *block
    cdef Py_ssize_t number, place
    number = source.top = block_for(source, <uint32_t> (end - 1), source.top)
    source.next = -1
    while number >= 0:
        block = open_block(source, number)
        place = block.count if block.iids[block.count - 1] < end else place_from(block, end)
        while place > 0 and block.iids[place - 1] >= first:
            place -= 1
            gather(held, block.iids[place], block.tfs[place])
        if place > 0 or source.blocks[number].lower <= first:
            source.next = <int64_t> block.iids[place - 1] if place > 0 else <int64_t> source.blocks[number].lower - 1
            break
        number -= 1


cdef inline int64_t newest_below(Source *source, uint64_t end) noexcept nogil:
    """Return an IID below `end` such that the list has no object between the two; -1: it has no object below `end`.

    From call to call, `end` must not rise.
    """
    cdef Py_ssize_t number, place
    cdef const OpenBlock *block
    if source.next < <int64_t> end:
        return source.next
    number = source.top = block_for(source, <uint32_t> (end - 1), source.top) if end else -1
    if number < 0:
        source.next = -1
    elif source.blocks[number].packed == NULL:
        source.next = <int64_t> end - 1
    else:
        block = open_block(source, number)
        place = block.count if block.iids[block.count - 1] < end else place_from(block, end)
        source.next = <int64_t> block.iids[place - 1] if place > 0 else <int64_t> source.blocks[number].lower - 1
    return source.next


cdef inline void find_extremes(
    const Source *source, int64_t window, const PackedLengths *lengths, Extremes *out
) noexcept nogil:
    """Bound the postings of a window by the impacts of their blocks; the window is that of the walk or an older one.

    For a read block that reaches beyond the window, as blocks of rare words do, the postings themselves are used.
    """
    cdef uint64_t first = <uint64_t> window << WINDOW_BITS
    cdef const Block *block
    cdef const OpenBlock *opened
    cdef Py_ssize_t place, number = block_for(source, <uint32_t> (first + (WINDOW_OBJECTS - 1)), source.top)
    no_postings(out)
    while number >= 0:
        block = &source.blocks[number]
        if block.packed != NULL and reaches_beyond(source, number):
            opened = open_block(source, number)
            for place in range(place_from(opened, first), opened.count):
                if opened.iids[place] >> WINDOW_BITS != <uint64_t> window:
                    break
                take_posting(out, opened.tfs[place], packed_length(lengths, opened.iids[place]))
        else:
            for place in range(block.impacts.count):
                take_posting(out, block.impacts.pairs[place].tf, block.impacts.pairs[place].length)
        if block.lower <= first:
            break
        number -= 1


cdef inline bint reaches_beyond(const Source *source, Py_ssize_t number) noexcept nogil:
    """Return whether a block may hold objects of more than a window."""
    return number + 1 >= source.count or (
        source.blocks[number + 1].lower - source.blocks[number].lower > <uint32_t> WINDOW_OBJECTS
    )
