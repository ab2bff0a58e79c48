"""The postings of objects that hold several words, for other native code."""

from sonicpy._native.stored_postings cimport StoredPostings


cdef StoredPostings held_together(reader, list groups)
