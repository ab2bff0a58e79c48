from libc.stdint cimport int32_t, uint8_t, uint32_t

from sonicpy._native.best cimport Best
from sonicpy._native.bm25 cimport PackedLengths
from sonicpy._native.object_table cimport Kind

cdef enum:
    WALKED_MAX = 32  # lists; of more, a table is made
    BEST_MAX = 1024  # objects to find; of more, a table is made


cdef struct Run:  # the postings of a term, or of a word that stands for it
    Py_ssize_t begin, end  # among the query's postings, in which they stand oldest first
    Py_ssize_t end_hit  # where a table's hits of it end
    const uint32_t *iids  # the same postings, where they are to be walked; NULL: they cannot be
    const uint8_t *tfs
    uint8_t tf_max
    double weight
    int32_t term
    Kind kind
    bint required
    bint inserts


cdef struct Lists:  # of a query
    const Run *runs
    Py_ssize_t count
    double total_weight  # of the terms that bring objects
    uint32_t required  # how many terms are
    PackedLengths lengths
    const double *norms
    double k1


cdef void walk(const Lists *lists, Best *best) noexcept nogil
