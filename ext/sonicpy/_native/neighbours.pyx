"""Words that the neighbours in a query make together: `iphone 15` and `iphone15`, `foo.bar` and `foobar`."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from sonicpy._native.characters cimport BYTE_KINDS, IN_DIGITS, IN_LETTERS, UNSPACED, properties_at
from sonicpy._native.terms cimport F_PART, F_STOP, Terms
from sonicpy._native.word_break cimport letter_end
from sonicpy._native.word_source cimport is_in_some

from sonicpy._native.parts import tokens_of

cdef enum:
    WORDS_MAX = 8
    PLAIN_MAX = 4
    DIGITS_MAX = 6
    SIGNED_MAX = 3
    INITIALS_MIN = 2
    INITIALS_MAX = 5
    JOINED_BYTES = 400  # of words together, at most, that are looked for before they are made

TERMS_MAX = WORDS_MAX
"""The most terms of a query whose neighbours are joined; a query with more is a sentence."""
TOGETHER_MAX = PLAIN_MAX
"""The most words that one joined word is made of."""
DIGITS_TOGETHER_MAX = DIGITS_MAX
"""The most groups of digits that one joined number is made of."""

cdef bytes NOTHING = b""
cdef tuple SIGNS = (b".", b"_", b":")  # between the words of a joined word of at most SIGNED_MAX

cdef struct Shape:  # of a word
    Py_ssize_t number  # of its term
    bint is_digits
    bint is_stop
    bint is_letter  # a single letter of a run without blanks


def words_together(Terms terms not None, list sources=None) -> dict:
    """Return the words that neighbours make together, and words written without the signs inside them, each with the
    numbers of its terms; {} for a sentence.

    Args:
        sources: words that none of these has may be left out; None: all are wanted.
    """
    cdef Shape shapes[WORDS_MAX]
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef Py_ssize_t number, count = 0
    cdef dict found = {}
    for number in range(len(terms.words)):
        if not flags[number] & F_PART:
            if count == WORDS_MAX:
                return {}
            read_shape(&shapes[count], terms.words[number], flags[number], number)
            count += 1
    if count > 1:
        add_neighbours(found, sources, terms.words, shapes, count)
        add_repeated(found, terms, shapes, count)
    for number in range(count):
        if not shapes[number].is_stop:
            add_closed(found, sources, terms.words[shapes[number].number], shapes[number].number)
    return found


cdef int read_shape(Shape *shape, bytes word, uint8_t flags, Py_ssize_t number) except -1:
    cdef const uint8_t *text = <const uint8_t *> <const char *> word
    shape.number = number
    shape.is_digits = has_only(text, len(word), IN_DIGITS)
    shape.is_stop = flags & F_STOP != 0
    shape.is_letter = properties_at(text, len(word), 0) & UNSPACED != 0 and letter_end(text, len(word), 0) == len(word)
    return 0


cdef inline bint has_only(const uint8_t *text, Py_ssize_t size, int kinds) noexcept nogil:
    """Return whether a word consists of ASCII characters of `kinds`: letters, or digits."""
    cdef Py_ssize_t at
    for at in range(size):
        if text[at] >= 0x80 or not BYTE_KINDS[text[at]] & kinds:
            return False
    return size > 0


cdef int add_neighbours(dict found, list sources, list words, const Shape *shapes, Py_ssize_t count) except -1:
    """Add the words that terms make together which follow each other."""
    cdef Py_ssize_t first, end
    cdef bint are_digits, are_stops
    for first in range(count - 1):
        are_digits, are_stops = shapes[first].is_digits, shapes[first].is_stop
        for end in range(first + 2, min(first + DIGITS_MAX, count) + 1):
            are_digits = are_digits and shapes[end - 1].is_digits
            are_stops = are_stops and shapes[end - 1].is_stop
            if shapes[end - 1].is_letter or (end - first > PLAIN_MAX and not are_digits):
                break
            if shapes[first].is_letter or are_stops:
                continue
            add_joined(found, sources, words, shapes, first, end, NOTHING)
            if end - first <= SIGNED_MAX:
                for sign in SIGNS:
                    add_joined(found, sources, words, shapes, first, end, sign)
    return 0


cdef int add_joined(
    dict found, list sources, list words, const Shape *shapes, Py_ssize_t first, Py_ssize_t end, bytes sign
) except -1:
    """Add the word that the terms from `first` to `end` - 1 make with a sign between neighbours, if a source has it.
    Without sources (None), add it anyway."""
    cdef uint8_t[JOINED_BYTES] text
    cdef Py_ssize_t number, size = 0
    cdef bytes word
    if sources is not None:
        for number in range(first, end):
            word = words[shapes[number].number]
            if size + len(word) >= JOINED_BYTES:
                size = -1
                break
            if size and len(sign):
                text[size] = (<const uint8_t *> <const char *> sign)[0]
                size += 1
            memcpy(text + size, <const char *> word, len(word))
            size += len(word)
        if size >= 0 and not is_in_some(sources, text, size):
            return 0
    found[sign.join([words[shapes[number].number] for number in range(first, end)])] = tuple(
        [shapes[number].number for number in range(first, end)]
    )
    return 0


cdef int add_repeated(dict found, Terms terms, const Shape *shapes, Py_ssize_t count) except -1:
    """Add the number that all terms make together, if they are groups of digits of which some are equal: 1,000,000."""
    cdef Py_ssize_t place, groups = 0
    cdef const uint8_t *counts = <const uint8_t *> <const char *> terms.counts
    for place in range(count):
        if not shapes[place].is_digits:
            return 0
        groups += counts[shapes[place].number]
    if count < groups <= DIGITS_MAX:
        numbers = tuple([shapes[place].number for place in range(count)])
        found[NOTHING.join([terms.words[number] * counts[number] for number in numbers])] = numbers
    return 0


cdef int add_closed(dict found, list sources, bytes word, Py_ssize_t number) except -1:
    """Add a word written without the signs inside it, or with points between its letters, if a short word may be
    initials."""
    cdef const uint8_t *text = <const uint8_t *> <const char *> word
    cdef list tokens
    if not has_only(text, len(word), IN_LETTERS | IN_DIGITS):
        tokens = tokens_of(word)
        if len(tokens) > 1:
            found[NOTHING.join(tokens)] = (number,)
            for sign in SIGNS if len(tokens) <= SIGNED_MAX else ():
                found[(<bytes> sign).join(tokens)] = (number,)
    elif INITIALS_MIN <= len(word) <= INITIALS_MAX and has_only(text, len(word), IN_LETTERS):
        add_with_points(found, sources, text, len(word), number)
        if len(word) > INITIALS_MIN:  # Ph.D., M.Sc.
            add_with_point(found, sources, text, len(word), 1, number)
            add_with_point(found, sources, text, len(word), len(word) - 1, number)
    return 0


cdef int add_with_point(
    dict found, list sources, const uint8_t *letters, Py_ssize_t count, Py_ssize_t place, Py_ssize_t number
) except -1:
    """Add at most INITIALS_MAX letters with a point before the letter at `place`."""
    cdef uint8_t[INITIALS_MAX + 1] text
    memcpy(text, letters, place)
    text[place] = c"."
    memcpy(text + place + 1, letters + place, count - place)
    return add_word(found, sources, text, count + 1, number)


cdef int add_with_points(dict found, list sources, const uint8_t *letters, Py_ssize_t count, Py_ssize_t number) except -1:
    """Add at most INITIALS_MAX letters with a point between any two neighbours."""
    cdef uint8_t[2 * INITIALS_MAX] text
    cdef Py_ssize_t at
    for at in range(count):
        text[2 * at], text[2 * at + 1] = letters[at], c"."
    return add_word(found, sources, text, 2 * count - 1, number)


cdef int add_word(dict found, list sources, const uint8_t *text, Py_ssize_t size, Py_ssize_t number) except -1:
    if sources is None or is_in_some(sources, text, size):
        found[PyBytes_FromStringAndSize(<const char *> text, size)] = (number,)
    return 0
