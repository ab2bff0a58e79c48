"""Sorts the terms of a large object that is being removed by their words, so that each step changes neighbouring rows.

The table `removed` first holds the terms by number, and their words are spread over all pages: every step would change,
and every commit write, most pages of the tables of words. Sorting only reads, in steps, and then replaces all parts at
once. So after a restart, unfinished sorting begins again.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING

from sonicpy._native.object_record import ObjectRecord
from sonicpy.store.disk.table_numbers import REMOVED
from sonicpy.store.rows.keys import object_key, part_number
from sonicpy.store.rows.numbered_terms import terms_numbered
from sonicpy.store.rows.removals import removed_key

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView

SORTED = 1 << 31
"""The parts with this number or a higher one are sorted by their words."""
PARTS_MIN = 8
"""The least number of parts of an object whose parts are sorted."""
TERMS_PER_STEP = 1_200
"""The most terms that one step reads or sorts: about 2 ms."""

TERM = Struct(">QIBQ")
"""A term behind its word: id, tf, whether it is hidden, and block. Packed, because the garbage collector would have to
examine hundreds of thousands of tuples."""


def wants_sorting(view: "WriteView", bucket: int, iid: int) -> bool:
    """Return whether an object has many parts that are not sorted."""
    row = view.transaction.first(REMOVED, removed_key(bucket, iid, PARTS_MIN))
    return row is not None and row[0].startswith(object_key(bucket, iid)) and part_number(row[0]) < SORTED


class PartSorter:
    """Sorts the parts of one object.

    Args:
        bucket, iid: the object.
        terms: the most terms in a sorted part.
    """

    def __init__(self, bucket: int, iid: int, terms: int) -> None:
        self.object = bucket, iid
        self._terms = terms
        self._next = 0  # number of the part to read next
        self._oid = b""
        self._runs: list[list[bytes]] = []
        self._merged: Iterator[bytes] | None = None
        self._parts: list[bytes] = []

    def step(self, view: "WriteView") -> bool:
        """Do a part of the work; return whether all is done."""
        if self._merged is None:
            if not self._read(view):
                self._merged = merge(*self._runs)
        elif not self._sort(view):
            self._replace(view)
            return True
        return False

    def _read(self, view: "WriteView") -> bool:
        """Read and sort the words of the next parts; return whether there were any."""
        bucket, iid = self.object
        prefix, run = object_key(bucket, iid), list[bytes]()
        view.flush_new_terms(bucket)
        while len(run) < TERMS_PER_STEP:
            row = view.transaction.first(REMOVED, removed_key(bucket, iid, self._next))
            if row is None or not row[0].startswith(prefix):
                break
            record = ObjectRecord.unpack(row[1], view.by_association)
            terms = {term[0]: term for term in record.terms()}
            words = terms_numbered(view.transaction, bucket, terms)
            run += [word + TERM.pack(*terms[term_id]) for term_id, word in words.items()]
            self._oid, self._next = record.oid, part_number(row[0]) + 1
        run.sort()
        if run:
            self._runs.append(run)
        return bool(run)

    def _sort(self, view: "WriteView") -> bool:
        """Make the next sorted parts; return whether there were any."""
        assert self._merged is not None
        for _ in range(0, TERMS_PER_STEP, self._terms):
            found = [TERM.unpack(term[-TERM.size :]) for term in islice(self._merged, self._terms)]
            if not found:
                return False
            terms = [(term_id, tf, bool(hidden), block) for term_id, tf, hidden, block in found]
            self._parts.append(ObjectRecord.of(self._oid, terms, view.by_association).pack())
        return True

    def _replace(self, view: "WriteView") -> None:
        bucket, iid = self.object
        view.transaction.delete_rows(REMOVED, object_key(bucket, iid), self._next)
        view.transaction.put_many(
            REMOVED, [(removed_key(bucket, iid, SORTED + place), part) for place, part in enumerate(self._parts)]
        )
