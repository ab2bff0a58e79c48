"""Packs the terms of named texts for records; `sonicpy.store.rows.named_words` describes their form.

The terms are in rising order of their bytes, as records need them. A name has only bytes that are larger than 0x01: so
the terms of one name are neighbours, in the order of the names, and the term for a text as a whole comes before its
words.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memchr, memcmp, memcpy

from sonicpy._native.byte_order cimport compare_bytes
from sonicpy._native.terms cimport F_PART, Terms
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    BETWEEN = 1
    WHOLE_MAX = 16  # as in `named_words`, like the next
    WHOLE_TF = 255
    NUMBER_BYTES = 10  # of a varint, at most


cdef struct Piece:
    const uint8_t *start
    Py_ssize_t size


def pack_named(list texts not None) -> bytes:
    """Return the words of named texts, and the terms that represent whole texts, packed for a record.

    Args:
        texts: pairs (name, terms), by rising names, without equal names.
    """
    cdef Py_ssize_t total = NUMBER_BYTES, count = 0, at
    cdef bytes name, packed
    cdef Terms terms
    cdef list words, wholes = []
    for name, terms in texts:
        words = terms.words
        whole = whole_of(words, terms.flags)
        wholes.append(whole)
        if whole is not None:
            count += 1
            total += NUMBER_BYTES + 3 + PyBytes_GET_SIZE(name) + PyBytes_GET_SIZE(whole)
        count += len(words)
        total += len(words) * (NUMBER_BYTES + 3 + PyBytes_GET_SIZE(name))
        for word in words:
            total += PyBytes_GET_SIZE(<bytes?> word)
    packed = PyBytes_FromStringAndSize(NULL, total)
    cdef uint8_t *begin = <uint8_t *> PyBytes_AS_STRING(packed)
    cdef uint8_t *out = put_varint(begin, count)
    for at in range(len(texts)):
        name, terms = texts[at]
        out = put_text(out, name, terms.words, wholes[at])
    return packed[:out - begin]


cdef bytes whole_of(list words, bytes flags):
    """Return the word that represents a whole text: all its words that are not parts of others; None: there are no such
    words, or too many. Raises ValueError unless every word has flags.
    """
    cdef const uint8_t *flag = <const uint8_t *> PyBytes_AS_STRING(flags)
    cdef Py_ssize_t number
    cdef list own = []
    if PyBytes_GET_SIZE(flags) != len(words):
        raise ValueError("every word needs flags")
    for number in range(len(words)):
        if not flag[number] & F_PART:
            if len(own) == WHOLE_MAX:
                return None
            own.append(words[number])
    return b"\1" + b"\1".join(own) if own else None


cdef uint8_t *put_text(uint8_t *out, bytes name, list words, bytes whole) except NULL:
    """Write the terms of one text, for which there must be room; return the place behind them."""
    cdef Py_ssize_t number, count = len(words)
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(name)
    cdef Piece piece
    cdef Piece *pieces = <Piece *> malloc((count + 1) * sizeof(Piece))
    if pieces == NULL:
        raise MemoryError
    for number in range(count):
        pieces[number] = piece_of(words[number])
    qsort(pieces, count, sizeof(Piece), by_bytes)
    if whole is not None:
        piece = piece_of(whole)
        out = put_term(out, start, PyBytes_GET_SIZE(name), &piece)
    for number in range(count):
        out = put_term(out, start, PyBytes_GET_SIZE(name), &pieces[number])
    free(pieces)
    return out


cdef inline Piece piece_of(bytes word) noexcept:
    return Piece(<const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))


cdef int by_bytes(const void *left, const void *right) noexcept nogil:
    cdef const Piece *a = <const Piece *> left
    cdef const Piece *b = <const Piece *> right
    return compare_bytes(a.start, a.size, b.start, b.size)


cdef inline uint8_t *put_term(uint8_t *out, const uint8_t *name, Py_ssize_t size, const Piece *word) noexcept nogil:
    out = put_varint(out, size + 1 + word.size)
    memcpy(out, name, size)
    out[size] = BETWEEN
    out += size + 1
    memcpy(out, word.start, word.size)
    out += word.size
    out[0] = 1
    out[1] = 0
    return out + 2


def unpack_named(bytes packed not None) -> tuple:
    """Return the terms of named texts, each with the frequency that its postings have, and the names of the texts.

    Raises:
        DamagedBytes: the bytes are cut off, the terms are not in rising order, or one lacks a name or a word.
    """
    cdef Terms terms = Terms.__new__(Terms)
    cdef list words = []
    cdef tuple names = read_named(packed, words)
    cdef bytes counts = PyBytes_FromStringAndSize(NULL, len(words))
    cdef uint8_t *count = <uint8_t *> PyBytes_AS_STRING(counts)
    cdef Py_ssize_t number
    for number in range(len(words)):
        count[number] = WHOLE_TF if has_whole(piece_of(words[number])) else 1
    terms.words, terms.counts, terms.flags, terms.last = words, counts, bytes(len(words)), -1
    terms.typed = []
    return terms, names


cdef inline bint has_whole(Piece term) noexcept nogil:
    cdef const uint8_t *end = term.start + term.size
    cdef const uint8_t *at = <const uint8_t *> memchr(term.start, BETWEEN, term.size)
    while at != NULL and at + 1 < end:
        if at[1] == BETWEEN:
            return True
        at = <const uint8_t *> memchr(at + 1, BETWEEN, end - at - 1)
    return False


def names_of_named(bytes packed not None) -> tuple:
    """Return the names of the texts that `pack_named` packed, rising. Raises DamagedBytes as `unpack_named` does."""
    return read_named(packed, None)


cdef tuple read_named(bytes packed, list words):
    """Add the packed terms to `words`, unless it is None, and return the names of the texts. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(packed)
    cdef const uint8_t *end = at + PyBytes_GET_SIZE(packed)
    cdef const uint8_t *before = NULL
    cdef const uint8_t *name = NULL
    cdef const uint8_t *between
    cdef Py_ssize_t before_size = 0, name_size = 0
    cdef uint64_t count = 0, step, size = 0
    cdef list names = []
    if get_varint(&at, end, &count) < 0:
        raise DamagedBytes("a list of terms is cut off")
    for step in range(count):
        if get_varint(&at, end, &size) < 0 or end - at < 2 or size > <uint64_t> (end - at - 2):
            raise DamagedBytes("a list of terms is cut off")
        between = <const uint8_t *> memchr(at, BETWEEN, size)
        if between == NULL or between == at or between + 1 == at + size or (
            before != NULL and compare_bytes(before, before_size, at, size) >= 0
        ):
            raise DamagedBytes("the terms of named texts do not rise, or lack a name")
        if name == NULL or between - at != name_size or memcmp(name, at, name_size):
            name, name_size = at, between - at
            names.append(PyBytes_FromStringAndSize(<const char *> name, name_size))
        if words is not None:
            words.append(PyBytes_FromStringAndSize(<const char *> at, size))
        before, before_size = at, size
        at += size + 2
    if at != end:
        raise DamagedBytes("a list of terms has bytes behind its end")
    return tuple(names)


def pack_ids(list ids not None) -> bytes:
    """Return the row of the ids of the terms of one object, in the form of `sonicpy.store.rows.id_row`."""
    cdef Py_ssize_t number, count = len(ids)
    cdef uint64_t before = 0
    cdef uint64_t *rising = <uint64_t *> malloc((count + 1) * sizeof(uint64_t))
    cdef uint8_t *begin = <uint8_t *> malloc(count * NUMBER_BYTES + 1)
    cdef uint8_t *out = begin
    if rising == NULL or begin == NULL:
        free(rising)
        free(begin)
        raise MemoryError
    try:
        for number in range(count):
            rising[number] = ids[number]
        qsort(rising, count, sizeof(uint64_t), by_number)
        for number in range(count):
            out = put_varint(out, rising[number] - before)
            before = rising[number]
        return PyBytes_FromStringAndSize(<const char *> begin, out - begin)
    finally:
        free(rising)
        free(begin)


cdef int by_number(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const uint64_t *> left)[0], b = (<const uint64_t *> right)[0]
    return (a > b) - (a < b)


def owners_of(bytes row not None, bytearray owners not None) -> int:
    """Return the texts that an object has, as bits, from a row of `pack_ids`.

    Args:
        owners: for each term id, the bit of its text.

    Raises:
        DamagedBytes: the row cannot be read, or has an id that `owners` lacks.
    """
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    cdef const uint8_t *end = at + PyBytes_GET_SIZE(row)
    cdef const uint8_t[:] bits = owners
    cdef uint64_t term_id = 0, more = 0, most = <uint64_t> len(owners)
    cdef int found = 0
    while at < end:
        if get_varint(&at, end, &more) < 0:
            raise DamagedBytes("the row of the ids of an object is cut off")
        term_id += more
        if term_id >= most:
            raise DamagedBytes(f"an object has the term {term_id} of named texts, of {most}")
        found |= bits[term_id]
    return found
