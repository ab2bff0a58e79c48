"""BM25: the parts of a term's postings in the scores of objects.

Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), formula 3.15.
"""

from libc.math cimport log
from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.lengths cimport unpack_length

BM25_K1 = K1
BM25_B = B


cdef struct Norms:  # by packed length, for the average length of one bucket at one moment
    double average, k1, b
    double norms[256]


cdef double[256] LENGTHS  # by packed length
cdef int _number
for _number in range(256):
    LENGTHS[_number] = unpack_length(<uint8_t> _number)

cdef Norms last_norms  # most queries are for the same bucket as the query before
last_norms.k1 = -1.0


cdef const double *norms_of(double average, double k1, double b) noexcept:
    """Return the length norms, one for each packed length; the array is valid until the next call."""
    cdef Py_ssize_t number
    cdef double *norms = last_norms.norms
    if last_norms.average == average and last_norms.k1 == k1 and last_norms.b == b:
        return norms
    last_norms.average, last_norms.k1, last_norms.b = average, k1, b
    if average > 0:
        put_norms(norms, LENGTHS, average, k1, b)
    else:
        for number in range(256):
            norms[number] = k1
    return norms


cdef void put_norms(double *norms, const double *lengths, double average, double k1, double b) noexcept nogil:
    """Write the norms, two at a time."""
    cdef Py_ssize_t number
    for number in range(256):
        norms[number] = k1 * (1.0 - b + b * lengths[number] / average)


cpdef double idf(uint64_t objects, uint64_t df) noexcept:
    """Return the weight of a term that `df` of N `objects` hold: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return log(1.0 + (<double> (max(objects, df) - df) + 0.5) / (<double> df + 0.5))
