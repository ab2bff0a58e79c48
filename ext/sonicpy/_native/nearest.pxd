cdef int kept_letters(bytes typed, bytes word) except? -2
