"""Rows of `terms`: term id -> term, with sixteen neighbouring term ids in one row.

    row     0xFF, then per term by rising place: place << 4 | min(size, 15) u8, v(size - 15) of a longer term, the term

The place is term id % 16, and the key of a row contains term id 0, 16, 32 and so on. Until 1.0, each term had a row of
its own, the term itself under its own term id. Such rows stay until they change; no UTF-8 begins with 0xFF.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sonicpy._native.keys cimport term_key
from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

from sonicpy._native.varint import DamagedBytes

cdef enum:
    PLACES = 16
    MARK = 0xFF
    LONG = 15  # a larger size, which follows

TERMS_PER_ROW = PLACES


def is_shared(bytes row not None) -> bool:
    """Return whether a row of `terms` is shared by several term ids; else it is the term itself."""
    return len(row) > 0 and (<const uint8_t *> <const char *> row)[0] == MARK


def unpack_terms(bytes row not None) -> dict:
    """Return the terms of a shared row by their places.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> row + 1
    cdef const uint8_t *end = at - 1 + len(row)
    cdef dict terms = {}
    cdef int place, before = -1
    cdef uint64_t size
    if not is_shared(row):
        raise DamagedBytes("a row of terms does not begin as it should")
    while at < end:
        size = read_head(&at, end, &place, before)
        terms[place] = PyBytes_FromStringAndSize(<const char *> at, size)
        at += size
        before = place
    return terms


def row_keys(uint32_t bucket, list term_ids not None) -> list:
    """Return the keys of the shared rows of term ids."""
    cdef list keys = []
    cdef uint64_t term_id, row, before = 0
    for term_id in term_ids:
        row = term_id // PLACES
        if not keys or row != before:
            keys.append(term_key(bucket, row * PLACES))
            before = row
    return keys


def terms_in(uint32_t bucket, list term_ids not None, list rows not None) -> dict:
    """Return term id -> term, for those term ids that are in the rows found for `row_keys`, given as (key, row) pairs
    in the order of their keys there.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef dict found = {}
    cdef uint64_t term_id, row, before = 0
    cdef Py_ssize_t at = 0, count = len(rows)
    cdef bytes packed = None, term
    cdef bint is_first = True
    for term_id in term_ids:
        row = term_id // PLACES
        if is_first or row != before:
            packed = None
            if at < count and (<tuple> rows[at])[0] == term_key(bucket, row * PLACES):
                packed = (<tuple> rows[at])[1]
                at += 1
            before, is_first = row, False
        if packed is None:
            continue
        if not is_shared(packed):
            if term_id == row * PLACES:
                found[term_id] = packed
            continue
        try:
            term = term_at(packed, <int> (term_id % PLACES))
        except DamagedBytes as error:
            raise DamagedBytes(f"terms from {row * PLACES} on: {error}") from error
        if term is not None:
            found[term_id] = term
    return found


cpdef bytes term_at(bytes row, int wanted):
    """Return the term at a place of a shared row, which is read completely; None: the place is empty. Raises
    DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> <const char *> row + 1
    cdef const uint8_t *end = at - 1 + len(row)
    cdef const uint8_t *found = NULL
    cdef int place, before = -1
    cdef uint64_t size, found_size = 0
    while at < end:
        size = read_head(&at, end, &place, before)
        if place == wanted:
            found, found_size = at, size
        at += size
        before = place
    return None if found == NULL else PyBytes_FromStringAndSize(<const char *> found, found_size)


cdef uint64_t read_head(const uint8_t **at, const uint8_t *end, int *place, int before) except? 0xFFFFFFFFFFFFFFFF:
    """Read the place and the size of an entry up to its term; return the size, which is within the row.

    Args:
        at: the place of the entry in the row; afterwards that of its term.
        place: set to the place of the term, which must be above `before`.
        before: the place of the entry before; -1: it is the first one.

    Raises:
        DamagedBytes: the entry cannot be read.
    """
    cdef uint64_t size = at[0][0] & 15, more = 0
    place[0] = at[0][0] >> 4
    at[0] += 1
    if (
        place[0] <= before
        or (size == LONG and get_varint(at, end, &more) < 0)
        or more > <uint64_t> (end - at[0])
    ):
        raise DamagedBytes("a row of terms cannot be read")
    size += more
    if size > <uint64_t> (end - at[0]):
        raise DamagedBytes("a row of terms is cut off")
    return size


def pack_terms(dict terms not None) -> bytes:
    """Return the row of some terms, given by their places, 0 to 15; there has to be at least one."""
    return b"\xff" + pack_entries(sorted(terms.items()))


def with_terms(bytes row, bytes entries not None) -> bytes:
    """Return a row with further entries behind its own; `row` is None if there is no row yet."""
    if row is None:
        return b"\xff" + entries
    return (row if is_shared(row) else pack_terms({0: row})) + entries


def entries_by_row(uint32_t bucket, list terms not None) -> list:
    """Return a (key of the row, entries) pair for each row of (term id, term) pairs, which are by rising term id."""
    cdef list found = []
    cdef uint64_t row
    cdef Py_ssize_t start = 0, end
    while start < len(terms):
        row = <uint64_t> (<tuple> terms[start])[0] // PLACES
        end = start + 1
        while end < len(terms) and <uint64_t> (<tuple> terms[end])[0] // PLACES == row:
            end += 1
        found.append((term_key(bucket, row * PLACES), pack_numbered(terms, start, end)))
        start = end
    return found


cdef bytes pack_numbered(list terms, Py_ssize_t start, Py_ssize_t end):
    """Return the entries of the (term id, term) pairs from `start` to `end`, which share a row."""
    cdef Py_ssize_t size = 0, number
    cdef bytes packed, term
    cdef uint8_t *out
    for number in range(start, end):
        size += entry_bytes(len(<bytes?> (<tuple> terms[number])[1]))
    packed = PyBytes_FromStringAndSize(NULL, size)
    out = <uint8_t *> <char *> packed
    for number in range(start, end):
        term = (<tuple> terms[number])[1]
        out = put_entry(out, <int> (<uint64_t> (<tuple> terms[number])[0] % PLACES), term)
    return packed


cdef inline Py_ssize_t entry_bytes(Py_ssize_t size) noexcept:
    """Return the number of bytes of the entry of a term of `size` bytes."""
    return 1 + size + (varint_bytes(size - LONG) if size >= LONG else 0)


cdef inline uint8_t *put_entry(uint8_t *out, int place, bytes term):
    """Write an entry; return the place behind it."""
    cdef Py_ssize_t size = len(term)
    out[0] = <uint8_t> (place << 4 | min(size, LONG))
    out += 1
    if size >= LONG:
        out = put_varint(out, size - LONG)
    memcpy(out, <const char *> term, size)
    return out + size


cdef bytes pack_entries(list terms):
    """Return the entries of (place, term) pairs, by rising place. Raises ValueError if a place is out of range."""
    cdef Py_ssize_t size = 0
    cdef bytes packed, term
    cdef uint8_t *out
    cdef int place
    for place, term in terms:
        if not 0 <= place < PLACES:
            raise ValueError(f"a row of terms has the places 0 to {PLACES - 1}, not {place}")
        size += entry_bytes(len(term))
    packed = PyBytes_FromStringAndSize(NULL, size)
    out = <uint8_t *> <char *> packed
    for place, term in terms:
        out = put_entry(out, place, term)
    return packed
