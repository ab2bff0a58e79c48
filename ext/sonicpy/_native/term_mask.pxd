"""Masks of tags, for native code."""

from sonicpy._native.mask cimport Bits
from sonicpy._native.query_state cimport QueryState


cdef Bits matches(QueryState query)
