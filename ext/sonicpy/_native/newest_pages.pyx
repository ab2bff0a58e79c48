"""Finds pages of the newest objects that meet a filter: from the condition to the names in one call.

The row of a tag is enough if it has the newest objects with the tag; for a range, the newest windows of values are.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from sonicpy._native.column_mask cimport LazyWindows, is_in_range
from sonicpy._native.mask cimport Mask
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, read_block
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.windows cimport WINDOW_BITS

from sonicpy._native.column_mask import InRange


cdef class SharedRange:
    """A range of the values of one name.

    Attributes:
        windows: the values; None: no object has one.
        low, high: the bounds, both included.
    """
    cdef LazyWindows windows
    cdef int64_t low, high

    cdef bint holds(self, uint32_t iid) except -1:
        """Return whether an object has a value in the range."""
        if self.windows is None:
            return False
        return is_in_range(self.windows.get(iid >> WINDOW_BITS), iid, self.low, self.high)


cdef list newest_in_tail(TermInfo tag, SharedRange shared, Mask among, Py_ssize_t wanted):
    """Return the IIDs of the newest `wanted` objects that have a tag, newest first, or of all, if there are fewer;
    None: the row of the tag does not have enough, cannot be read, or is in the order of association.

    Args:
        shared: a range in which the objects have a value; None: there is none.
        among: the mask of the objects to consider; None: all.
    """
    cdef const uint8_t *row = <const uint8_t *> tag._row
    cdef Posting held[BLOCK_POSTINGS]
    cdef Py_ssize_t size = len(tag._row) - tag._tail_at, count = 0
    cdef int at = 0
    cdef uint32_t iid
    cdef list found = []
    if size > 0:
        at = read_block(row + tag._tail_at, size, held)
        if at < 0:  # a general search raises the error
            return None
    while at > 0 and count < wanted:
        at -= 1
        iid = <uint32_t> held[at].iid
        if at and iid <= held[at - 1].iid:  # the list is by association
            return None
        if (shared is None or shared.holds(iid)) and (among is None or among.holds(iid)):
            found.append(iid)
            count += 1
    return found if count >= wanted or tag._word.position == 0 else None


cdef class NewestPages:
    """Finds the pages of a bucket, during one read of it.

    Args:
        reader: the reader of the bucket.
        tags: the reader of its tags; None: no object has a tag.
        columns: the reader of its values; None: no object has a value.
        windows: the number of windows of the bucket.
        has_tag, in_range, all_of: the classes HasTag, Range and All of conditions.
        mask_of: a function that returns the mask of the objects of the bucket that meet all conditions of a list.
    """
    cdef object _reader, _tags, _columns, _mask_of
    cdef Py_ssize_t _windows
    cdef object _has_tag, _in_range, _all_of

    def __init__(self, reader not None, tags, columns, Py_ssize_t windows, has_tag not None, in_range not None,
                 all_of not None, mask_of not None):
        self._reader, self._tags, self._columns, self._windows = reader, tags, columns, windows
        self._has_tag, self._in_range, self._all_of, self._mask_of = has_tag, in_range, all_of, mask_of

    def names(self, condition not None, Py_ssize_t offset, Py_ssize_t limit) -> list | None:
        """Return the names of a page, newest object first; None: masks of the whole bucket are needed.

        Args:
            condition: the filter.
            offset, limit: the page: at most `limit` objects behind the first `offset`.
        """
        cdef list found = self.found(condition, offset + limit)
        if found is None:
            return None
        if offset:
            found = found[offset:]
        return self._reader.oids(found) if found else found

    def iids(self, condition not None, Py_ssize_t wanted) -> list | None:
        """Return the IIDs of the newest `wanted` objects that meet a condition, newest first; None: masks are
        needed."""
        return self.found(condition, wanted)

    cdef list found(self, condition, Py_ssize_t wanted):
        cdef object kind = type(condition)
        if kind is self._has_tag:
            return self.driven((condition,), wanted)
        if kind is self._all_of:
            return self.driven((<tuple> condition)[0], wanted)
        if kind is self._in_range:
            return self.newest_in_range(self.shared_range((condition,), -1), wanted)
        return None

    cdef list driven(self, tuple conditions, Py_ssize_t wanted):
        """Return the IIDs of the newest `wanted` objects that meet all conditions, found by the row of their rarest
        tag; None: masks are needed."""
        cdef list tags = [], places = [], rows
        cdef Py_ssize_t at, best = 0
        cdef SharedRange shared = None
        cdef Mask among = None
        for at in range(len(conditions)):
            if type(conditions[at]) is self._has_tag and len(<tuple> (<tuple> conditions[at])[0]) == 1:
                tags.append((<str> (<tuple> (<tuple> conditions[at])[0])[0]).encode())
                places.append(at)
        if not tags:
            shared = self.shared_range(conditions, -1)
            return None if shared is None else self.newest_in_range(shared, wanted)
        if self._tags is None:
            return []
        rows = self._tags.words(tags)
        for at in range(len(rows)):
            if rows[at] is None:  # a tag that no object has
                return []
            if (<TermInfo?> rows[at])._word.df < (<TermInfo> rows[best])._word.df:
                best = at
        if len(conditions) > 1:
            shared = self.shared_range(conditions, places[best])
            if shared is None:
                at = places[best]
                among = self._mask_of([*conditions[:at], *conditions[at + 1:]])
        return newest_in_tail(rows[best], shared, among, wanted)

    cdef SharedRange shared_range(self, tuple conditions, Py_ssize_t besides):
        """Return the range that all conditions except number `besides` share; None: these are not ranges of one name.
        """
        cdef SharedRange found
        cdef Py_ssize_t at
        cdef object one, column, name = None, low = None, high = None
        for at in range(len(conditions)):
            if at == besides:
                continue
            one = conditions[at]
            if type(one) is not self._in_range:
                return None
            if name is None:
                name, low, high = (<tuple> one)[0], (<tuple> one)[1], (<tuple> one)[2]
            elif (<tuple> one)[0] == name:
                low, high = max(low, (<tuple> one)[1]), min(high, (<tuple> one)[2])
            else:
                return None
        found = SharedRange.__new__(SharedRange)
        found.low, found.high = low, high
        column = None if self._columns is None else self._columns.names.get(name)
        if column is not None:
            found.windows = LazyWindows(self._columns, column, self._columns.known_windows(column, self._windows))
        return found

    cdef list newest_in_range(self, SharedRange shared, Py_ssize_t wanted):
        """Return the IIDs of the newest `wanted` objects with a value in a range."""
        if shared.windows is None:
            return []
        return InRange(self._windows, shared.windows, shared.low, shared.high).newest(wanted)
