"""The bytes of orders: the words of an object one behind the other.

    order    in bits (bit_stream.pxd): bits(1) whether it is whole; if not, golomb(0) the number of pieces, 0 for one
             and 1 for none; bits(1) whether there are gaps; per piece golomb(0) of its number of words less that of
             the terms, a sign in the lowest bit, and each word in bits(n) as the place of its term among the terms of
             the record. n is the length of the last place; a gap is the place behind the last one
    whole    a single piece with each of at most 64 terms once: of each word its place among the terms that did not
             come before, by rising place, as a digit whose base is their number (Lehmer, "Teaching combinatorial
             tricks to a computer", 1960); the first digit is the lowest one. As many digits as fit make a number below
             2**56, in the bits of the largest one
    compact  the words of a single piece without gaps, in a record of at most 64 terms: bits(1) whether one comes
             twice; per word, if so, bits(1) whether it came before, and bits(n) its place among the terms that came
             before, in their order, or else among those that did not, by rising place; n is the length of the last of
             these places
    given    in records of the log: per piece v(number of words), and per word v(1 + number of its term in the text), 0
             for a gap

A piece is the text of one PUSH. A gap takes the place of a word that was removed.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memmove

from sonicpy._native.bit_stream cimport (
    BITS_MAX,
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
from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

from sonicpy._native.varint import DamagedBytes

WORDS_MAX = MOST_WORDS

cdef enum:
    MOST_WORDS = 65_535  # of an object
    GAP = -1


# -- orders -----------------------------------------------------------------------------------------------------------

cdef inline int width_of(uint64_t terms, bint has_gaps) noexcept nogil:
    """Return the number of bits of a place."""
    cdef uint64_t last = terms if has_gaps else terms - 1
    return highest_bit(last) + 1 if last and (terms or has_gaps) else 0


cdef inline uint64_t signed_number(int64_t number) noexcept nogil:
    return <uint64_t> number << 1 if number >= 0 else (<uint64_t> -number << 1) - 1


cdef inline bint is_few(uint64_t terms, bint has_gaps) noexcept nogil:
    return 0 < terms <= FEW_TERMS and not has_gaps


cdef inline int place_bits(int count) noexcept nogil:
    """Return the number of bits for a place among `count` places."""
    return highest_bit(count - 1) + 1 if count > 1 else 0


cdef inline int number_bits(uint64_t count) noexcept nogil:
    """Return the number of bits for a number below `count`."""
    return highest_bit(count - 1) + 1 if count > 1 else 0


cdef inline bint is_number_full(uint64_t count, int more) noexcept nogil:
    """Return whether the number `count` has no room for another digit with the base `more`."""
    return count * more > <uint64_t> 1 << BITS_MAX


cdef bint is_whole(const uint32_t *piece, Py_ssize_t count, uint64_t terms) noexcept nogil:
    """Return whether a piece has each of `terms` terms exactly once."""
    cdef uint64_t seen = 0
    cdef Py_ssize_t number
    if <uint64_t> count != terms or not is_few(terms, False):
        return False
    for number in range(count):
        if seen >> piece[number] & 1:
            return False
        seen |= <uint64_t> 1 << piece[number]
    return True


cdef void put_whole(BitWriter *bits, const uint32_t *piece, int terms) noexcept nogil:
    """Write the places of the words of a piece in the whole form."""
    cdef uint64_t number = 0, count = 1, seen = 0, own
    cdef int step
    for step in range(terms):
        if is_number_full(count, terms - step):
            put_bits(bits, number, number_bits(count))
            number, count = 0, 1
        own = <uint64_t> 1 << piece[step]
        number += (piece[step] - count_bits(seen & (own - 1))) * count
        count *= terms - step
        seen |= own
    put_bits(bits, number, number_bits(count))


cdef void put_only_piece(BitWriter *bits, const uint32_t *piece, Py_ssize_t count, uint64_t terms) noexcept nogil:
    """Write the order of a single piece without gaps."""
    cdef int width
    cdef Py_ssize_t number
    if is_whole(piece, count, terms):
        put_bits(bits, 1, 1)
        put_whole(bits, piece, <int> terms)
        return
    put_bits(bits, 0, 1)
    put_golomb(bits, swapped(1), 0)
    put_bits(bits, 0, 1)
    put_golomb(bits, signed_number(<int64_t> count - <int64_t> terms), 0)
    if is_few(terms, False):
        put_compact(bits, piece, count, <int> terms)
        return
    width = width_of(terms, False)
    for number in range(count):
        put_bits(bits, piece[number], width)


cdef int put_only_list(BitWriter *bits, list piece, uint64_t terms) except -1:
    cdef Py_ssize_t count = len(piece), number
    cdef uint32_t *places = <uint32_t *> malloc((count + 1) * sizeof(uint32_t))
    if places == NULL:
        raise MemoryError
    for number in range(count):
        places[number] = piece[number]
    put_only_piece(bits, places, count, terms)
    free(places)
    return 0


cdef void put_compact(BitWriter *bits, const uint32_t *piece, Py_ssize_t count, int terms) noexcept nogil:
    """Write the places of the words of a piece in the compact form."""
    cdef uint8_t left[FEW_TERMS]
    cdef uint8_t used[FEW_TERMS]
    cdef int left_count = terms, used_count = 0, at
    cdef uint64_t seen = 0
    cdef bint repeats = False, came
    cdef Py_ssize_t number
    for at in range(terms):
        left[at] = <uint8_t> at
    for number in range(count):
        repeats |= seen >> piece[number] & 1
        seen |= <uint64_t> 1 << piece[number]
    put_bits(bits, repeats, 1)
    seen = 0
    for number in range(count):
        came = seen >> piece[number] & 1
        if repeats:
            put_bits(bits, came, 1)
        at = 0
        if came:
            while used[at] != piece[number]:
                at += 1
            put_bits(bits, at, place_bits(used_count))
            continue
        while left[at] != piece[number]:
            at += 1
        put_bits(bits, at, place_bits(left_count))
        left_count -= 1
        memmove(left + at, left + at + 1, left_count - at)
        used[used_count] = <uint8_t> piece[number]
        used_count += 1
        seen |= <uint64_t> 1 << piece[number]


cdef inline uint64_t swapped(uint64_t pieces) noexcept nogil:
    return pieces ^ 1 if pieces < 2 else pieces


def pack_order(list pieces not None, Py_ssize_t terms) -> bytes:
    """Return the bytes of an order.

    Args:
        pieces: for each piece, the places of its words among the terms of the record, -1 for a gap.
        terms: the number of terms of the record.

    Raises:
        ValueError: a place is out of range.
    """
    cdef list piece
    cdef Py_ssize_t words = 0
    cdef bint has_gaps = False
    cdef int64_t place
    cdef int width
    cdef BitWriter bits
    cdef uint8_t *room
    for piece in pieces:
        words += len(piece)
        for place in piece:
            if place >= terms or place < GAP:
                raise ValueError(f"a word has the place {place} of {terms}")
            has_gaps |= place == GAP
    width = width_of(terms, has_gaps)
    room = <uint8_t *> malloc(16 + 16 * len(pieces) + 4 * words + SPARE_BYTES)
    if room == NULL:
        raise MemoryError
    try:
        begin_bits(&bits, room)
        if len(pieces) == 1 and not has_gaps:
            put_only_list(&bits, pieces[0], terms)
            return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)
        put_bits(&bits, 0, 1)
        put_golomb(&bits, swapped(len(pieces)), 0)
        put_bits(&bits, has_gaps, 1)
        for piece in pieces:
            put_golomb(&bits, signed_number(<int64_t> len(piece) - terms), 0)
            for place in piece:
                put_bits(&bits, <uint64_t> (terms if place == GAP else place), width)
        return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)
    finally:
        free(room)


cdef bint begin_places(Places *places, const uint8_t *order, uint64_t size, uint64_t terms) noexcept nogil:
    """Go to the first piece; return False if the bits end first."""
    cdef bint has_gaps
    places.bits = BitReader(order, size, 0)
    places.is_whole = take_bits(&places.bits, 1)
    if places.is_whole:
        places.pieces, places.terms, places.words, places.in_number = 1, terms, 0, 0
        return size > 0 and is_few(terms, False)
    if not take_golomb(&places.bits, 0, &places.pieces):
        return False
    places.pieces = swapped(places.pieces)
    places.terms, places.words = terms, 0
    has_gaps = take_bits(&places.bits, 1)
    places.width = width_of(terms, has_gaps)
    places.is_compact = places.pieces == 1 and is_few(terms, has_gaps)
    return places.bits.at <= 8 * size


cdef bint next_piece(Places *places) noexcept nogil:
    """Go on to the next piece; return False if its length cannot be read."""
    cdef uint64_t more = 0
    cdef int number
    places.pieces -= 1
    if places.is_whole:
        places.words, places.left_count = places.terms, <int> places.terms
        for number in range(<int> places.terms):
            places.left[number] = <uint8_t> number
        return True
    if not take_golomb(&places.bits, 0, &more):
        return False
    if more & 1:
        more = (more + 1) >> 1
        if more > places.terms:
            return False
        places.words = places.terms - more
    else:
        places.words = places.terms + (more >> 1)
    if not places.is_compact:
        return places.words <= MOST_WORDS and places.bits.at + places.words * places.width <= 8 * places.bits.size
    places.repeats = take_bits(&places.bits, 1)
    places.left_count, places.used_count = <int> places.terms, 0
    for number in range(<int> places.terms):
        places.left[number] = <uint8_t> number
    return places.words <= MOST_WORDS


cdef bint next_number(Places *places) noexcept nogil:
    """Read the digits of the next words of a piece in the whole form; return False if they cannot be read."""
    cdef uint64_t count = 1
    cdef int left_count = places.left_count, width
    while left_count and not is_number_full(count, left_count):
        count *= left_count
        left_count -= 1
    width = number_bits(count)
    if places.bits.at + width > 8 * places.bits.size:
        return False
    places.number, places.in_number = take_bits(&places.bits, width), places.left_count - left_count
    return places.number < count


cdef bint next_place(Places *places, uint64_t *place) noexcept nogil:
    """Read the place of the next word of a piece, `terms` for a gap; return False if it cannot be read."""
    cdef int at
    places.words -= 1
    if places.is_whole:
        if not places.in_number and not next_number(places):
            return False
        at = <int> (places.number % places.left_count)
        place[0] = places.left[at]
        places.number //= places.left_count
        places.in_number -= 1
        places.left_count -= 1
        memmove(places.left + at, places.left + at + 1, places.left_count - at)
        return True
    if not places.is_compact:
        place[0] = take_bits(&places.bits, places.width)
        return place[0] <= places.terms
    if places.bits.at > 8 * places.bits.size:
        return False
    if places.repeats and take_bits(&places.bits, 1):
        at = <int> take_bits(&places.bits, place_bits(places.used_count))
        if at >= places.used_count:
            return False
        place[0] = places.used[at]
        return True
    at = <int> take_bits(&places.bits, place_bits(places.left_count))
    if at >= places.left_count:
        return False
    place[0] = places.left[at]
    places.left_count -= 1
    memmove(places.left + at, places.left + at + 1, places.left_count - at)
    places.used[places.used_count] = <uint8_t> place[0]
    places.used_count += 1
    return True


def unpack_order(bytes order not None, uint64_t terms) -> list:
    """Return the pieces that `pack_order` packed. Raises DamagedBytes."""
    cdef Places places
    cdef list pieces = [], piece
    cdef uint64_t place = 0
    if not begin_places(&places, <const uint8_t *> PyBytes_AS_STRING(order), PyBytes_GET_SIZE(order), terms):
        raise damaged()
    while places.pieces:
        if not next_piece(&places):
            raise damaged()
        piece = []
        while places.words:
            if not next_place(&places, &place):
                raise damaged()
            piece.append(GAP if place == terms else <int64_t> place)
        pieces.append(piece)
    if not is_at_end(&places.bits):
        raise damaged()
    return pieces


cdef object damaged():
    return DamagedBytes("the order of the words of an object cannot be read")


# -- orders in records of the log ---------------------------------------------------------------------------------------

def pack_given(list pieces not None) -> bytes:
    """Return pieces packed for a record of the log.

    Args:
        pieces: for each piece, the numbers of the terms of its words, -1 for a gap.
    """
    cdef list piece
    cdef Py_ssize_t size = 0
    cdef int64_t number
    cdef bytes packed
    cdef uint8_t *out
    for piece in pieces:
        size += varint_bytes(len(piece))
        for number in piece:
            size += varint_bytes(<uint64_t> (number + 1))
    packed = PyBytes_FromStringAndSize(NULL, size)
    out = <uint8_t *> PyBytes_AS_STRING(packed)
    for piece in pieces:
        out = put_varint(out, len(piece))
        for number in piece:
            out = put_varint(out, <uint64_t> (number + 1))
    return packed


def pack_count(uint64_t count) -> bytes:
    """Return the fact with the number of objects that have an order."""
    cdef uint8_t room[10]
    return PyBytes_FromStringAndSize(<char *> room, put_varint(room, count) - room)


def unpack_given(bytes given not None, Py_ssize_t terms) -> list:
    """Return the pieces that `pack_given` packed. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(given)
    cdef const uint8_t *end = at + PyBytes_GET_SIZE(given)
    cdef uint64_t words = 0, number = 0
    cdef list pieces = [], piece
    while at < end:
        if get_varint(&at, end, &words) < 0 or words > <uint64_t> (end - at):
            raise damaged()
        piece = []
        while words:
            if get_varint(&at, end, &number) < 0 or number > <uint64_t> terms:
                raise damaged()
            piece.append(<int64_t> number - 1)
            words -= 1
        pieces.append(piece)
    return pieces


cdef struct Numbered:
    uint64_t term_id
    uint32_t number


cdef void sort_by_id(Numbered *terms, Py_ssize_t count) noexcept nogil:
    """Sort terms by id; a few terms are sorted by insertion."""
    cdef Py_ssize_t number, at
    cdef Numbered own
    if count > FEW_TERMS:
        qsort(terms, count, sizeof(Numbered), by_id)
        return
    for number in range(1, count):
        own, at = terms[number], number
        while at and terms[at - 1].term_id > own.term_id:
            terms[at] = terms[at - 1]
            at -= 1
        terms[at] = own


cdef int by_id(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Numbered *> left).term_id, b = (<const Numbered *> right).term_id
    return (a > b) - (a < b)


def order_of_new(bytes given not None, bytes packed_ids not None) -> bytes:
    """Return the order of an object whose only text is new; None: it is not a single piece without gaps, or it has more
    than WORDS_MAX words.

    Args:
        given: the order in a record of the log, a single piece.
        packed_ids: the ids of the terms of the text, as numbers of 64 bits.

    Raises:
        DamagedBytes: `given` cannot be read.
    """
    cdef Py_ssize_t count = PyBytes_GET_SIZE(packed_ids) // <Py_ssize_t> sizeof(uint64_t), number
    cdef Py_ssize_t size = PyBytes_GET_SIZE(given)
    cdef const uint64_t *ids = <const uint64_t *> PyBytes_AS_STRING(packed_ids)
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(given)
    cdef const uint8_t *end = at + size
    cdef uint64_t words = 0, value = 0, step
    cdef Numbered *sorted_ids = <Numbered *> malloc(
        count * (sizeof(Numbered) + sizeof(uint32_t)) + size * sizeof(uint32_t) + 32 + 4 * size + SPARE_BYTES
    )
    cdef uint32_t *places = <uint32_t *> (sorted_ids + count)
    cdef uint32_t *piece = places + count
    cdef uint8_t *room = <uint8_t *> (piece + size)
    cdef BitWriter bits
    if sorted_ids == NULL:
        raise MemoryError
    try:
        for number in range(count):
            sorted_ids[number] = Numbered(ids[number], <uint32_t> number)
        sort_by_id(sorted_ids, count)
        for number in range(count):
            places[sorted_ids[number].number] = <uint32_t> number
        if at < end and (get_varint(&at, end, &words) < 0 or words > <uint64_t> (end - at)):
            raise damaged()
        if words > MOST_WORDS:
            return None
        for step in range(words):
            if get_varint(&at, end, &value) < 0 or value > <uint64_t> count:
                raise damaged()
            if value == 0:
                return None
            piece[step] = places[value - 1]
        if at != end:
            return None
        begin_bits(&bits, room)
        if words:
            put_only_piece(&bits, piece, words, count)
        else:
            put_bits(&bits, 0, 1)
            put_golomb(&bits, swapped(0), 0)
            put_bits(&bits, 0, 1)
        return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)
    finally:
        free(sorted_ids)
