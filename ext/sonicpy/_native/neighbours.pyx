"""Words that the neighbours in a query make together: `iphone 15` and `iphone15`, `foo.bar` and `foobar`."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from sonicpy._native.characters cimport (
    ALPHANUMERIC, BYTE_KINDS, DIGIT, IN_DIGITS, IN_LETTERS, MARK, UNSPACED, properties_at,
)
from sonicpy._native.terms cimport F_PART, F_STOP, Terms
from sonicpy._native.utf8 cimport decode
from sonicpy._native.word_break cimport letter_end
from sonicpy._native.word_source cimport is_in_some

from sonicpy._native.parts import tokens_of

cdef enum:
    WORDS_MAX = 8
    PLAIN_MAX = 4
    DIGITS_MAX = 6
    SIGNED_MAX = 3
    VERSION_DIGITS_MAX = 3
    INITIALS_MIN = 2
    INITIALS_MAX = 8
    ABBREVIATED_MAX = 5  # letters of Ph.D., M.Sc.
    HEBREW_FIRST = 0x590  # scripts before it have capitals
    O_LETTERS_MIN = 4  # of a name that may be written with an apostrophe behind its O
    CYRILLIC_FIRST = 0xD0  # the first bytes of letters of Cyrillic in UTF-8
    CYRILLIC_LAST = 0xD1
    JOINED_BYTES = 400  # of words together, at most, that are looked for before they are made

TERMS_MAX = WORDS_MAX
"""The most terms of a query whose neighbours are joined; a query with more is a sentence."""
TOGETHER_MAX = PLAIN_MAX
"""The most words that one joined word is made of."""
DIGITS_TOGETHER_MAX = DIGITS_MAX
"""The most groups with digits that one joined number or code is made of."""

cdef bytes NOTHING = b""
cdef tuple APOSTROPHES = (b"'", "\u2019".encode(), "\u02bc".encode())
cdef bytes BEFORE_APOSTROPHE = "бвкмпрф".encode()  # in Ukrainian, before
cdef bytes BEHIND_APOSTROPHE = "єїюя".encode()
cdef tuple SIGNS = (b".", b"_", b":")  # between the words of a joined word of at most SIGNED_MAX

cdef struct Shape:  # of a word
    Py_ssize_t number  # of its term
    bint is_digits
    bint has_digit
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
        add_versions(found, sources, terms.words, shapes, count)
    for number in range(count):
        if not shapes[number].is_stop:
            add_closed(found, sources, terms.words[shapes[number].number], shapes[number].number)
    return found


cdef int read_shape(Shape *shape, bytes word, uint8_t flags, Py_ssize_t number) except -1:
    cdef const uint8_t *text = <const uint8_t *> <const char *> word
    shape.number = number
    shape.is_digits = has_only(text, len(word), IN_DIGITS)
    shape.has_digit = shape.is_digits or has_some(text, len(word), IN_DIGITS)
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


cdef inline bint has_some(const uint8_t *text, Py_ssize_t size, int kinds) noexcept nogil:
    """Return whether a word has some ASCII letter, or digit."""
    cdef Py_ssize_t at
    for at in range(size):
        if BYTE_KINDS[text[at]] & kinds:
            return True
    return False


cdef int add_neighbours(dict found, list sources, list words, const Shape *shapes, Py_ssize_t count) except -1:
    """Add the words that terms make together which follow each other."""
    cdef Py_ssize_t first, end
    cdef bint are_codes, are_stops
    for first in range(count - 1):
        are_codes, are_stops = shapes[first].has_digit, shapes[first].is_stop
        for end in range(first + 2, min(first + DIGITS_MAX, count) + 1):
            are_codes = are_codes and shapes[end - 1].has_digit
            are_stops = are_stops and shapes[end - 1].is_stop
            if shapes[end - 1].is_letter or (end - first > PLAIN_MAX and not are_codes):
                break
            if shapes[first].is_letter or are_stops:
                continue
            add_joined(found, sources, words, shapes, first, end, NOTHING)
            if end - first <= SIGNED_MAX:
                for sign in SIGNS:
                    add_joined(found, sources, words, shapes, first, end, sign)
                if has_single_letter(words, shapes, first, end):  # O'Brien, rock'n'roll
                    for sign in APOSTROPHES:
                        add_joined(found, sources, words, shapes, first, end, sign)
    return 0


cdef bint has_single_letter(list words, const Shape *shapes, Py_ssize_t first, Py_ssize_t end) except -1:
    """Return whether one of the terms from `first` to `end` - 1 is a letter of ASCII."""
    cdef Py_ssize_t number
    cdef bytes word
    for number in range(first, end):
        word = words[shapes[number].number]
        if len(word) == 1 and has_only(<const uint8_t *> <const char *> word, 1, IN_LETTERS):
            return True
    return False


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
            if size + len(sign) + len(word) >= JOINED_BYTES:
                size = -1
                break
            if size:
                memcpy(text + size, <const char *> sign, len(sign))
                size += len(sign)
            memcpy(text + size, <const char *> word, len(word))
            size += len(word)
        if size >= 0 and not is_in_some(sources, text, size):
            return 0
    found[sign.join([words[shapes[number].number] for number in range(first, end)])] = tuple(
        [shapes[number].number for number in range(first, end)]
    )
    return 0


cdef int add_versions(dict found, list sources, list words, const Shape *shapes, Py_ssize_t count) except -1:
    """Add the first number of a version as it is behind a v, and without one: 14.2.1 is three words, and v14.2.1 is v14,
    2 and 1."""
    cdef uint8_t[VERSION_DIGITS_MAX + 1] text
    cdef Py_ssize_t place
    cdef bytes word
    for place in range(count - 1):
        word = words[shapes[place].number]
        if shapes[place].is_digits and shapes[place + 1].is_digits and len(word) <= VERSION_DIGITS_MAX:
            text[0] = c"v"
            memcpy(text + 1, <const char *> word, len(word))
            add_word(found, sources, text, len(word) + 1, shapes[place].number)
        elif shapes[place + 1].is_digits and 1 < len(word) <= VERSION_DIGITS_MAX + 1 and word[0] == c"v":
            memcpy(text, <const char *> word + 1, len(word) - 1)
            if has_only(text, len(word) - 1, IN_DIGITS):
                add_word(found, sources, text, len(word) - 1, shapes[place].number)
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
    """Add a word written without the signs inside it, with the apostrophe that it may have, or with points between its
    letters, if a short word may be initials."""
    cdef const uint8_t *text = <const uint8_t *> <const char *> word
    cdef list tokens
    if not has_only(text, len(word), IN_LETTERS | IN_DIGITS):
        tokens = tokens_of(word)
        if len(tokens) > 1:
            found[NOTHING.join(tokens)] = (number,)
            for sign in SIGNS if len(tokens) <= SIGNED_MAX else ():
                found[(<bytes> sign).join(tokens)] = (number,)
        else:
            add_with_points(found, sources, text, len(word), number)
            if CYRILLIC_FIRST <= text[0] <= CYRILLIC_LAST:
                add_soft(found, sources, text, len(word), number)
    elif has_only(text, len(word), IN_LETTERS):
        add_with_points(found, sources, text, len(word), number)
        if text[0] == c"o" and len(word) >= O_LETTERS_MIN:  # O'Neal
            add_with_apostrophe(found, sources, text, len(word), 1, number)
        if INITIALS_MIN < len(word) <= ABBREVIATED_MAX:  # Ph.D., M.Sc.
            add_with_point(found, sources, text, len(word), 1, number)
            add_with_point(found, sources, text, len(word), len(word) - 1, number)
    return 0


cdef int add_soft(dict found, list sources, const uint8_t *word, Py_ssize_t size, Py_ssize_t number) except -1:
    """Add a word of Cyrillic with the apostrophe that Ukrainian has behind a hard consonant."""
    cdef Py_ssize_t at
    for at in range(2, size - 1):
        if is_letter_of(BEHIND_APOSTROPHE, word + at) and is_letter_of(BEFORE_APOSTROPHE, word + at - 2):
            add_with_apostrophe(found, sources, word, size, at, number)
    return 0


cdef inline bint is_letter_of(bytes letters, const uint8_t *letter) noexcept:
    """Return whether a letter of two bytes is among some others of two bytes."""
    cdef const uint8_t *text = <const uint8_t *> <const char *> letters
    cdef Py_ssize_t at
    for at in range(0, len(letters), 2):
        if text[at] == letter[0] and text[at + 1] == letter[1]:
            return True
    return False


cdef int add_with_apostrophe(
    dict found, list sources, const uint8_t *word, Py_ssize_t size, Py_ssize_t place, Py_ssize_t number
) except -1:
    """Add a word with an apostrophe at `place`."""
    cdef uint8_t[JOINED_BYTES] text
    cdef bytes sign
    if size + 3 > JOINED_BYTES:
        return 0
    memcpy(text, word, place)
    for sign in APOSTROPHES:
        memcpy(text + place, <const char *> sign, len(sign))
        memcpy(text + place + len(sign), word + place, size - place)
        add_word(found, sources, text, size + len(sign), number)
    return 0


cdef int add_with_point(
    dict found, list sources, const uint8_t *letters, Py_ssize_t count, Py_ssize_t place, Py_ssize_t number
) except -1:
    """Add at most ABBREVIATED_MAX letters of ASCII with a point before the letter at `place`."""
    cdef uint8_t[ABBREVIATED_MAX + 1] text
    memcpy(text, letters, place)
    text[place] = c"."
    memcpy(text + place + 1, letters + place, count - place)
    return add_word(found, sources, text, count + 1, number)


cdef int add_with_points(dict found, list sources, const uint8_t *word, Py_ssize_t size, Py_ssize_t number) except -1:
    """Add a word with a point between any two neighbours, if it consists of two to INITIALS_MAX letters of scripts with
    capitals."""
    cdef uint8_t[3 * INITIALS_MAX] text
    cdef Py_ssize_t at = 0, written = 0
    cdef int letters = 0, width
    while at < size:
        letters += 1
        if (
            letters > INITIALS_MAX or decode(word, at, &width) >= HEBREW_FIRST
            or properties_at(word, size, at) & (ALPHANUMERIC | DIGIT | MARK) != ALPHANUMERIC
        ):
            return 0
        if at:
            text[written] = c"."
            written += 1
        memcpy(text + written, word + at, width)
        at += width
        written += width
    return add_word(found, sources, text, written, number) if letters >= INITIALS_MIN else 0


cdef int add_word(dict found, list sources, const uint8_t *text, Py_ssize_t size, Py_ssize_t number) except -1:
    if sources is None or is_in_some(sources, text, size):
        found[PyBytes_FromStringAndSize(<const char *> text, size)] = (number,)
    return 0
