"""The joints of camelCase, which folding would lose: getElementById is get, element, by and id."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint32_t

from sonicpy._native.characters cimport ALPHANUMERIC, DIGIT, fold_distance, properties
from sonicpy._native.utf8 cimport decode

cdef enum:
    JOINTS_MAX = 15  # of one word
    JOINT = 2  # the byte for a joint in a hidden term, and before its first part

    FINAL_SIGMA = 0x3C2  # a small letter that folds to another one
    CASED_END = 0x590  # Latin, Greek, Cyrillic and Armenian end
    EXTENDED_BEGIN = 0x1E00  # Latin and Greek with more marks
    EXTENDED_END = 0x2000


cdef inline bint is_capital(uint32_t point) noexcept nogil:
    if point < 0x80:
        return c'A' <= point <= c'Z'
    return fold_distance(point) != 0 and point != FINAL_SIGMA


cdef inline bint is_small(uint32_t point) noexcept nogil:
    """Return whether a letter of a script with capitals is a small one."""
    if point < 0x80:
        return c'a' <= point <= c'z'
    if not (point < CASED_END or EXTENDED_BEGIN <= point < EXTENDED_END):
        return False
    return properties(point) & (ALPHANUMERIC | DIGIT) == ALPHANUMERIC and not is_capital(point)


cdef inline int find_joints(const uint8_t *word, Py_ssize_t size, int32_t *places) noexcept nogil:
    """Write the places where the parts of a word begin, except the first part, and return the number of places.

    A part begins at a capital letter behind a small one, and at the last of several capitals if two small letters
    follow it: HTTPServer, but PDFs. Borders between letters and digits need no joint, because they can be seen in the
    folded word.

    Args:
        places: room for JOINTS_MAX places.
    """
    cdef Py_ssize_t at = 0, before = 0, next_at
    cdef uint32_t point, last = 0
    cdef int width, count = 0, next_width
    while at < size and count < JOINTS_MAX:
        point = decode(word, at, &width)
        if at and is_capital(point):
            next_at = at + width
            if is_small(last):
                places[count] = <int32_t> at
                count += 1
            elif is_capital(last) and next_at < size and is_small(decode(word, next_at, &next_width)):
                next_at += next_width
                if next_at < size and is_small(decode(word, next_at, &next_width)):
                    places[count] = <int32_t> at
                    count += 1
        last = point
        at += width
    return count


cdef inline bytes normal_joints(const uint8_t *word, Py_ssize_t size, object normalize):
    """Return a normal word in camelCase as its parts, each behind the byte JOINT; another one as it is.

    Args:
        normalize: str -> str, the normalisation of a piece.
    """
    cdef int32_t places[JOINTS_MAX + 1]
    cdef int count = find_joints(word, size, places), step
    cdef int32_t begin = 0
    cdef list parts = [b""] if count else []
    places[count] = <int32_t> size
    for step in range(count + 1):
        part = PyUnicode_DecodeUTF8(<const char *> word + begin, places[step] - begin, NULL)
        parts.append((<str> normalize(part)).encode())
        begin = places[step]
    return b"\2".join(parts)
