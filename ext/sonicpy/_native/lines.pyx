"""Cuts the bytes that arrive on a connection into lines."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memchr, memcpy, memmove

from sonicpy._native.plain cimport PlainReader
from sonicpy._native.quoting cimport Cursor

cdef enum:
    SPARE_BYTES = 512   # an empty reader frees a larger buffer


cdef class LineReader:
    """Cuts a stream at its line feeds; sonicpy.channel.line_buffer documents it.

    Args:
        longest_bytes: the most bytes in a line without its terminator.

    Attributes:
        overflowed: whether `take_line` has reached a line that is too long.
    """

    # data[begin:tail] are whole lines not yet taken, data[tail:end] is what came behind the last line feed.
    cdef unsigned char* data
    cdef Py_ssize_t capacity, begin, tail, end, longest
    cdef bint choked    # the line behind `tail` is too long: nothing behind it will ever be read
    cdef readonly bint overflowed

    def __init__(self, Py_ssize_t longest_bytes):
        self.longest = longest_bytes

    def __dealloc__(self):
        PyMem_Free(self.data)

    def is_drained(self):
        """Return whether all bytes that arrived have been taken."""
        return self.begin == self.end and not self.choked

    def feed(self, data not None, Py_ssize_t size=-1):
        """Append bytes that arrived; drop those behind a line that is too long.

        Args:
            data: bytes, or any other buffer.
            size: the number of bytes in the buffer that arrived; -1: all.

        Raises:
            ValueError: the buffer is smaller.
        """
        cdef Py_buffer held
        PyObject_GetBuffer(data, &held, PyBUF_SIMPLE)
        try:
            if size > held.len:
                raise ValueError(f"{size} bytes cannot come out of a buffer of {held.len}")
            self.append(<Cursor>held.buf, held.len if size < 0 else size)
        finally:
            PyBuffer_Release(&held)

    cdef int append(self, Cursor source, Py_ssize_t size) except -1:
        cdef Py_ssize_t at = size
        if self.choked or size == 0:
            return 0
        self.make_room(size)
        memcpy(self.data + self.end, source, size)
        while at and source[at - 1] != c'\n':
            at -= 1
        if at:
            self.tail = self.end + at
        self.end += size
        if self.is_too_long(self.data + self.tail, self.data + self.end):
            self.choked = True
            self.end = self.tail
        return 0

    def take_line(self):
        """Return the next line without its line feed; None if it is not complete yet or too long (`overflowed`)."""
        cdef Cursor at, end
        if self.begin == self.tail:
            self.compact()
            self.overflowed = self.choked
            return None
        at = self.data + self.begin
        end = <Cursor>memchr(at, c'\n', self.tail - self.begin)
        if self.is_too_long(at, end):
            self.close()
            self.overflowed = True
            return None
        line = PyBytes_FromStringAndSize(<const char*>at, end - at)
        self.begin = end - <Cursor>self.data + 1
        return line

    def take_command(self, PlainReader reader not None):
        """Return the result of `reader` for the next line; if that is None, the line is kept."""
        cdef Py_ssize_t begin = self.begin
        cdef Cursor at, end
        if begin == self.tail:
            return None
        at = self.data + begin
        end = <Cursor>memchr(at, c'\n', self.tail - begin)
        if end - at > self.longest:
            return None
        command = reader.read_line(at, end)
        # The garbage collector may have run and called code that uses this reader, so every place is found again.
        if command is not None and self.begin == begin and begin < self.tail:
            self.begin = <Cursor>memchr(self.data + begin, c'\n', self.tail - begin) - <Cursor>self.data + 1
            if self.begin == self.end:
                self.compact()
        return command

    def take_rest(self):
        """Return all bytes that were not taken, and forget them; None: further bytes were dropped."""
        if self.choked:
            return None
        rest = PyBytes_FromStringAndSize(<const char*>self.data + self.begin, self.end - self.begin)
        self.clear()
        return rest

    def clear(self):
        """Drop all bytes that have not been taken."""
        self.begin = self.tail = self.end = 0
        self.compact()

    def close(self):
        """Drop all bytes that have not been taken, and all that arrive from now on."""
        self.clear()
        self.choked = True

    cdef bint is_too_long(self, Cursor at, Cursor end) noexcept:
        # The carriage return of a CR LF belongs to the terminator and does not count.
        cdef Py_ssize_t excess = end - at - self.longest
        return excess > 1 or (excess == 1 and (end - 1)[0] != c'\r')

    cdef int make_room(self, Py_ssize_t size) except -1:
        # Each byte moves a fixed number of times: down over at least as many taken ones, or into twice the room.
        cdef Py_ssize_t held = self.end - self.begin
        cdef Py_ssize_t capacity
        cdef unsigned char* data
        if self.end + size <= self.capacity:
            return 0
        if self.begin < held or held + size > self.capacity:
            capacity = max(SPARE_BYTES, 2 * held, held + size)
            data = <unsigned char*>PyMem_Malloc(capacity)
            if data == NULL:
                raise MemoryError
            memcpy(data, self.data + self.begin, held)
            PyMem_Free(self.data)
            self.data = data
            self.capacity = capacity
        else:
            memmove(self.data, self.data + self.begin, held)
        self.tail -= self.begin
        self.begin = 0
        self.end = held
        return 0

    cdef void compact(self) noexcept:
        # Call it when no whole line is left: it moves the unfinished one to the front and frees unused room.
        cdef Py_ssize_t held = self.end - self.begin
        cdef unsigned char* data
        if self.begin:
            memmove(self.data, self.data + self.begin, held)
            self.begin = self.tail = 0
            self.end = held
        if self.capacity > SPARE_BYTES and held == 0:
            PyMem_Free(self.data)
            self.data = NULL
            self.capacity = 0
        elif self.capacity > SPARE_BYTES and self.capacity // 4 > held:
            data = <unsigned char*>PyMem_Realloc(self.data, max(SPARE_BYTES, 2 * held))
            if data != NULL:
                self.data = data
                self.capacity = max(SPARE_BYTES, 2 * held)
