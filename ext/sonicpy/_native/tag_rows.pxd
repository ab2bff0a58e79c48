"""Rows of `tags`, for native code."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    TAG_PLACES = 64  # objects that share a row
    OBJECT_TAGS_MAX = 255  # far more than an object may have


cdef struct TagLists:  # of one row
    int counts[TAG_PLACES]  # of the tags of each object
    const uint64_t *ids[TAG_PLACES]  # rising; objects with the same tags may share them


cdef struct Shape:  # of a packed row
    uint64_t places  # of objects with tags
    uint64_t same  # those with the tags of the object before
    Py_ssize_t ids
    int one_count  # of tags of every other object; -1: they differ
    int first_k
    int next_k
    uint32_t lengths[2][41]  # in bits of the first ids and of the others, by k


cdef class TagRow:
    cdef TagLists lists
    cdef uint64_t *_room
    cdef Py_ssize_t _used, _size

    cdef int read(self, const uint8_t *row, Py_ssize_t size) except -1
    cdef int make_room(self, Py_ssize_t ids) except -1
    cdef void measure(self, Shape *shape) noexcept nogil
