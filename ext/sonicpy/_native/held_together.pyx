"""The postings of the objects that hold several words, as if these were one word."""

from libc.stdint cimport UINT8_MAX, uint32_t
from libc.stdlib cimport free, malloc, qsort

from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block


cdef StoredPostings held_together(reader, list groups):
    """Return the postings of the objects that hold a word of each group; None: there are no such objects.

    Args:
        reader: the reader of the bucket.
        groups: a list of StoredPostings for each group; the frequency of an object is the lowest of all groups.

    Raises:
        DamagedBytes: some postings cannot be read.
    """
    cdef StoredPostings one, made
    cdef list group
    cdef Posting *found = NULL
    cdef Posting *more = NULL
    cdef Py_ssize_t count = -1, added
    for group in groups:
        if not group:
            return None
    lengths = reader.lengths()
    while read_all(reader, [one for group in groups for one in group]):  # nothing else runs behind the last call
        pass
    one = (<list> groups[0])[0]
    try:
        for group in groups:
            more = <Posting *> malloc((room_of(group) + 1) * sizeof(Posting))
            if more == NULL:
                raise MemoryError
            added = put_group(group, more)
            if count < 0:
                found, more, count = more, NULL, added
            else:
                count = keep_common(found, count, more, added)
                free(more)
                more = NULL
        if count <= 0:
            return None
        made = StoredPostings(one.bucket, one.term_id, 0, [], b"", 0, lengths)
        made.df = count
        made.make_own(found, count, lengths)
        return made
    finally:
        free(found)
        free(more)


cdef bint read_all(reader, list words) except -1:
    """Read the blocks of words that were not read yet; return whether there were any. Other threads may free blocks
    meanwhile. Raises DamagedBytes.
    """
    cdef StoredPostings one
    cdef Py_ssize_t number, at = 0
    cdef list places = [], keys = [], rows
    for one in words:
        for number in range(one.block_count):
            if one.blocks[number].packed == NULL:
                places.append((one, number))
                keys.append(one.key_of(number))
    if not keys:
        return False
    rows = reader.read_blocks(keys)
    if len(rows) != len(keys):
        one, number = places[0]
        raise one.damaged(number)
    for at in range(len(rows)):
        one, number = places[at]
        one.put_block(number, (<tuple> rows[at])[1])
    return True


cdef Py_ssize_t room_of(list group) except -1:
    cdef StoredPostings one
    cdef Py_ssize_t blocks = 0
    for one in group:
        blocks += one.block_count
    return blocks * BLOCK_POSTINGS


cdef Py_ssize_t put_group(list group, Posting *out) except -1:
    """Write the postings of a group of words by rising IID; frequencies in one object add up. Return their number.

    Args:
        out: room for `room_of(group)` postings.

    Raises:
        DamagedBytes: a block cannot be read.
    """
    cdef StoredPostings one
    cdef OpenBlock block
    cdef Py_ssize_t number, count = 0, kept = 0, at
    cdef int place
    for one in group:
        for number in range(one.block_count):
            if decode_block(&one.blocks[number], &block) < 0:
                raise one.damaged(number)
            for place in range(block.count):
                out[count] = Posting(block.iids[place], block.tfs[place])
                count += 1
    if len(group) == 1:
        return count
    qsort(out, count, sizeof(Posting), by_iid)
    for at in range(count):
        if kept and out[kept - 1].iid == out[at].iid:
            out[kept - 1].tf = min(out[kept - 1].tf + out[at].tf, <uint32_t> UINT8_MAX)
        else:
            out[kept] = out[at]
            kept += 1
    return kept


cdef Py_ssize_t keep_common(Posting *kept, Py_ssize_t count, const Posting *other, Py_ssize_t others) noexcept nogil:
    """Keep the postings of the objects that both lists have, each with its lower frequency; return their number.

    Args:
        kept, count: a list by rising IID, which is changed, and its size.
        other, others: the other list by rising IID, and its size.
    """
    cdef Py_ssize_t left = 0, right = 0, common = 0
    while left < count and right < others:
        if kept[left].iid == other[right].iid:
            kept[common] = Posting(kept[left].iid, min(kept[left].tf, other[right].tf))
            common += 1
            left += 1
            right += 1
        elif kept[left].iid < other[right].iid:
            left += 1
        else:
            right += 1
    return common


cdef int by_iid(const void *left, const void *right) noexcept nogil:
    cdef uint32_t a = <uint32_t> (<const Posting *> left).iid, b = <uint32_t> (<const Posting *> right).iid
    return (a > b) - (a < b)
