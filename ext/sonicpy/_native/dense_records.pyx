"""Dense rows of `objects`: the closely packed form of a row of records, written to the table in the default mode.

    row     0xFE if each of the sixteen places holds a record, else 0xFF and u16, a bit per place (little-endian);
            then runs of OIDs, until each place has one: shared u8, own u8, own bytes, more u8;
            and in bits (bit_stream.pxd) the terms of each record: golomb(3) how many, bits(1) whether some are marked,
            marks if they are, and per term by rising term id golomb(k) of term id - term id before - 1
    marks   golomb(0) how many - 1, bits(1) whether some terms are hidden; per mark by rising place bits(n) the place
            among the terms, of which the last one takes n bits, and if some are hidden bits(1) whether this one is;
            golomb(0) of tf - 1, of tf - 2 if none is hidden; 0 and 0 together: hidden, with a tf of 0

The OID of a run shares its first bytes with the OID before it; `more` OIDs follow whose decimal number at the end, with
equally many digits, increases by one each: objects that are numbered consecutively take nearly no room for their names.

Common words are usually old and have small term ids, so the gaps between the terms of a record grow with the term ids:
k is the number of bits of the term id before + 2, less 2, and at least 4. The first term follows a term -1.

Rows that cannot be dense keep the form in `objects.pyx`: rows of buckets with lists in the order of association, whose
records contain numbers of blocks, and rows of large objects, which a PUSH changes in place.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from sonicpy._native.bit_stream cimport (
    SPARE_BYTES,
    BitReader,
    BitWriter,
    begin_bits,
    end_bits,
    is_at_end,
    put_bits,
    put_golomb,
    take_bits,
    take_golomb,
)
from sonicpy._native.bits cimport count_bits, highest_bit
from sonicpy._native.objects cimport read_item
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef uint64_t TERM_ID_MAX = (<uint64_t> 1 << 40) - 1
cdef uint64_t NONE = UINT64_MAX


cpdef bytes dense_row(bytes row):
    """Return the dense form of a row; the row itself if it cannot be dense, or is dense already.

    Args:
        row: a row packed by `RecordRow`, of records without numbers of blocks.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef Item item
    cdef Rest rests[PLACES]
    cdef NameWriter names
    cdef BitWriter bits
    cdef uint8_t room[NAMES_BYTES_MAX]
    cdef Term *terms
    cdef uint8_t *packed
    cdef Py_ssize_t size = 0, most = 1
    cdef int count = 0, before = -1, places = 0, number
    if row is None:
        raise TypeError("a row is bytes")
    if not row or is_dense_row(row):
        return row
    at = <const uint8_t *> PyBytes_AS_STRING(row)
    end = at + PyBytes_GET_SIZE(row)
    begin_writing(&names, room + HEAD_BYTES)
    while at < end:
        read_item(&at, end, before, &item)
        before = item.place
        if item.rest_size > REST_BYTES_MAX:
            return row
        places |= 1 << item.place
        put_name(&names, &item)
        rests[count] = Rest(item.rest, item.rest_size)
        size += item.rest_size
        most = max(most, <Py_ssize_t> item.rest_size)
        count += 1
    number = put_places(room, places)
    terms = <Term *> malloc(most * sizeof(Term) + NAMES_BYTES_MAX + size * TERM_BYTES_MAX + count * 16 + SPARE_BYTES)
    if terms == NULL:
        raise MemoryError
    try:
        packed = <uint8_t *> (terms + most)
        size = names.out - room - number
        memcpy(packed, room + number, size)
        begin_bits(&bits, packed + size)
        for number in range(count):
            if not put_terms(&bits, &rests[number], terms):
                return row
        return PyBytes_FromStringAndSize(<char *> packed, end_bits(&bits) - packed)
    finally:
        free(terms)


cdef bytes plain_row(bytes row):
    """Return the plain form (`objects.pyx`) of a dense row. Raises DamagedBytes."""
    cdef Names names
    cdef BitReader bits
    cdef Py_ssize_t most = open_row(row, &bits)
    cdef uint8_t *room = <uint8_t *> malloc(PLACES * (3 + OID_BYTES_MAX + 10) + 2 * most)
    cdef uint8_t *rest = room + PLACES * (3 + OID_BYTES_MAX + 10) + most  # of one record, before its size is known
    cdef uint8_t *out = room
    cdef uint8_t *rest_end
    if room == NULL:
        raise MemoryError
    try:
        begin_names(&names, row)
        while next_name(&names):
            out[0], out[1], out[2] = <uint8_t> names.place, names.shared, names.oid_size - names.shared
            memcpy(out + 3, names.oid + names.shared, names.oid_size - names.shared)
            rest_end = take_terms(&bits, rest)
            if rest_end == NULL:
                raise damaged()
            out = put_varint(out + 3 + names.oid_size - names.shared, rest_end - rest)
            memcpy(out, rest, rest_end - rest)
            out += rest_end - rest
        if not is_at_end(&bits):
            raise damaged()
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)


cdef bytes dense_record(bytes row, int place):
    """Return the record at `place` of a dense row; None: there is none at the place. Raises DamagedBytes."""
    cdef Names names
    cdef BitReader bits
    cdef Py_ssize_t most = open_row(row, &bits)
    cdef uint8_t *room = <uint8_t *> malloc(1 + OID_BYTES_MAX + most)
    cdef uint8_t *rest = room + 1 + OID_BYTES_MAX
    cdef uint8_t *rest_end
    cdef uint8_t *start
    if room == NULL:
        raise MemoryError
    try:
        begin_names(&names, row)
        while next_name(&names) and names.place <= place:
            if names.place < place:
                if not skip_terms(&bits):
                    raise damaged()
                continue
            rest_end = take_terms(&bits, rest)
            if rest_end == NULL:
                raise damaged()
            start = rest - names.oid_size - 1
            start[0] = names.oid_size
            memcpy(start + 1, names.oid, names.oid_size)
            return PyBytes_FromStringAndSize(<char *> start, rest_end - start)
        return None
    finally:
        free(room)


cdef Py_ssize_t open_row(bytes row, BitReader *bits) except -1:
    """Set `bits` to the terms of the first record; return the most bytes that the terms of all records can take in
    plain form. Raises DamagedBytes."""
    cdef uint64_t most = 0
    begin_terms(row, bits, &most)
    return PLACES * 10 + most * PLAIN_TERM_BYTES_MAX


cdef int begin_terms(bytes row, BitReader *bits, uint64_t *most) except -1:
    """Set `bits` to the terms of the first record, and `most` to the most terms that a record can have; return the
    places that have a record, as bits. Raises DamagedBytes."""
    cdef Names names
    begin_names(&names, row)
    bits.start = end_of_names(&names)
    bits.size, bits.at = names.end - bits.start, 0
    most[0] = 8 * bits.size // TERM_BITS_MIN
    return names.places


cdef bytes dense_names(bytes row):
    """Return the OIDs of a dense row as `objects.names_of_row` does. Raises DamagedBytes."""
    cdef uint8_t room[PLACES * (2 + OID_BYTES_MAX)]
    cdef uint8_t *out = room
    cdef Names names
    begin_names(&names, row)
    while next_name(&names):
        out[0], out[1] = <uint8_t> names.place, names.oid_size
        memcpy(out + 2, names.oid, names.oid_size)
        out += 2 + names.oid_size
    return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef object damaged():
    return DamagedBytes("a dense row of objects cannot be read")


# -- OIDs -------------------------------------------------------------------------------------------------------------


cdef int put_places(uint8_t *out, int places) noexcept nogil:
    """Write the places that have a record, as the end of the first HEAD_BYTES; return the index at which the row
    begins."""
    if places == ALL_PLACES:
        out[HEAD_BYTES - 1] = FULL
        return HEAD_BYTES - 1
    out[0], out[1], out[2] = PARTLY, <uint8_t> places, <uint8_t> (places >> 8)
    return 0


cdef int begin_names(Names *names, bytes row) except -1:
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    names.at, names.end = at + 1, at + PyBytes_GET_SIZE(row)
    names.places = ALL_PLACES
    if at[0] == PARTLY:
        if names.end - at < HEAD_BYTES:
            raise damaged()
        names.at = at + HEAD_BYTES
        names.places = at[1] | at[2] << 8
    names.place, names.more, names.oid_size = -1, 0, 0
    return 0


cdef bint next_name(Names *names) except -1:
    """Go on to the next OID; return False if there is none. Raises DamagedBytes."""
    cdef const uint8_t *at = names.at
    cdef int size
    if not names.places:
        if names.more:
            raise damaged()
        return False
    names.place += 1
    while not names.places & 1:
        names.places >>= 1
        names.place += 1
    names.places >>= 1
    if names.more:
        names.more -= 1
        size = count_up(names.oid, names.oid_size)
        if size < 0:
            raise damaged()
        names.shared = <uint8_t> size
        return True
    if names.end - at < 3 or names.end - at < 3 + at[1] or at[0] > names.oid_size or not 0 < at[0] + at[1] <= OID_BYTES_MAX:
        raise damaged()
    memcpy(names.oid + at[0], at + 2, at[1])
    names.shared, names.oid_size = at[0], at[0] + at[1]
    names.more = at[2 + at[1]]
    names.at = at + 3 + at[1]
    return True


cdef const uint8_t *end_of_names(const Names *names) except NULL:
    """Return the end of the OIDs, where the terms begin. Raises DamagedBytes."""
    cdef const uint8_t *at = names.at
    cdef int left = count_bits(names.places)
    while left > 0:
        if names.end - at < 3 or names.end - at < 3 + at[1]:
            raise damaged()
        left -= 1 + at[2 + at[1]]
        at += 3 + at[1]
    if left:
        raise damaged()
    return at


cdef void begin_writing(NameWriter *names, uint8_t *out) noexcept nogil:
    names.out, names.more, names.oid_size, names.has_next = out, NULL, 0, False


cdef void put_name(NameWriter *names, const Item *item) noexcept nogil:
    """Write the next OID."""
    cdef int size = item.oid_size, shared = 0
    if names.has_next and size == names.oid_size and memcmp(names.next, item.oid, size) == 0:
        names.more[0] += 1
    else:
        while shared < size and shared < names.oid_size and item.oid[shared] == names.oid[shared]:
            shared += 1
        names.out[0], names.out[1] = <uint8_t> shared, <uint8_t> (size - shared)
        memcpy(names.out + 2, item.oid + shared, size - shared)
        names.more = names.out + 2 + size - shared
        names.more[0] = 0
        names.out = names.more + 1
    memcpy(names.oid, item.oid, size)
    memcpy(names.next, item.oid, size)
    names.oid_size = size
    names.has_next = count_up(names.next, size) >= 0


cdef int count_up(uint8_t *oid, int size) noexcept nogil:
    """Add one to the number at the end of an OID; return the number of unchanged bytes; -1: the number is all nines."""
    cdef int at = size - 1, step
    while at >= 0 and oid[at] == c'9':
        at -= 1
    if at < 0 or not c'0' <= oid[at] < c'9':
        return -1
    oid[at] += 1
    for step in range(at + 1, size):
        oid[step] = c'0'
    return at


# -- terms ------------------------------------------------------------------------------------------------------------


cdef inline int k_behind(uint64_t following) noexcept nogil:
    """Return the k of a term, given its smallest possible term id."""
    return max(K_MIN, highest_bit(following + 1) + 1 - K_LESS)


cdef inline bint read_terms(const Rest *rest, Term *terms, uint64_t *count) noexcept nogil:
    """Read the terms of a plain record; return False if they cannot be in a dense row.

    Args:
        terms: room for `rest.size` terms.
        count: set to the number of terms.
    """
    cdef const uint8_t *at = rest.at
    cdef const uint8_t *end = at + rest.size
    cdef uint64_t step, found = 0, tf, term_id = 0, following = 0
    if get_varint(&at, end, count) < 0 or count[0] > rest.size:
        return False
    for step in range(count[0]):
        tf = 1
        if get_varint(&at, end, &found) < 0 or (found & 1 and get_varint(&at, end, &tf) < 0):
            return False
        term_id += found >> 2
        if term_id < following or term_id > TERM_ID_MAX or tf > UINT32_MAX or (found & 1) != (tf != 1):
            return False
        if not tf and not found >> 1 & 1:
            return False
        terms[step] = Term(term_id, <uint32_t> tf, found >> 1 & 1)
        following = term_id + 1
    return at == end


cdef bint put_terms(BitWriter *bits, const Rest *rest, Term *terms) noexcept nogil:
    """Write the terms of a plain record; return False if they cannot be in a dense row: then nothing was written.

    Args:
        bits: at the place for the terms, with room for TERM_BYTES_MAX bytes for each byte of `rest`, and 16 more.
        terms: room for `rest.size` terms, for work.
    """
    cdef uint64_t count = 0, step, following = 0, marked = 0
    cdef bint any_hidden = False
    if not read_terms(rest, terms, &count):
        return False
    for step in range(count):
        marked += terms[step].tf > 1 or terms[step].hidden
        any_hidden |= terms[step].hidden
    put_golomb(bits, count, COUNT_K)
    put_bits(bits, marked > 0, 1)
    if marked:
        put_golomb(bits, marked - 1, 0)
        put_bits(bits, any_hidden, 1)
        for step in range(count):
            if terms[step].tf > 1 or terms[step].hidden:
                put_bits(bits, step, place_bits(count))
                if any_hidden:
                    put_bits(bits, terms[step].hidden and terms[step].tf > 0, 1)
                put_golomb(bits, max(<int64_t> terms[step].tf - 2 + any_hidden, 0), 0)
    for step in range(count):
        put_golomb(bits, terms[step].term_id - following, k_behind(following))
        following = terms[step].term_id + 1
    return True


cdef inline int place_bits(uint64_t count) noexcept nogil:
    """Return the number of bits for a place among `count` terms."""
    return highest_bit(count - 1) + 1 if count > 1 else 0


cdef struct Marks:  # reads the marks of a record
    BitReader bits
    uint64_t left
    int width
    bint any_hidden
    uint64_t place  # of the mark that was read last; `NONE` behind the last one
    uint64_t tf
    bint hidden


cdef bint next_mark(Marks *marks) noexcept nogil:
    """Go on to the next mark; return False if it is impossible."""
    cdef uint64_t before = marks.place
    if not marks.left:
        marks.place = NONE
        return True
    marks.left -= 1
    marks.place = take_bits(&marks.bits, marks.width)
    marks.hidden = marks.any_hidden and take_bits(&marks.bits, 1)
    if not take_golomb(&marks.bits, 0, &marks.tf):
        return False
    marks.tf += 2 - marks.any_hidden
    if marks.tf == 1 and not marks.hidden:  # no mark of a word: it is hidden and adds nothing to the length
        marks.tf, marks.hidden = 0, marks.any_hidden
    return marks.tf <= UINT32_MAX and (before == NONE or marks.place > before) and (marks.hidden or marks.tf > 1)


cdef bint take_marks(BitReader *bits, uint64_t count, Marks *marks) noexcept nogil:
    """Read the marks of a record, and set `marks` to the first one. Return False if they cannot be read."""
    cdef Marks read
    marks.left, marks.place, marks.any_hidden = 0, NONE, False
    if take_bits(bits, 1):
        if not take_golomb(bits, 0, &marks.left) or marks.left >= count:
            return False
        marks.left += 1
        marks.any_hidden = take_bits(bits, 1)
        marks.width = place_bits(count)
        marks.bits = bits[0]
        read = marks[0]
        while read.left:
            if not next_mark(&read):
                return False
        if read.place >= count:
            return False
        bits[0] = read.bits
    return next_mark(marks)


cdef bint skip_terms(BitReader *bits) noexcept nogil:
    """Skip the terms of a record; return False if the bits are no terms."""
    cdef uint64_t count = 0, step, gap = 0, following = 0
    cdef Marks marks
    cdef BitReader here
    if not take_golomb(bits, COUNT_K, &count) or count > 8 * bits.size // TERM_BITS_MIN:
        return False
    if not take_marks(bits, count, &marks):
        return False
    here = bits[0]  # which the compiler keeps in registers
    for step in range(count):
        if not take_golomb(&here, k_behind(following), &gap) or gap > TERM_ID_MAX or here.at > 8 * here.size:
            return False
        following += gap + 1
        if following > TERM_ID_MAX + 1:
            return False
    bits.at = here.at
    return True


cdef int64_t take_ids(BitReader *bits, uint64_t *ids) noexcept nogil:
    """Read the ids of the terms of a record; return how many there are, or -1: the bits are no terms.

    Args:
        bits: at the terms of the record; afterwards behind them.
        ids: has room for as many ids as `begin_terms` found.
    """
    cdef uint64_t count = 0, step, gap = 0, following = 0
    cdef Marks marks
    if not take_golomb(bits, COUNT_K, &count) or count > 8 * bits.size // TERM_BITS_MIN:
        return -1
    if not take_marks(bits, count, &marks):
        return -1
    for step in range(count):
        if not take_golomb(bits, k_behind(following), &gap) or gap > TERM_ID_MAX or bits.at > 8 * bits.size:
            return -1
        following += gap
        if following > TERM_ID_MAX:
            return -1
        ids[step] = following
        following += 1
    return count


cdef uint8_t *take_terms(BitReader *bits, uint8_t *out) noexcept nogil:
    """Read the terms of a record, and write them as in a plain record, behind its OID.

    Args:
        bits: at the terms of the record; afterwards behind them.
        out: has room for as many bytes as `open_row` returned for the row.

    Returns:
        The end of the written bytes, or NULL: the bits are no terms.
    """
    cdef uint64_t count = 0, step, gap = 0, before = 0, following = 0, tf
    cdef Marks marks
    cdef bint hidden
    if not take_golomb(bits, COUNT_K, &count) or count > 8 * bits.size // TERM_BITS_MIN:
        return NULL
    if not take_marks(bits, count, &marks):
        return NULL
    out = put_varint(out, count)
    for step in range(count):
        if not take_golomb(bits, k_behind(following), &gap) or gap > TERM_ID_MAX or bits.at > 8 * bits.size:
            return NULL
        following += gap
        if following > TERM_ID_MAX:
            return NULL
        tf, hidden = 1, False
        if step == marks.place:
            tf, hidden = marks.tf, marks.hidden
            next_mark(&marks)
        out = put_varint(out, (following - before) << 2 | <uint64_t> hidden << 1 | (tf != 1))
        if tf != 1:
            out = put_varint(out, tf)
        before = following
        following += 1
    return out
