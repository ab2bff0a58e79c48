from libc.stdint cimport int32_t, uint8_t, uint32_t

from sonicpy._native.bm25 cimport PackedLengths
from sonicpy._native.top_k cimport Kind, TopK

cdef enum:
    LISTS_MAX = 32  # for more lists, a table is filled
    K_MAX = 1024  # for a larger offset or limit, a table is filled


cdef struct TermScorer:  # the postings of a term, or of an expansion of it, and their weight
    Py_ssize_t begin, end  # among the query's postings, where they are oldest first
    Py_ssize_t end_match  # where the matches of the list end, once they are in a table
    const uint32_t *iids  # the same postings for a walk; NULL: the list cannot be walked
    const uint8_t *tfs
    uint8_t tf_max
    double weight
    int32_t term
    Kind kind
    bint required
    bint inserts


cdef struct PostingsLists:  # of a query
    const TermScorer *scorers
    Py_ssize_t count
    double total_weight  # of the terms that bring objects
    uint32_t required  # number of required terms
    PackedLengths lengths
    const double *norms
    double k1


cdef void walk(const PostingsLists *lists, TopK *top) noexcept nogil
