"""Words of Chinese text by a dictionary: the way through a text whose words are the most frequent together.

The file, in the order of bytes of the machine that packed it (ext/tables/chinese_words.py):

    8 bytes MAGIC, then uint32 nodes, uint32 weights, double weight of a character that is no word
    double[weights]      logarithms of relative frequencies; the first is unused
    uint32[nodes + 1]    for each node its first child; its children end where those of the next node begin
    uint16[nodes]        for each node its character
    uint16[nodes]        for each node the number of the weight of the word that ends there, or 0
    uint16[65536]        for each character the child of the root, which is node 0, or 0
"""

cimport cython
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ, PyUnicode_Substring
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

cdef enum:
    HEADER_BYTES = 24
    CHARACTERS = 65536


@cython.final
cdef class ChineseWords:
    """A dictionary in a buffer, such as a mapped file, of which only the pages that texts need are read.

    Raises:
        ValueError: the buffer is no such dictionary, or not all of one.
    """

    cdef const uint8_t[::1] _buffer
    cdef const double *_logarithms
    cdef const uint32_t *_first
    cdef const uint16_t *_labels
    cdef const uint16_t *_numbers
    cdef const uint16_t *_roots
    cdef uint32_t _nodes, _weights
    cdef double _unknown

    def __init__(self, const uint8_t[::1] buffer):
        cdef const uint8_t *start
        cdef size_t size = buffer.shape[0]
        if size < HEADER_BYTES or memcmp(&buffer[0], b"SPYCHIN1", 8) != 0:
            raise ValueError("the dictionary of Chinese words is damaged: it begins with other bytes")
        start = &buffer[0]
        self._nodes, self._weights = (<const uint32_t *>start)[2], (<const uint32_t *>start)[3]
        self._unknown = (<const double *>start)[2]
        if size != HEADER_BYTES + <size_t>8 * self._weights + <size_t>8 * self._nodes + 4 + 2 * CHARACTERS:
            raise ValueError("the dictionary of Chinese words is damaged: it has another size than it states")
        self._buffer = buffer
        self._logarithms = <const double *>(start + HEADER_BYTES)
        self._first = <const uint32_t *>(self._logarithms + self._weights)
        self._labels = <const uint16_t *>(self._first + self._nodes + 1)
        self._numbers = self._labels + self._nodes
        self._roots = self._numbers + self._nodes

    def cut(self, str text not None):
        """Return the pieces of a text, which together are the text: words, ASCII letters and digits in a row, single
        characters.

        Raises:
            ValueError: the dictionary is damaged.
        """
        cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
        cdef double *scores
        cdef Py_ssize_t *ends
        if self._logarithms is NULL:
            raise ValueError("no dictionary of Chinese words")
        scores = <double *>malloc((length + 1) * (sizeof(double) + sizeof(Py_ssize_t)))
        if scores is NULL:
            raise MemoryError
        ends = <Py_ssize_t *>(scores + length + 1)
        try:
            if not self._find_ends(PyUnicode_KIND(text), PyUnicode_DATA(text), length, scores, ends):
                raise ValueError("the dictionary of Chinese words is damaged: a node lies outside it")
            return _pieces(text, length, ends)
        finally:
            free(scores)

    cdef bint _find_ends(
        self, int kind, void *data, Py_ssize_t length, double *scores, Py_ssize_t *ends
    ) noexcept:
        """Find where the best word from each character on ends, the last character first; False: damaged."""
        cdef Py_ssize_t start = length, end
        cdef uint32_t node, number
        cdef double score, best
        cdef Py_UCS4 character
        scores[length] = 0.0
        while start > 0:
            start -= 1
            character = PyUnicode_READ(kind, data, start)
            ends[start] = start + 1
            if not _in_words(character):
                scores[start] = 0.0  # each stretch is cut for itself, so that sums are rounded alike
                continue
            best = self._unknown + scores[start + 1]
            node = self._roots[character] if character < CHARACTERS else 0
            end = start + 1
            while node != 0:
                if node >= self._nodes:
                    return False
                number = self._numbers[node]
                if number != 0:
                    if number >= self._weights:
                        return False
                    score = self._logarithms[number] + scores[end]
                    if score >= best or end == start + 1:  # of equal ways, the one with the longer word
                        best = score
                        ends[start] = end
                if end == length:
                    break
                if not self._step(&node, PyUnicode_READ(kind, data, end)):
                    return False
                end += 1
            scores[start] = best
        return True

    cdef inline bint _step(self, uint32_t *node, Py_UCS4 character) noexcept:
        """Go to the child of a character, or to 0; False: damaged."""
        cdef uint32_t low = self._first[node[0]], high = self._first[node[0] + 1], middle, end = high
        if low > high or high > self._nodes:
            return False
        while low < high:
            middle = (low + high) >> 1
            if self._labels[middle] < character:
                low = middle + 1
            else:
                high = middle
        node[0] = low if low < end and self._labels[low] == character else 0
        return True


cdef inline bint _is_alphanumeric(Py_UCS4 character) noexcept:
    return c"0" <= character <= c"9" or c"A" <= character <= c"Z" or c"a" <= character <= c"z"


cdef inline bint _in_words(Py_UCS4 character) noexcept:
    """Return whether words have this character: Han, ASCII letters and digits, and +#&._%-."""
    if character < 128:
        return _is_alphanumeric(character) or character in (c"+", c"#", c"&", c".", c"_", c"%", c"-")
    return (
        0x3400 <= character <= 0x4DBF or 0x4E00 <= character <= 0x9FFF or 0xF900 <= character <= 0xFAFF
        or 0x20000 <= character <= 0x323AF
    )


cdef list _pieces(str text, Py_ssize_t length, const Py_ssize_t *ends):
    """Return the pieces that end at `ends`, with single ASCII letters and digits in a row, and CR LF, as one."""
    cdef list pieces = []
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef Py_ssize_t start = 0, end
    cdef Py_UCS4 character
    while start < length:
        end = ends[start]
        if end == start + 1:
            character = PyUnicode_READ(kind, data, start)
            if _is_alphanumeric(character):
                while end < length and ends[end] == end + 1 and _is_alphanumeric(PyUnicode_READ(kind, data, end)):
                    end += 1
            elif character == c"\r" and end < length and PyUnicode_READ(kind, data, end) == c"\n":
                end += 1
        pieces.append(PyUnicode_Substring(text, start, end))
        start = end
    return pieces
