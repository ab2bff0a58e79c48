"""Words as one text with line feeds between them, which a search for letters inside of words passes over once."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memchr

cdef extern from *:
    """
    #include <string.h>
    void *memmem(const void *, size_t, const void *, size_t);
    """
    const char *memmem(const void *text, size_t size, const void *letters, size_t count) noexcept nogil


def words_holding(const unsigned char[::1] text not None, bytes letters not None, Py_ssize_t most) -> list:
    """Return the words that hold some letters, in their order, at most `most`.

    Args:
        text: words, each with a line feed behind it.
        letters: in UTF-8, without a line feed; none: no word holds them.
    """
    cdef const char *first
    cdef const char *end
    cdef const char *at
    cdef const char *start
    cdef const char *behind
    cdef Py_ssize_t count = PyBytes_GET_SIZE(letters)
    cdef const char *wanted = PyBytes_AS_STRING(letters)
    cdef list found = []
    if not count or not text.shape[0]:
        return found
    first = at = <const char *> &text[0]
    end = first + text.shape[0]
    while len(found) < most:
        at = memmem(at, end - at, wanted, count)
        if at == NULL:
            break
        start = at
        while start > first and (start - 1)[0] != 10:
            start -= 1
        behind = <const char *> memchr(at, 10, end - at)
        if behind == NULL:
            break
        found.append(PyBytes_FromStringAndSize(start, behind - start))
        at = behind + 1
    return found
