cdef class WordLists:
    cdef dict _values
    cdef Py_ssize_t _most, _words

    cdef tuple get(self, tuple key)
    cdef int keep(self, tuple key, tuple value, Py_ssize_t words) except -1
    cdef int drop(self, tuple key) except -1
