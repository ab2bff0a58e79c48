"""The rule for which objects answer a query, for native code.

An object answers if it holds a word of at least one clause that brings, of all required clauses, and of no forbidden
one. Objects are bits here: those of a window, of a whole bucket, or a single one.
"""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.list_lookup cimport Source
from sonicpy._native.plan cimport R_FORBIDDEN, R_REQUIRED, Plan
from sonicpy._native.query_state cimport QueryState, Term


cdef list keys_to_count(QueryState query)
cdef uint64_t count_admitted(QueryState query) except? 0
cdef list others_of(QueryState query, uint64_t wanted, uint64_t *total)
cdef bint refuses_only(Plan plan) except -1
cdef void mark(QueryState query, const Term *term, uint64_t *marks, Py_ssize_t windows) noexcept nogil
cdef uint64_t newest_iid(const Source *source) noexcept nogil
cdef uint64_t *admitted_bits(QueryState query, Py_ssize_t *count) except NULL


cdef inline uint64_t kept_bits(int role, uint64_t holders) noexcept nogil:
    """Return the objects that a clause allows, as bits.

    Args:
        holders: the objects that hold a word of the clause, as bits.
    """
    if role & R_REQUIRED:
        return holders if not role & R_FORBIDDEN else 0
    return ~holders if role & R_FORBIDDEN else ~<uint64_t> 0


cdef inline bint is_kept(int role, bint held) noexcept nogil:
    """Return whether a clause allows an object that holds a word of it (`held`), or holds none."""
    return kept_bits(role, ~<uint64_t> 0 if held else 0) != 0
