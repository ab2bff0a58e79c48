"""What other modules need to know: the terms of a text, without a call for each."""

cdef enum:  # flags of a term
    F_SPECIAL = 1
    F_STOP = 2
    F_PART = 4


cdef class Terms:
    cdef readonly list words
    cdef readonly bytes counts
    cdef readonly bytes flags
    cdef readonly list typed
