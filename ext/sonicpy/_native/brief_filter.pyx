"""Reads, in one pass, filters of a few tags and comparisons that all have to hold, as most filters are.

    brief       = condition { "AND" condition }
    condition   = quoted | word | word ( "<" | "<=" | "=" | "!=" | ">=" | ">" ) number

A brief filter is ASCII, without escapes.
"""

from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.stdint cimport int64_t

from sonicpy._native.named_tuples cimport made

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    CONDITIONS_MAX = 8
    DIGITS_MAX = 18
    NAMES_KNOWN = 256

cdef int64_t LOWEST = -(2**63), HIGHEST = 2**63 - 1


cdef enum Sign:
    NONE, BELOW, UP_TO, EQUAL, OTHER, FROM, ABOVE


cdef inline bint is_blank(char letter) noexcept nogil:
    return letter == b" " or b"\t" <= letter <= b"\r"


cdef inline bint begins_word(char letter) noexcept nogil:
    return b"a" <= letter <= b"z" or b"A" <= letter <= b"Z" or letter == b"_"


cdef inline bint is_in_word(char letter) noexcept nogil:
    return begins_word(letter) or b"-" <= letter <= b":"  # - . / digits :


cdef inline const char *behind_blanks(const char *at, const char *end) noexcept nogil:
    while at < end and is_blank(at[0]):
        at += 1
    return at


cdef Sign read_sign(const char **at, const char *end) noexcept nogil:
    """Read the sign of a comparison, if there is one, and return it."""
    cdef char first = at[0][0] if at[0] < end else 0
    cdef bint is_two = at[0] + 1 < end and at[0][1] == b"="
    if first == b"=":
        at[0] += 1
        return EQUAL
    if first == b"!" and is_two:
        at[0] += 2
        return OTHER
    if first != b"<" and first != b">":
        return NONE
    at[0] += 1 + is_two
    if first == b"<":
        return UP_TO if is_two else BELOW
    return FROM if is_two else ABOVE


cdef bint read_number(const char **at, const char *end, int64_t *number) noexcept nogil:
    """Read a whole number of a few digits; return False if none is there, or other text follows."""
    cdef bint is_negative = at[0] < end and at[0][0] == b"-"
    cdef const char *start
    at[0] += is_negative
    start = at[0]
    number[0] = 0
    while at[0] < end and b"0" <= at[0][0] <= b"9" and at[0] - start < DIGITS_MAX:
        number[0] = 10 * number[0] + (at[0][0] - <char> b'0')
        at[0] += 1
    if is_negative:
        number[0] = -number[0]
    return at[0] > start and (at[0] == end or is_blank(at[0][0]))


cdef bint read_and(const char **at, const char *end) noexcept nogil:
    """Read the word AND and the blanks behind it; return False if the word is missing."""
    if end - at[0] < 4 or at[0][0] != b"A" or at[0][1] != b"N" or at[0][2] != b"D" or not is_blank(at[0][3]):
        return False
    at[0] = behind_blanks(at[0] + 4, end)
    return True


cdef class BriefFilters:
    """Reads brief filters.

    Args:
        has_tag, in_range, not_met, all_of: the classes of conditions, all of them of tuples.
        keywords: the words of filters that are neither tags nor names of values.
        is_name: a function that returns whether values may have a name.
        tag_max: the most bytes of a tag.
        length_max: the most letters of a filter.
        other: a function that returns the condition of any other filter, or raises an error.
    """
    cdef type _has_tag, _in_range, _not_met, _all_of
    cdef object _keywords, _is_name, _other
    cdef Py_ssize_t _tag_max, _length_max
    cdef tuple _last  # the last brief filter, and its condition: each is checked first, and used then
    cdef set _names  # that values may have

    def __init__(self, type has_tag not None, type in_range not None, type not_met not None, type all_of not None,
                 keywords not None, is_name not None, Py_ssize_t tag_max, Py_ssize_t length_max, other not None):
        for kind in (has_tag, in_range, not_met, all_of):
            if not issubclass(kind, tuple):
                raise TypeError(f"conditions are tuples, and {kind.__name__} is none")
        self._has_tag, self._in_range, self._not_met, self._all_of = has_tag, in_range, not_met, all_of
        self._keywords, self._is_name, self._tag_max = keywords, is_name, tag_max
        self._length_max, self._other = length_max, other
        self._names = set()
        self._last = (None, None)

    def __contains__(self, text) -> bool:
        """Return whether a value is a brief filter, as a str."""
        return type(text) is str and self.known(text) is not None

    def parse(self, str text not None):
        """Return the condition of a filter. Raises the errors of `other`."""
        found = self.known(text)
        return self._other(text) if found is None else found

    cdef object known(self, str text):
        """Return the condition of a brief filter; None: the text is none."""
        cdef tuple last = self._last
        cdef object found
        if last[0] is text:
            return last[1]
        found = self.read(text)
        if found is not None:
            self._last = (text, found)
        return found

    cpdef object read(self, str text):
        """Return the condition of a filter; None: the text is not a brief filter, or no filter at all."""
        cdef Py_ssize_t size, clauses = 0
        cdef const char *at
        cdef const char *end
        cdef list found = []
        if len(text) > self._length_max or not PyUnicode_IS_ASCII(text):
            return None
        at = PyUnicode_AsUTF8AndSize(text, &size)
        end = at + size
        at = behind_blanks(at, end)
        while True:
            clauses += 1
            if clauses > CONDITIONS_MAX or not self.read_condition(&at, end, found):
                return None
            at = behind_blanks(at, end)
            if at == end:
                break
            if not read_and(&at, end):
                return None
        return found[0] if len(found) == 1 else made(self._all_of, (tuple(found),))

    cdef bint read_condition(self, const char **at, const char *end, list found) except -1:
        """Read a condition, and add it to `found`, a comparison perhaps as two conditions.

        Args:
            at: the place in the text, behind blanks; afterwards behind the condition, if there is one.
            end: the end of the text.

        Returns:
            Whether there is a condition that a brief filter may have; if not, `at` is at any place.
        """
        cdef const char *start
        cdef str name
        cdef Sign sign
        cdef int64_t number
        if at[0] < end and at[0][0] == b'"':
            return self.read_quoted(at, end, found)
        if at[0] == end or not begins_word(at[0][0]):
            return False
        start = at[0]
        while at[0] < end and is_in_word(at[0][0]):
            at[0] += 1
        if at[0] < end and at[0][0] == b'"':
            return False
        name = PyUnicode_DecodeASCII(start, at[0] - start, NULL)
        if name in self._keywords:
            return False
        start = at[0] if len(name) <= self._tag_max else NULL
        at[0] = behind_blanks(at[0], end)
        sign = read_sign(at, end)
        if sign == NONE:
            if start == NULL:
                return False
            at[0] = start
            found.append(made(self._has_tag, ((name,),)))
            return True
        at[0] = behind_blanks(at[0], end)
        if not read_number(at, end, &number) or not self.names_values(name):
            return False
        self.add_comparison(found, name, sign, number)
        return True

    cdef bint read_quoted(self, const char **at, const char *end, list found) except -1:
        """Read a tag in quotes, without escapes, and add its condition to `found`; return False if there is none.

        Args:
            at: the place of the first quote; afterwards the place behind the second one, if there is a tag.
        """
        cdef const char *start = at[0] + 1
        at[0] = start
        while at[0] < end and at[0][0] != b'"':
            if not b" " <= at[0][0] <= b"~" or at[0][0] == b"\\":
                return False
            at[0] += 1
        if at[0] == end or not 0 < at[0] - start <= self._tag_max:
            return False
        found.append(made(self._has_tag, ((PyUnicode_DecodeASCII(start, at[0] - start, NULL),),)))
        at[0] += 1
        return True

    cdef bint names_values(self, str name) except -1:
        if name in self._names:
            return True
        if not self._is_name(name):
            return False
        if len(self._names) >= NAMES_KNOWN:
            self._names.clear()
        self._names.add(name)
        return True

    cdef int add_comparison(self, list found, str name, Sign sign, int64_t number) except -1:
        if sign == OTHER:
            found.append(made(self._in_range, (name, LOWEST, HIGHEST)))
            found.append(made(self._not_met, (made(self._in_range, (name, number, number)),)))
            return 0
        low = LOWEST if sign < EQUAL else number + (sign == ABOVE)
        high = HIGHEST if sign > EQUAL else number - (sign == BELOW)
        found.append(made(self._in_range, (name, low, high)))
        return 0
