"""The objects that hold several words together, for native code."""

from sonicpy._native.stored_postings cimport StoredPostings


cdef StoredPostings held_together(reader, list groups)
