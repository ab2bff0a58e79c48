"""The record of an object: its OID and its terms.

    record   u8 length and bytes of the OID, v(terms), then per term, by rising term id:
             v((term id - term id before) << 2 | hidden << 1 | (tf != 1)), v(tf) only if tf is not 1,
             v(block) only for lists in the order of association

v() is a varint (varint.pxd). The block is the number of the block with the object's posting; in lists by IID, the IID
determines it. `objects.pyx` joins several records into one row.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

from sonicpy._native.varint import DamagedBytes

CUT_OFF = "the record of an object is cut off"


cdef enum:
    LARGE = 2048  # terms of a record that stays packed until they are needed: its removal copies bytes


cdef class ObjectRecord:
    """An object's OID and the terms it holds, by rising term id."""

    def __cinit__(self):
        self._held = NULL

    def __dealloc__(self):
        free(self._held)

    @staticmethod
    def unpack(bytes record, bint has_blocks=False) -> ObjectRecord:
        """Return the record that `pack` made.

        Args:
            has_blocks: whether the record contains the number of the block of each posting.

        Raises:
            DamagedBytes: the bytes are not a record.
        """
        cdef const uint8_t *start = <const uint8_t *> record
        cdef const uint8_t *at = start
        cdef const uint8_t *end = at + len(record)
        cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
        cdef uint64_t count = 0
        if end == at or end - at <= at[0]:
            raise DamagedBytes(CUT_OFF)
        self.oid = PyBytes_FromStringAndSize(<const char *> at + 1, at[0])
        at += 1 + at[0]
        if get_varint(&at, end, &count) < 0 or count > <uint64_t> (end - at):
            raise DamagedBytes(CUT_OFF)
        self._count = count
        self._has_blocks = has_blocks
        if count < LARGE:
            self.reserve(count)
            self._known = count
        else:
            self._packed = record
            self._terms_at = at - start
        self.check(at, end)
        return self

    @staticmethod
    def empty(bytes oid, bint has_blocks=False) -> ObjectRecord:
        """Return the record of an object that holds no term yet; `oid` has 1 to 255 bytes, `has_blocks` as in `unpack`.
        """
        return empty_record(oid, has_blocks)

    @staticmethod
    def oid_of(bytes record not None) -> bytes:
        """Return the OID of a record, without reading the rest. Raises DamagedBytes if the record is cut off."""
        if len(record) == 0 or len(record) <= record[0]:
            raise DamagedBytes(CUT_OFF)
        return record[1 : 1 + record[0]]

    cdef int reserve(self, Py_ssize_t count) except -1:
        free(self._held)
        self._known = 0
        self._held = <Held *> malloc((count if count else 1) * sizeof(Held))
        if self._held == NULL:
            raise MemoryError
        return 0

    cdef int check(self, const uint8_t *at, const uint8_t *end) except -1:
        """Read all terms, add up their counts and frequencies, and keep the terms if there is room.

        Raises:
            DamagedBytes: the bytes are not the terms of a record.
        """
        cdef Py_ssize_t step
        cdef uint64_t term_id = 0
        cdef Held held = Held(0, 0, 0, False)
        for step in range(self._count):
            if not read_held(&at, end, self._has_blocks, &term_id, &held):
                raise DamagedBytes(CUT_OFF)
            if self._packed is None:
                self._held[step] = held
            self._total_tf += held.tf
            self._hidden += held.hidden
        if at != end:
            raise DamagedBytes("the record of an object has bytes behind its end")
        return 0

    cdef int unpack_terms(self) except -1:
        """Fill `_held` with all terms, unless it holds them already."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef uint64_t term_id = 0
        cdef Py_ssize_t step
        if self._packed is None:
            return 0
        at = <const uint8_t *> self._packed + self._terms_at
        end = <const uint8_t *> self._packed + len(self._packed)
        self.reserve(self._count)
        for step in range(self._count):
            read_held(&at, end, self._has_blocks, &term_id, &self._held[step])
        self._known = self._count
        self._packed = None
        return 0

    cdef Held *find(self, uint64_t term_id) noexcept nogil:
        """Return a term; NULL: the object does not hold it. The record must be unpacked."""
        cdef Py_ssize_t low = 0, high = self._known, middle
        while low < high:
            middle = (low + high) >> 1
            if self._held[middle].term_id < term_id:
                low = middle + 1
            else:
                high = middle
        return &self._held[low] if low < self._known and self._held[low].term_id == term_id else NULL

    def __len__(self) -> int:
        return self._count

    @property
    def shown(self) -> int:
        """The number of terms that are not hidden."""
        return self._count - self._hidden

    @property
    def length(self) -> int:
        """The sum of the term frequencies."""
        return self._total_tf

    cdef uint64_t total_tf(self) noexcept nogil:
        return self._total_tf

    def term_ids(self) -> list:
        """Return the ids of all terms, rising."""
        cdef Py_ssize_t step
        self.unpack_terms()
        return [self._held[step].term_id for step in range(self._count)]

    def terms(self, most: int | None = None) -> list:
        """Return the (term id, tf, hidden, block) of every term, by rising term id; or of the first `most`."""
        cdef Py_ssize_t step, count
        self.unpack_terms()
        count = self._count if most is None else min(self._count, <Py_ssize_t> most)
        return [
            (self._held[step].term_id, self._held[step].tf, bool(self._held[step].hidden), self._held[step].block)
            for step in range(count)
        ]

    cdef ObjectRecord without(self, list gone):
        """Return a record without the terms in `gone`, given by rising term id; this record must be unpacked."""
        cdef ObjectRecord left = empty_record(self.oid, self._has_blocks)
        cdef Py_ssize_t step, at = 0, count = len(gone)
        left.reserve(self._count)
        for step in range(self._count):
            if at < count and <uint64_t> gone[at] == self._held[step].term_id:
                at += 1
                continue
            left._held[left._count] = self._held[step]
            left._total_tf += self._held[step].tf
            left._hidden += self._held[step].hidden
            left._count += 1
        left._known = left._count
        return left

    cdef bytes with_terms(self, const Held *changed, Py_ssize_t count):
        """Return the bytes of the record after the changed terms, given by rising term id, were added or replaced. The
        record must be unpacked."""
        cdef Held *merged
        cdef Py_ssize_t kept = 0, old_at = 0, new_at = 0, old = self._count
        merged = <Held *> malloc((old + count + 1) * sizeof(Held))
        if merged == NULL:
            raise MemoryError
        try:
            while old_at < old or new_at < count:
                if new_at == count or (old_at < old and self._held[old_at].term_id < changed[new_at].term_id):
                    merged[kept] = self._held[old_at]
                    old_at += 1
                else:
                    old_at += old_at < old and self._held[old_at].term_id == changed[new_at].term_id
                    merged[kept] = changed[new_at]
                    new_at += 1
                kept += 1
            return pack_object(self.oid, merged, kept, self._has_blocks)
        finally:
            free(merged)

    cpdef bytes pack(self):
        """Return the bytes of the record."""
        self.unpack_terms()
        return pack_object(self.oid, self._held, self._count, self._has_blocks)

    cpdef list parts(self, Py_ssize_t terms):
        """Return the bytes of records that together hold the terms of this one, with at most `terms` terms each."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef const uint8_t *rest
        cdef uint64_t term_id = 0
        cdef Py_ssize_t first, step, count
        cdef Held held = Held(0, 0, 0, False), other = held
        cdef list found = []
        if self._packed is None:
            return [
                pack_object(self.oid, &self._held[first], min(terms, self._count - first), self._has_blocks)
                for first in range(0, self._count, terms)
            ]
        at = <const uint8_t *> self._packed + self._terms_at
        end = <const uint8_t *> self._packed + len(self._packed)
        for first in range(0, self._count, terms):
            count = min(terms, self._count - first)
            read_held(&at, end, self._has_blocks, &term_id, &held)
            rest = at
            for step in range(1, count):
                read_held(&at, end, self._has_blocks, &term_id, &other)
            found.append(self.part(&held, rest, at - rest, count))
        return found

    cdef bytes part(self, const Held *first, const uint8_t *rest, Py_ssize_t rest_size, Py_ssize_t count):
        """Return the bytes of a record with `count` terms: the first one, and `rest`, the bytes of those behind it."""
        cdef Py_ssize_t oid_size = len(self.oid)
        cdef uint8_t *room = <uint8_t *> malloc(1 + oid_size + 10 + 30 + rest_size)
        cdef uint8_t *out = room
        if room == NULL:
            raise MemoryError
        try:
            out[0] = <uint8_t> oid_size
            memcpy(out + 1, <const char *> self.oid, oid_size)
            out = put_held(put_varint(out + 1 + oid_size, count), first, 0, self._has_blocks)
            memcpy(out, rest, rest_size)
            return PyBytes_FromStringAndSize(<char *> room, out + rest_size - room)
        finally:
            free(room)

    @staticmethod
    def of(bytes oid, list terms not None, bint has_blocks=False) -> ObjectRecord:
        """Return the record of an object with the given terms, which are in the form of `terms()`, in any order;
        `has_blocks` as in `unpack`."""
        cdef ObjectRecord self = empty_record(oid, has_blocks)
        cdef Py_ssize_t step
        cdef tuple term
        self.reserve(len(terms))
        for step, term in enumerate(sorted(terms)):
            self._held[step] = Held(term[0], term[3], term[1], term[2])
            self._total_tf += self._held[step].tf
            self._hidden += self._held[step].hidden
        self._known = self._count = len(terms)
        return self


cdef ObjectRecord empty_record(bytes oid, bint has_blocks):
    cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
    if not 0 < len(oid) < 256:
        raise ValueError(f"an OID has 1 to 255 bytes, not {len(oid)}")
    self.oid = oid
    self._has_blocks = has_blocks
    return self


cdef bytes pack_object(bytes oid, const Held *held, Py_ssize_t count, bint has_blocks):
    cdef Py_ssize_t oid_size = len(oid), step
    cdef uint64_t before = 0
    cdef uint8_t *room = <uint8_t *> malloc(1 + oid_size + 10 + count * 30)
    cdef uint8_t *out = room
    if room == NULL:
        raise MemoryError
    out[0] = <uint8_t> oid_size
    memcpy(out + 1, <const char *> oid, oid_size)
    out = put_varint(out + 1 + oid_size, count)
    for step in range(count):
        out = put_held(out, &held[step], before, has_blocks)
        before = held[step].term_id
    try:
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)
