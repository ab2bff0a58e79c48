"""Masks of tags, whose postings are lists like those of words; and the objects that answer a query, as a mask.

The lists of tags belong to a query of their own: so the windows of common tags, and of several tags that are used
together, stay cached beside the lists, and the postings of rare tags are merged.
"""

cimport cython
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sonicpy._native.admitted cimport admitted_bits, keys_to_count
from sonicpy._native.bits cimport count_bits
from sonicpy._native.list_lookup cimport Source, stands_in_windows
from sonicpy._native.mask cimport Bits, Mask
from sonicpy._native.merged_list cimport find_tf
from sonicpy._native.plan cimport R_BRINGS
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, read_block
from sonicpy._native.query_state cimport (
    QueryState,
    TermWindow,
    check_unstarted,
    end_slot,
    end_source,
    first_source,
    note_made,
    open_sources,
    put_slot,
    put_source,
    put_term,
)
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.term_windows cimport find_all_windows, find_merged, hold_window, mark_merged
from sonicpy._native.top_k cimport EXACT
from sonicpy._native.wanted_blocks cimport ask_for_missing, give_blocks, keys_asked
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS


@cython.final
cdef class Holders(Mask):
    """The objects that have one of several tags.

    Args:
        query: the query that `lists_of` made.
        number: the number of the list of tags in the query.
    """

    cdef QueryState query
    cdef Py_ssize_t number

    def __init__(self, Py_ssize_t windows, QueryState query not None, Py_ssize_t number):
        self.query, self.number = query, number
        if not 0 <= number < query.term_count:
            raise ValueError(f"there are no holders {number} of {query.term_count}")

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef TermWindow *here = &self.query.here[self.number]
        cdef uint64_t some = 0
        cdef Py_ssize_t word
        if here.merged.list != NULL:
            mark_merged(here.merged.list, window, bits)
        else:
            come_back(self.query, here, window)
            if not hold_window(self.query, here, window):
                raise RuntimeError("blocks of postings of a tag are missing")
            memcpy(bits, here.held.bits, ROW_BYTES)
            note_made(self.query, self.query.reader)
        for word in range(WINDOW_WORDS):
            some |= bits[word]
        return some != 0

    cdef bint holds(self, uint32_t iid) except -1:
        cdef TermWindow *here = &self.query.here[self.number]
        cdef Py_ssize_t end
        if here.merged.list != NULL:
            end = here.merged.list.count
            return find_tf(here.merged.list, iid, &end) != 0
        return (<const uint64_t *> self.at(iid >> WINDOW_BITS))[(iid & WINDOW_OBJECTS - 1) >> 6] >> (iid & 63) & 1


cdef void come_back(QueryState query, TermWindow *here, int64_t window) noexcept nogil:
    """Go back to the newest postings for the next look-ups, because the windows of a mask are made in any order."""
    cdef Py_ssize_t at
    if here.window >= 0 and window <= here.window:
        return
    for at in range(here.first, here.end):
        query.sources[at].block = query.sources[at].top = query.sources[at].count - 1
        query.sources[at].next = 0xFFFFFFFF


def lists_of(reader, list lists not None, lengths) -> QueryState:
    """Return a query with the postings of lists of tags, all of which are read.

    Args:
        reader: the reader of the tags of a bucket.
        lists: for each list, the StoredPostings of its tags.
        lengths: the LengthMasks of the bucket.
    """
    cdef QueryState query = QueryState(lengths, 1.0, 1.2, 0.75, 0.0, full_first=False)
    cdef list tags, keys
    cdef StoredPostings tag
    cdef Py_ssize_t number
    query.reader = reader
    for tags in lists:
        put_term(query, 0.0, R_BRINGS)
        if tags:
            put_slot(query, 0.0, 0.0, EXACT)
            for tag in tags:
                put_source(query, tag)
            end_slot(query)
    open_sources(query)
    find_all_windows(query)
    query.is_begun = True
    for number in range(query.source_count):
        query.sources[number].block = query.sources[number].top = query.sources[number].count - 1
        query.sources[number].next = 0xFFFFFFFF
    ask_for_missing(query)
    keys = keys_asked(query)
    if keys:
        give_blocks(query, reader.read_blocks(keys))
    for number in range(query.term_count):
        query.here[number].has_family = False
        find_merged(query, &query.here[number], UINT64_MAX)
    note_made(query, reader)
    return query


cdef Bits matches(QueryState query):
    cdef Py_ssize_t words = 0
    cdef uint64_t *bits = admitted_bits(query, &words)
    cdef Bits found = Bits((query.packed.count >> WINDOW_BITS) + 1)
    memcpy(found.all_bits, bits, min(words, found.count * WINDOW_WORDS) * sizeof(uint64_t))
    free(bits)
    return found


def matching(QueryState query not None) -> Bits:
    """Return all objects that answer a query made by `bind`, as a mask."""
    cdef list keys
    if not query.is_begun:
        open_sources(query)
        find_all_windows(query)
        query.is_begun = True
    keys = keys_to_count(query)
    if keys:
        give_blocks(query, query.reader.read_blocks(keys))
    return matches(query)


def count_in_tails(list rows not None, Bits among not None) -> list:
    """Return, for the TermInfo of each tag, how many objects of a mask have the tag; None: its row does not have all
    objects with the tag."""
    cdef TermInfo row
    cdef Posting held[BLOCK_POSTINGS]
    cdef Py_ssize_t size, found
    cdef int at, count
    cdef list counts = []
    for row in rows:
        size = len(row._row) - row._tail_at
        count = read_block(<const uint8_t *> row._row + row._tail_at, size, held) if size > 0 else 0
        if row._word.position or count < 0 or <uint64_t> count != row._word.df:
            counts.append(None)
            continue
        found = 0
        for at in range(count):
            if held[at].iid >> WINDOW_BITS < <uint64_t> among.count:
                found += among.all_bits[held[at].iid >> 6] >> (held[at].iid & 63) & 1
        counts.append(found)
    return counts


def count_each(QueryState query not None, Bits among not None) -> list:
    """Return, for each list of tags of `lists_of`, how many objects of a mask have one of its tags."""
    cdef Py_ssize_t number
    cdef list counts = []
    for number in range(query.term_count):
        counts.append(count_list(query, number, among))
    return counts


cdef uint64_t count_list(QueryState query, Py_ssize_t number, Bits among) except? 0:
    cdef TermWindow *here = &query.here[number]
    cdef Py_ssize_t window, word, at, part
    cdef uint64_t found = 0, iid
    cdef const uint64_t *bits
    if here.merged.list != NULL:
        for part in range(here.merged.list.parts):
            for at in range(here.merged.list.starts[part], here.merged.list.starts[part + 1]):
                iid = <uint64_t> part << 16 | here.merged.list.lows[at]
                if iid >> WINDOW_BITS < <uint64_t> among.count:
                    found += among.all_bits[iid >> 6] >> (iid & 63) & 1
        return found
    for window in range(among.count - 1, -1, -1):
        bits = among.all_bits + window * WINDOW_WORDS
        if not any_bit(bits):
            continue
        come_back(query, here, window)
        if not hold_window(query, here, window):
            raise RuntimeError("blocks of postings of a tag are missing")
        for word in range(WINDOW_WORDS):
            found += count_bits(bits[word] & here.held.bits[word])
    note_made(query, query.reader)
    return found


cdef inline bint any_bit(const uint64_t *bits) noexcept nogil:
    cdef uint64_t some = 0
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        some |= bits[word]
    return some != 0
