"""One word's postings while a query is answered, and the look-up of objects in them, newest objects first."""

from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.impacts cimport Block, Impacts, is_marked
from sonicpy._native.stored_postings cimport OpenBlock, decode_block

cdef struct Source:  # one word's postings
    Block *blocks
    Py_ssize_t count  # of blocks
    Py_ssize_t block  # where the last object was looked up; -1: every block is of newer objects
    Py_ssize_t place  # in that block
    uint8_t tf_max
    uint8_t length_min
    Impacts impacts  # of all blocks
    OpenBlock *opened  # the block that the last object was looked up in


cdef inline void open_block(Source *source, Py_ssize_t number) noexcept nogil:
    """Decode a block of a list."""
    source.opened.number = number
    decode_block(&source.blocks[number], source.opened)


cdef inline Py_ssize_t block_for(const Source *source, uint32_t iid, Py_ssize_t newest) noexcept nogil:
    """Return the number of the block that may hold an object, at most `newest`; -1: there is none.

    Gallops from `newest` down: objects are looked up newest first.
    """
    cdef const Block *blocks = source.blocks
    cdef Py_ssize_t high = newest, low, middle, step = 1
    if high < 0 or blocks[high].lower <= iid:
        return high
    low = high - 1
    while low >= 0 and blocks[low].lower > iid:
        high = low
        step *= 2
        low = high - step
    if low < -1:
        low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if blocks[middle].lower > iid:
            high = middle
        else:
            low = middle
    return low


cdef inline int search(const OpenBlock *block, uint32_t iid) noexcept nogil:
    """Return the tf of an object anywhere in a block, or 0."""
    cdef Py_ssize_t low = 0, high = block.count, middle
    while low < high:
        middle = (low + high) // 2
        if block.iids[middle] < iid:
            low = middle + 1
        else:
            high = middle
    return block.tfs[low] if low < block.count and block.iids[low] == iid else 0


cdef inline int look_up(Source *source, uint32_t iid) noexcept nogil:
    """Return the tf of an object in a list, 0 if it does not stand there, or -1: its block was not read yet."""
    cdef const Block *held
    cdef const OpenBlock *block
    cdef Py_ssize_t low, high, middle, step = 1
    if source.block < 0:
        return 0
    if source.blocks[source.block].lower > iid:
        source.block = block_for(source, iid, source.block)
        source.place = -1
        if source.block < 0:
            return 0
    held = &source.blocks[source.block]
    if held.packed == NULL:
        return -1
    if not is_marked(held.marks, iid):
        return 0
    block = source.opened
    if block.number != source.block:
        open_block(source, source.block)
    high = source.place if source.place >= 0 else block.count - 1
    if block.iids[high] < iid:
        return 0 if source.place < 0 else search(block, iid)
    low = high  # down from the last place, in steps that double
    while low >= 0 and block.iids[low] > iid:
        high = low
        low -= step
        step *= 2
    if low < 0:
        low = -1
    elif block.iids[low] == iid:
        source.place = low
        return block.tfs[low]
    while high - low > 1:
        middle = (low + high) // 2
        if block.iids[middle] > iid:
            high = middle
        elif block.iids[middle] < iid:
            low = middle
        else:
            source.place = middle
            return block.tfs[middle]
    source.place = high
    return block.tfs[high] if block.iids[high] == iid else 0
