"""Instances of named tuples, made without a call of their constructors, which would take several times as long."""

cdef object made(type kind, tuple values)
