"""What other modules need to know: the terms of a text, without a call for each."""

cdef class Terms:
    cdef readonly list words
    cdef readonly bytes counts
    cdef readonly bytes flags
    cdef readonly list typed
