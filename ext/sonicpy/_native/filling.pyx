"""Objects that hold every word come first, and score the same with completions: a plan without these may fill the page.

A try in vain costs a second walk, so it is made where it is likely to succeed.
"""

from libc.stdint cimport uint64_t

from sonicpy._native.mask cimport Mask
from sonicpy._native.plan cimport Plan

from sonicpy._native.clauses import may_fill
from sonicpy._native.find import find_all

cdef double TOGETHER = 30.0  # how much more often than by chance the words of a query are together in an object, about
cdef double WITH_FILTER = 4.0  # the same of the objects that hold the words, and those that pass a filter
cdef double LOWEST_SHARE = 1e-9  # of the objects that pass a filter, for quotients


cdef class Filling:
    """Returns whether a plan without completions fills a page.

    Args:
        make: makes a part of a query, its best objects and None.
        find: returns the part of a plan; None: `reader` is that of the only bucket, and the plan has no phrases.
        wanted: how many objects the page ends behind.
        window: only this many objects of each word are read, the newest ones; 0: all.
        mask: the objects that pass a filter; None: all.
        objects: the number of all objects.
        share: returns about the share of the objects that pass a filter; None: it is not known.

    Attributes:
        part: that fills the page; None: none does.
    """
    cdef object _make, _find, _reader, _share
    cdef uint64_t _wanted, _window, _objects
    cdef Mask _mask
    cdef readonly object part

    def __init__(
        self, make not None, find, reader, uint64_t wanted, uint64_t window, Mask mask, uint64_t objects, share
    ):  # fmt: skip
        self._make, self._find, self._reader, self._share = make, find, reader, share
        self._wanted, self._window, self._objects, self._mask = wanted, window, objects, mask

    def __call__(self, Plan plan not None) -> bool:
        """Return whether a plan fills the page; then `part` has it."""
        cdef double passing
        if not may_fill(plan, self._wanted, self._objects, TOGETHER):
            return False
        if self._share is not None:
            passing = self._share() * WITH_FILTER
            if passing < 1.0 and not may_fill(
                plan, int(<double> self._wanted / max(passing, LOWEST_SHARE)), self._objects, TOGETHER
            ):
                return False
        if self._find is not None:
            part = self._find(plan)
        else:
            part = self._make(
                *find_all(plan, self._reader, self._wanted, self._window, self._mask, False, None, only_full=True)
            )
        if not part.is_full(self._wanted):
            return False
        self.part = part
        return True
