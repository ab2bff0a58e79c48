"""Masks: the objects that pass a filter, a bit for each object of a window, made when a query reaches the window.

A mask is a tree: conditions of tags and values (term_mask.pyx, column_mask.pyx), joined here. Only the root keeps the
windows that were made.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from sonicpy._native.bits cimport count_bits, highest_bit, lowest_bit
from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.memory cimport zeroed
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS


cdef enum:
    FEW = 24  # objects of a window that are looked at one by one in further masks


cdef inline Py_ssize_t count_up_to(const uint64_t *bits, Py_ssize_t most) noexcept nogil:
    """Return the number of set bits of a window; counting stops above `most`."""
    cdef Py_ssize_t word, found = 0
    for word in range(WINDOW_WORDS):
        if bits[word]:
            found += count_bits(bits[word])
            if found > most:
                break
    return found


cdef inline bint intersect(uint64_t *bits, const uint64_t *others) noexcept nogil:
    """Clear the bits that are not set in `others`; return whether any are left."""
    cdef Py_ssize_t word
    cdef uint64_t some = 0
    for word in range(WINDOW_WORDS):
        bits[word] &= others[word]
        some |= bits[word]
    return some != 0


cdef bint keep_held(Mask mask, int64_t window, uint64_t *bits) except -1:
    """Clear the bits of the objects of a window that are not in a mask, one by one; return whether any are left."""
    cdef Py_ssize_t word
    cdef uint64_t left, some = 0
    cdef uint32_t iid
    for word in range(WINDOW_WORDS):
        left = bits[word]
        while left:
            iid = <uint32_t> (window << WINDOW_BITS | word << 6 | lowest_bit(left))
            left &= left - 1
            if not mask.holds(iid):
                bits[word] &= ~(<uint64_t> 1 << (iid & 63))
        some |= bits[word]
    return some != 0


cdef class Mask:
    """The base of masks: a set of objects of a bucket.

    Args:
        windows: the number of windows; the mask has no object behind them.
    """

    def __cinit__(self, Py_ssize_t windows, *arguments):
        self.count = max(windows, 0)
        self.made = <uint64_t **> zeroed(self.count, sizeof(uint64_t *))
        self.room = <uint64_t *> zeroed(WINDOW_WORDS, sizeof(uint64_t))

    def __dealloc__(self):
        cdef Py_ssize_t window
        if self.made != NULL:
            for window in range(self.count):
                if self.made[window] != self.room:
                    free(self.made[window])
        free(self.made)
        free(self.room)

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        """Write the bits of a window; return whether any is set."""
        raise NotImplementedError

    cdef bint holds(self, uint32_t iid) except -1:
        """Return whether an object is in the mask, without making its window if that costs more."""
        cdef const uint64_t *bits = self.at(iid >> WINDOW_BITS)
        return bits[(iid & WINDOW_OBJECTS - 1) >> 6] >> (iid & 63) & 1

    cdef const uint64_t *at(self, int64_t window) except NULL:
        """Return the bits of a window."""
        cdef uint64_t *bits
        if window >= self.count:
            return self.room
        if self.made[window] == NULL:
            bits = <uint64_t *> malloc(ROW_BYTES)
            if bits == NULL:
                raise MemoryError
            try:
                if not self.mark(window, bits):
                    free(bits)
                    bits = self.room
            except BaseException:
                free(bits)
                raise
            self.made[window] = bits
        return self.made[window]

    cdef const uint64_t *some(self, int64_t window) except? NULL:
        """Return the bits of a window; NULL: no bit is set."""
        cdef const uint64_t *bits = self.at(window)
        return bits if bits != self.room else NULL

    cdef bint passes(self, uint32_t iid) except -1:
        """Return whether an object is in the mask."""
        cdef int64_t window = iid >> WINDOW_BITS
        if window >= self.count:
            return False
        if self.made[window] == NULL:
            return self.holds(iid)
        return self.made[window][(iid & WINDOW_OBJECTS - 1) >> 6] >> (iid & 63) & 1

    cdef bint may(self, int64_t window) except -1:
        """Return whether the mask may have objects in a window; True also if only its bits, which cost much, can
        decide."""
        return self.some(window) != NULL

    cdef bint narrow(self, int64_t window, uint64_t *bits) except -1:
        """Clear the bits of the objects of a window that are not in the mask; return whether any are left."""
        if window < self.count and self.made[window] == NULL and count_up_to(bits, self.few) <= self.few:
            return keep_held(self, window, bits)
        return intersect(bits, self.at(window))

    def total(self) -> int:
        """Return the number of objects in the mask."""
        cdef Py_ssize_t window, word
        cdef const uint64_t *bits
        cdef uint64_t found = 0
        for window in range(self.count):
            bits = self.some(window)
            if bits != NULL:
                for word in range(WINDOW_WORDS):
                    found += count_bits(bits[word])
        return found

    def newest(self, Py_ssize_t wanted, uint64_t below=1 << 32) -> list:
        """Return the IIDs of the newest `wanted` objects in the mask, newest first.

        Args:
            below: only objects with an IID below this one.
        """
        cdef list found = []
        cdef int64_t window = min(<int64_t> self.count, <int64_t> ((below + WINDOW_OBJECTS - 1) >> WINDOW_BITS)) - 1
        cdef Py_ssize_t word
        cdef const uint64_t *bits
        cdef uint64_t left
        cdef uint64_t iid
        while window >= 0 and len(found) < wanted:
            bits = self.some(window)
            if bits != NULL:
                for word in range(WINDOW_WORDS - 1, -1, -1):
                    left = bits[word]
                    while left and len(found) < wanted:
                        iid = <uint64_t> window << WINDOW_BITS | word << 6 | highest_bit(left)
                        left &= ~(<uint64_t> 1 << (iid & 63))
                        if iid < below:
                            found.append(iid)
            window -= 1
        return found

    def has(self, uint32_t iid) -> bool:
        """Return whether an object is in the mask."""
        return self.passes(iid)


@cython.final
cdef class AllOf(Mask):
    """The objects that are in all of several masks.

    Args:
        masks: one or more masks; those that are cheap to make, and have few objects, come first.
    """

    cdef list masks

    def __init__(self, Py_ssize_t windows, list masks not None):
        if not masks:
            raise ValueError("a mask of all of no masks has no bound")
        self.masks = masks

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef uint64_t more[WINDOW_WORDS]
        cdef uint64_t some
        cdef Py_ssize_t number, word
        if not (<Mask> self.masks[0]).mark(window, bits):
            return 0
        for number in range(1, len(self.masks)):
            if count_up_to(bits, FEW) <= FEW:
                return self.keep_few(window, bits, number)
            if not (<Mask> self.masks[number]).mark(window, more):
                return 0
            some = 0
            for word in range(WINDOW_WORDS):
                bits[word] &= more[word]
                some |= bits[word]
            if not some:
                return 0
        return 1

    cdef bint may(self, int64_t window) except -1:
        cdef Mask each
        for each in self.masks:
            if not each.may(window):
                return False
        return True

    cdef bint narrow(self, int64_t window, uint64_t *bits) except -1:
        cdef Mask each
        if window >= self.count or self.made[window] != NULL:
            return intersect(bits, self.at(window))
        for each in self.masks:
            if not each.narrow(window, bits):
                return False
        return True

    cdef int keep_few(self, Py_ssize_t window, uint64_t *bits, Py_ssize_t first) except -1:
        """Clear the bits of objects that are not in all masks from number `first` on, one by one; return whether any
        are left."""
        cdef Py_ssize_t number
        for number in range(first, len(self.masks)):
            if not keep_held(<Mask> self.masks[number], window, bits):
                return False
        return True

    cdef bint holds(self, uint32_t iid) except -1:
        cdef Mask each
        for each in self.masks:
            if not each.holds(iid):
                return False
        return True


@cython.final
cdef class AnyOf(Mask):
    """The objects that are in at least one of several masks."""

    cdef list masks

    def __init__(self, Py_ssize_t windows, list masks not None):
        self.masks = masks

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef uint64_t more[WINDOW_WORDS]
        cdef Mask each
        cdef Py_ssize_t word
        cdef int found = 0
        memset(bits, 0, ROW_BYTES)
        for each in self.masks:
            if each.mark(window, more):
                found = 1
                for word in range(WINDOW_WORDS):
                    bits[word] |= more[word]
        return found

    cdef bint holds(self, uint32_t iid) except -1:
        cdef Mask each
        for each in self.masks:
            if each.holds(iid):
                return True
        return False

    cdef bint may(self, int64_t window) except -1:
        cdef Mask each
        for each in self.masks:
            if each.may(window):
                return True
        return False

    cdef bint narrow(self, int64_t window, uint64_t *bits) except -1:
        cdef uint64_t found[WINDOW_WORDS]
        cdef uint64_t some[WINDOW_WORDS]
        cdef Mask each
        cdef Py_ssize_t word
        if window >= self.count or self.made[window] != NULL:
            return intersect(bits, self.at(window))
        memset(found, 0, ROW_BYTES)
        for each in self.masks:
            for word in range(WINDOW_WORDS):
                some[word] = bits[word] & ~found[word]
            if each.narrow(window, some):
                for word in range(WINDOW_WORDS):
                    found[word] |= some[word]
        return intersect(bits, found)


@cython.final
cdef class NotIn(Mask):
    """The IIDs that are not in a mask; not every IID belongs to an object."""

    cdef Mask mask

    def __init__(self, Py_ssize_t windows, Mask mask not None):
        self.mask = mask

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef Py_ssize_t word
        cdef uint64_t some = 0
        if not self.mask.mark(window, bits):
            memset(bits, 0xFF, ROW_BYTES)
            return 1
        for word in range(WINDOW_WORDS):
            bits[word] = ~bits[word]
            some |= bits[word]
        return some != 0

    cdef bint holds(self, uint32_t iid) except -1:
        return not self.mask.holds(iid)

    cdef bint may(self, int64_t window) except -1:
        return window < self.count

    cdef bint narrow(self, int64_t window, uint64_t *bits) except -1:
        cdef uint64_t some[WINDOW_WORDS]
        cdef Py_ssize_t word
        if window >= self.count or self.made[window] != NULL:
            return intersect(bits, self.at(window))
        memcpy(some, bits, ROW_BYTES)
        if self.mask.narrow(window, some):
            for word in range(WINDOW_WORDS):
                some[word] = ~some[word]
            return intersect(bits, some)
        return True


cdef class Bits(Mask):
    """A mask of objects that are given one by one.

    Args:
        iids: the IIDs of the objects.
    """

    def __cinit__(self, Py_ssize_t windows, *arguments):
        self.all_bits = <uint64_t *> zeroed(self.count * WINDOW_WORDS, sizeof(uint64_t))

    def __init__(self, Py_ssize_t windows, iids=()):
        cdef uint64_t iid
        for iid in iids:
            if iid >> WINDOW_BITS < <uint64_t> self.count:
                self.all_bits[iid >> 6] |= <uint64_t> 1 << (iid & 63)

    def __dealloc__(self):
        free(self.all_bits)

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef Py_ssize_t word
        cdef uint64_t some = 0
        if window >= self.count:  # the newest objects have no words, and no lengths
            return 0
        memcpy(bits, self.all_bits + window * WINDOW_WORDS, ROW_BYTES)
        for word in range(WINDOW_WORDS):
            some |= bits[word]
        return some != 0

    cdef const uint64_t *at(self, int64_t window) except NULL:
        return self.all_bits + window * WINDOW_WORDS if window < self.count else self.room

    cdef bint holds(self, uint32_t iid) except -1:
        return iid >> WINDOW_BITS < <uint64_t> self.count and self.all_bits[iid >> 6] >> (iid & 63) & 1


def iids_of(Mask mask not None, Py_ssize_t most) -> list:
    """Return the IIDs in a mask, at most `most`, in rising order."""
    cdef list found = []
    cdef Py_ssize_t window, word
    cdef const uint64_t *bits
    cdef uint64_t left
    for window in range(mask.count):
        bits = mask.some(window)
        if bits == NULL:
            continue
        for word in range(WINDOW_WORDS):
            left = bits[word]
            while left:
                if len(found) >= most:
                    return found
                found.append(<uint64_t> window << WINDOW_BITS | word << 6 | lowest_bit(left))
                left &= left - 1
    return found


@cython.final
cdef class Alive(Mask):
    """The existing objects of a bucket.

    Args:
        lengths: the LengthMasks of the bucket: objects with a length hold words.
        others: the IIDs of the objects without words.
    """

    cdef LengthMasks lengths
    cdef Bits others

    def __init__(self, Py_ssize_t windows, LengthMasks lengths not None, others=()):
        self.lengths = lengths
        self.others = Bits(windows, others)

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef uint64_t some = 0
        cdef Py_ssize_t word
        if window << WINDOW_BITS < self.lengths.packed.count:
            self.lengths.mark(1, window, bits)
        else:
            memset(bits, 0xFF, ROW_BYTES)
        for word in range(WINDOW_WORDS):
            bits[word] = ~bits[word] | self.others.all_bits[window * WINDOW_WORDS + word]
            some |= bits[word]
        return some != 0

    cdef bint holds(self, uint32_t iid) except -1:
        return packed_length(&self.lengths.packed, iid) != 0 or self.others.holds(iid)


def both(Mask mask not None, Mask other not None) -> Bits:
    """Return the objects that are in two masks."""
    cdef Bits found = Bits(mask.count)
    cdef Py_ssize_t window, word
    cdef const uint64_t *one
    cdef const uint64_t *two
    for window in range(mask.count):
        one = mask.some(window)
        two = other.some(window) if one != NULL else NULL
        if two != NULL:
            for word in range(WINDOW_WORDS):
                found.all_bits[window * WINDOW_WORDS + word] = one[word] & two[word]
    return found


def settled(Mask mask not None) -> Bits:
    """Return a mask with the same objects, in which all bits are made."""
    return mask if isinstance(mask, Bits) else both(mask, mask)
