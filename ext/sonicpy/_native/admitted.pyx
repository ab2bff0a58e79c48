"""Counts the objects that answer a query, as bits over a whole bucket."""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bits cimport count_common, highest_bit
from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.list_lookup cimport Source, stands_in_windows
from sonicpy._native.memory cimport zeroed
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, R_REQUIRED, Clause, Plan
from sonicpy._native.query_state cimport QueryState, Term, end_source, first_source
from sonicpy._native.stored_postings cimport OpenBlock, decode_block
from sonicpy._native.wanted_blocks cimport ask, keys_asked
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_WORDS


cdef bint decides(QueryState query, const Term *term, bint implied) noexcept:
    """Return whether a term decides, together with others, which objects answer; others only add to scores.

    Args:
        implied: see `is_implied`.
    """
    return term.role & (R_REQUIRED | R_FORBIDDEN) or (term.role & R_BRINGS and not implied)


cdef bint is_implied(QueryState query) noexcept:
    """Return whether a required term also brings objects: then an object that meets the conditions needs no other
    term."""
    cdef Py_ssize_t number
    for number in range(query.term_count):
        if query.terms[number].role & R_BRINGS and query.terms[number].role & R_REQUIRED:
            return True
    return False


cdef list keys_to_count(QueryState query):
    """Return the keys of the unread blocks that `count_admitted` needs, to be given by `give`."""
    cdef Py_ssize_t number, source, block
    cdef const Term *term
    cdef bint implied = is_implied(query)
    query.asked_count = 0
    for number in range(query.term_count):
        term = &query.terms[number]
        if decides(query, term, implied):
            for source in range(first_source(query, term), end_source(query, term)):
                for block in range(query.sources[source].count):
                    ask(query, source, block)
    return keys_asked(query)


cdef uint64_t count_admitted(QueryState query) except? 0:
    """Return how many objects answer the query."""
    cdef uint64_t found = 0
    cdef Py_ssize_t word, words = 0
    cdef uint64_t *bits = admitted_bits(query, &words)
    found = count_common(bits, bits, words)
    free(bits)
    return found


cdef uint64_t *admitted_bits(QueryState query, Py_ssize_t *count) except NULL:
    """Return the objects that answer the query as bits, in an array that the caller has to free.

    Args:
        count: is set to the size of the array, in words of 64 bits.
    """
    cdef uint64_t most = 0
    cdef Py_ssize_t number, word, words
    cdef const Term *term
    cdef uint64_t *bringing  # objects that hold a term that brings
    cdef uint64_t *kept  # objects that no term excludes
    cdef uint64_t *some
    cdef bint implied = is_implied(query), brings_others = refuses_only(query.plan)
    for number in range(query.source_count):
        if query.sources[number].count:
            most = max(most, newest_iid(&query.sources[number]))
    if brings_others:
        most = max(most, <uint64_t> query.packed.count)
    words = ((most >> WINDOW_BITS) + 1) * WINDOW_WORDS
    bringing = <uint64_t *> zeroed(3 * words, sizeof(uint64_t))
    kept, some = bringing + words, bringing + 2 * words
    memset(kept, 0xFF, words * sizeof(uint64_t))
    for number in range(query.term_count):
        term = &query.terms[number]
        if not decides(query, term, implied):
            continue
        if not term.role & (R_REQUIRED | R_FORBIDDEN):
            mark(query, term, bringing, words // WINDOW_WORDS)
            continue
        memset(some, 0, words * sizeof(uint64_t))
        mark(query, term, some, words // WINDOW_WORDS)
        for word in range(words):
            kept[word] &= kept_bits(term.role, some[word])
            if term.role & R_BRINGS:
                bringing[word] |= some[word]
    if brings_others:
        mark_all(query, bringing)
    for word in range(words):
        bringing[word] &= kept[word]
    if query.mask is not None:
        try:
            keep_passing(query, bringing, words // WINDOW_WORDS)
        except BaseException:
            free(bringing)
            raise
    count[0] = words
    return bringing


cdef int keep_passing(QueryState query, uint64_t *bits, Py_ssize_t windows) except -1:
    """Clear the bits of objects in the first `windows` windows that do not pass the filter."""
    cdef Py_ssize_t window, word
    cdef uint64_t some
    for window in range(windows):
        some = 0
        for word in range(WINDOW_WORDS):
            some |= bits[window * WINDOW_WORDS + word]
        if some:
            query.mask.narrow(window, bits + window * WINDOW_WORDS)
    return 0


cdef uint64_t newest_iid(const Source *source) noexcept nogil:
    cdef OpenBlock block
    if source.blocks[source.count - 1].packed == NULL:
        return 0
    decode_block(&source.blocks[source.count - 1], &block)
    return block.iids[block.count - 1]


cdef void mark(QueryState query, const Term *term, uint64_t *marks, Py_ssize_t windows) noexcept nogil:
    """Set the bits of the objects that hold a term, in the first `windows` windows."""
    cdef Py_ssize_t number, block, place, window, word
    cdef const Source *source
    cdef OpenBlock held
    for number in range(first_source(query, term), end_source(query, term)):
        source = &query.sources[number]
        for window in range(min(source.window_count, windows)):
            if source.windows[window] != NULL:
                for word in range(WINDOW_WORDS):
                    marks[window * WINDOW_WORDS + word] |= source.windows[window].bits[word]
        for block in range(source.count):
            if source.blocks[block].packed == NULL or stands_in_windows(source, block):
                continue
            decode_block(&source.blocks[block], &held)
            for place in range(held.count):
                marks[held.iids[place] >> 6] |= <uint64_t> 1 << (held.iids[place] & 63)


cdef list others_of(QueryState query, uint64_t wanted, uint64_t *total):
    """Return the newest objects, at most `wanted`, that answer a query whose clauses are all forbidden; set `total` to
    the number of all."""
    cdef Py_ssize_t words = 0
    cdef uint64_t *bits = admitted_bits(query, &words)
    cdef uint64_t left
    cdef Py_ssize_t word = words
    cdef list found = []
    try:
        total[0] = count_common(bits, bits, words)
        while word and <uint64_t> len(found) < wanted:
            word -= 1
            left = bits[word]
            while left and <uint64_t> len(found) < wanted:
                found.append(word << 6 | highest_bit(left))
                left ^= <uint64_t> 1 << highest_bit(left)
    finally:
        free(bits)
    return found


cdef bint refuses_only(Plan plan) except -1:
    """Return whether a plan asks for the objects that hold none of its words; then all its clauses are forbidden."""
    if plan is None or not plan.clauses:
        return False
    return (<Clause?> plan.clauses[0]).role & (R_BRINGS | R_FORBIDDEN) == R_BRINGS | R_FORBIDDEN


cdef void mark_all(QueryState query, uint64_t *marks) noexcept:
    """Set the bits of all objects that hold words."""
    cdef Py_ssize_t number
    for number in range(<Py_ssize_t> query.packed.count):
        if packed_length(&query.packed, number):
            marks[number >> 6] |= <uint64_t> 1 << (number & 63)
