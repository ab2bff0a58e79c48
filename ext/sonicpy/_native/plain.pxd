from sonicpy._native.quoting cimport Cursor

cdef struct Piece:
    Cursor begin
    Cursor end


cdef class PlainLine:
    cdef bytes name
    cdef object result
    cdef type kind
    cdef Py_ssize_t words, fields, limit_at, offset_at, lang_at
    cdef bint has_text
    cdef tuple rest
    cdef unsigned int limit_maximum
    cdef object lang_codes


cdef class PlainReader:
    cdef list lines
    cdef list names     # ASCII names of collections and buckets, each in the slot of its hash: most lines repeat them

    cdef object read_line(self, Cursor at, Cursor end)
    cdef object fill(self, PlainLine shape, Cursor line, Cursor at, Cursor end)
    cdef str name_of(self, Piece piece)
