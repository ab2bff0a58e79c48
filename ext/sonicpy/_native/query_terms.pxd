"""What a query asks for, for native code: its terms, the words that stand for each, and their lists."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport Source
from sonicpy._native.stored_postings cimport OpenBlock
from sonicpy._native.top_k cimport EXACT, Kind

cdef extern from *:
    """
    #define SLACK (1.0 + 1e-9)  /* bounds are added up in another order than scores */
    """
    const double SLACK


cdef enum:
    LEVELS = 9  # of bounds: an object holds a term once, twice, and so on, or
    ANY = 0  # as often as it likes
    ONCE = 1
    TF_MAX = 7  # the most often for which there is a level
    UNTYPED = 8  # once, and not the word that was typed


cdef struct Slot:  # words that stand for a term with one weight: its family, or one expansion
    Py_ssize_t first, count  # its sources
    double weight  # of the frequencies of all its words together
    double exact_weight  # of those of its first word, which is the one that was typed
    double bound  # no object's part is larger
    Kind kind


cdef struct Term:
    Py_ssize_t first, count  # its slots
    uint64_t df
    double weight  # of an object that holds the term itself
    double bound
    Kind kind  # the best of its slots that hold anything
    bint brings  # it brings objects; else it only adds to those that others bring
    bint required


cdef struct Asked:  # a block that has to be read
    Py_ssize_t source
    Py_ssize_t block


cdef class QueryTerms:
    cdef LengthMasks _masks
    cdef PackedLengths _packed
    cdef double _norms[256]
    cdef double _k1, _exponent
    cdef bint _full_first
    cdef bint _is_begun
    cdef list _postings  # StoredPostings of each source
    cdef Source *_sources
    cdef Slot *_slots
    cdef Term *_terms
    cdef Py_ssize_t _source_count, _slot_count, _term_count
    cdef Py_ssize_t _source_room, _slot_room, _term_room
    cdef double _total  # weight of the terms that bring objects
    cdef double _possible  # weight of all terms
    cdef bint _has_required
    cdef OpenBlock *_opened  # of each source
    cdef Asked *_asked
    cdef Py_ssize_t _asked_count, _asked_room

    cdef int check_unstarted(self) except -1
    cdef int open_sources(self) except -1
    cdef Py_ssize_t first_source(self, const Term *term) noexcept nogil
    cdef Py_ssize_t end_source(self, const Term *term) noexcept nogil
    cdef double find_part(self, const Term *term, int level, uint8_t packed) noexcept nogil
    cdef double slot_at_most(self, const Slot *slot, int level, uint8_t packed) noexcept nogil
    cdef double slot_bound(self, const Slot *slot, uint8_t packed) noexcept nogil
    cdef void end_asking(self) noexcept nogil
    cdef list keys_asked(self)
    cdef bint ask_for_all(self) except -1
    cdef int ask_for_missing(self) except -1
    cdef int ask(self, Py_ssize_t source, Py_ssize_t block) except -1
    cdef int ask_once(self, Py_ssize_t source, Py_ssize_t block) except -1

    cdef inline double weight_of(self, const Term *term, const Slot *slot) noexcept nogil:
        """Return what an object that holds a slot's words gains in share."""
        return term.weight if slot.kind == EXACT else slot.weight + slot.exact_weight
