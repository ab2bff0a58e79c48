"""Carries out a query of plain words in one bucket; decides whether a plan without completions fills its page.

Objects that hold every word come first, and completions do not change their scores. A try without completions that does
not fill the page costs a second walk, so it is only made if it is likely to succeed.
"""

from libc.stdint cimport uint64_t

from sonicpy._native.mask cimport Mask
from sonicpy._native.plan cimport Plan
from sonicpy._native.terms cimport Terms

from sonicpy._native.clauses import may_fill
from sonicpy._native.find import find_all
from sonicpy._native.planner import plan_words

cdef double TOGETHER = 30.0  # how much more often than by chance the words of a query are together in an object, about
cdef double WITH_FILTER = 4.0  # the same of the objects that hold the words, and those that pass a filter
cdef double LOWEST_SHARE = 1e-9  # of the objects that pass a filter, for quotients


def carry_out(
    lexicon, Terms terms not None, matching, search, rarely, make not None, uint64_t wanted, uint64_t window,
    bint total, Mask mask, share, str match="auto",
) -> tuple:  # fmt: skip
    """Return the plan of a query without demands but MATCH, see `plan_words`, and its part of the best `wanted` objects
    of a bucket.

    Args:
        make, window, mask, share: see `Filling`.
        total: whether all objects that answer are counted, too.
        match: see `plan_words`.
    """
    cdef object reader = lexicon.reader
    cdef Filling filling = None
    if not total and match != "any":  # else completed words count as much
        filling = Filling(make, None, reader, wanted, window, mask, lexicon.objects, share)
    cdef Plan plan = plan_words(lexicon, terms, matching, search, filling, rarely, match)
    if filling is not None and filling.part is not None:
        return plan, filling.part
    return plan, make(*find_all(plan, reader, wanted, window, mask, total, None))


cdef class Filling:
    """Returns whether a plan without completions fills a page.

    Args:
        make: a function that makes a part from a query, its best objects and None.
        find: a function that returns the part of a plan; None: `reader` reads the only bucket, and the plan has no
            phrases.
        wanted: the number of objects up to the end of the page.
        window: only this many objects of each word are read, the newest ones; 0: all.
        mask: the objects that pass a filter; None: all.
        objects: the number of all objects.
        share: a function that returns the approximate share of the objects that pass the filter; None: it is not known.

    Attributes:
        part: the part that fills the page; None: no plan did.
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
        """Return whether a plan fills the page; if so, `part` is set."""
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
