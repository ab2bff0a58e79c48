"""The record of a large object to which texts are added: it takes new terms without a look at all others.

The record stays packed as it was read (object_record.pyx), with a mark for every 32 terms, so that a look-up reads at
most 32 of them. Terms that are new, or changed, are in a hash table until the bytes of the record are needed: `pack`
copies the unchanged bytes, and puts the terms between them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy

from sonicpy._native.hash_table cimport (
    HashTable,
    begin_table,
    double_table,
    end_table,
    hash_number,
    home_slot,
    insert,
    next_match,
)
from sonicpy._native.object_record cimport Held, ObjectRecord, put_held, read_held
from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

from sonicpy._native.object_record import CUT_OFF
from sonicpy._native.varint import DamagedBytes

cdef enum:
    GROWING = 256  # terms of a record from which on reading marks costs less than unpacking and packing all
    MARKED = 32  # terms behind a mark
    FIRST_SLOTS = 64


cdef class GrowingRecord:
    """An object's OID and the terms it holds, of which some have changed since the record was packed.

    Attributes:
        is_changed: whether terms have changed since.
    """

    def __cinit__(self):
        self._marks = NULL
        self._changed = NULL
        self._numbers.slots = NULL

    def __dealloc__(self):
        free(self._marks)
        free(self._changed)
        end_table(&self._numbers)

    @staticmethod
    def of(bytes packed not None, bint has_blocks=False) -> GrowingRecord | ObjectRecord:
        """Return a record that grows; a plain record, unpacked, if that one is small.

        Args:
            packed, has_blocks: as in `ObjectRecord.unpack`.

        Raises:
            DamagedBytes: the bytes are not a record.
        """
        return growing_record(packed, has_blocks)

    def __len__(self) -> int:
        return self._count

    @property
    def length(self) -> int:
        """The sum of the term frequencies."""
        return self._total_tf

    @property
    def is_changed(self) -> bool:
        return self._changed_count > 0

    def add(self, list terms not None) -> None:
        """Add terms, or replace those with the same ids: (term id, tf, hidden, block) of each."""
        cdef Held held
        cdef tuple term
        for term in terms:
            held = Held(term[0], term[3], term[1], term[2])
            self.put(&held, 1)

    def term(self, uint64_t term_id) -> tuple | None:
        """Return the (term id, tf, hidden, block) of a term; None: the object does not hold it."""
        cdef const Held *held = self.find(term_id)
        return None if held == NULL else (held.term_id, held.tf, bool(held.hidden), held.block)

    cdef int take(self, bytes packed) except -1:
        """Take the bytes of a record, and check them. Raises DamagedBytes."""
        cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(packed)
        cdef const uint8_t *at = start
        cdef const uint8_t *end = start + PyBytes_GET_SIZE(packed)
        cdef uint64_t count = 0
        self.oid = PyBytes_FromStringAndSize(<const char *> at + 1, at[0])
        at += 1 + at[0]
        if get_varint(&at, end, &count) < 0 or count > <uint64_t> (end - at):
            raise DamagedBytes(CUT_OFF)
        self._packed = packed
        self._packed_count = self._count = count
        self._terms_at = at - start
        return self.mark()

    cdef int mark(self) except -1:
        """Read all packed terms, mark every 32nd, and add up the frequencies. Raises DamagedBytes."""
        cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(self._packed)
        cdef const uint8_t *at = start + self._terms_at
        cdef const uint8_t *end = start + PyBytes_GET_SIZE(self._packed)
        cdef uint64_t term_id = 0, total = 0
        cdef Py_ssize_t step
        cdef Held held = Held(0, 0, 0, False)
        free(self._marks)
        self._mark_count = 0
        self._marks = <Mark *> malloc((self._packed_count // MARKED + 1) * sizeof(Mark))
        if self._marks == NULL:
            raise MemoryError
        for step in range(self._packed_count):
            if step % MARKED == 0:
                self._marks[self._mark_count] = Mark(term_id, at - start)
                self._mark_count += 1
            if not read_held(&at, end, self._has_blocks, &term_id, &held):
                raise DamagedBytes(CUT_OFF)
            total += held.tf
        if at != end:
            raise DamagedBytes("the record of an object has bytes behind its end")
        self._total_tf = total
        return 0

    cdef int64_t changed_at(self, uint64_t term_id) noexcept:
        """Return the place of a term in `_changed`; -1: it has not changed."""
        cdef uint32_t hash = hash_number(term_id), slot
        cdef int64_t number
        if not self._changed_count:
            return -1
        slot = home_slot(&self._numbers, hash)
        number = next_match(&self._numbers, hash, &slot)
        while number >= 0 and self._changed[number].term_id != term_id:
            number = next_match(&self._numbers, hash, &slot)
        return number

    cdef Held *find(self, uint64_t term_id) noexcept:
        """Return a term, valid until the next call; NULL: the object does not hold it."""
        cdef int64_t number = self.changed_at(term_id)
        cdef Py_ssize_t low = 0, high = self._mark_count, middle, step, count
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef uint64_t here
        if number >= 0:
            return &self._changed[number]
        while high - low > 1:
            middle = (low + high) >> 1
            if self._marks[middle].before < term_id:
                low = middle
            else:
                high = middle
        if not self._mark_count:
            return NULL
        at = <const uint8_t *> PyBytes_AS_STRING(self._packed)
        end = at + PyBytes_GET_SIZE(self._packed)
        at += self._marks[low].at
        here = self._marks[low].before
        count = min(<Py_ssize_t> MARKED, self._packed_count - low * MARKED)
        for step in range(count):
            read_held(&at, end, self._has_blocks, &here, &self._found)
            if here >= term_id:
                return &self._found if here == term_id else NULL
        return NULL

    cdef int put(self, const Held *changed, Py_ssize_t count) except -1:
        """Put terms in, instead of those with the same ids."""
        cdef Py_ssize_t step
        cdef const Held *held
        for step in range(count):
            held = self.find(changed[step].term_id)
            if held == NULL:
                self._count += 1
            elif (
                held.tf == changed[step].tf
                and held.hidden == changed[step].hidden
                and held.block == changed[step].block
            ):
                continue
            else:
                self._total_tf -= held.tf
            self._total_tf += changed[step].tf
            self.note(&changed[step])
        return 0

    cdef int note(self, const Held *changed) except -1:
        """Put a term into `_changed`."""
        cdef int64_t number = self.changed_at(changed.term_id)
        cdef void *room
        if number >= 0:
            self._changed[number] = changed[0]
            return 0
        if self._numbers.slots == NULL and not begin_table(&self._numbers, FIRST_SLOTS):
            raise MemoryError
        if 2 * (self._changed_count + 1) > <Py_ssize_t> self._numbers.mask and not double_table(&self._numbers):
            raise MemoryError
        if self._changed_count == self._changed_room:
            room = realloc(self._changed, (2 * self._changed_room + FIRST_SLOTS) * sizeof(Held))
            if room == NULL:
                raise MemoryError
            self._changed = <Held *> room
            self._changed_room = 2 * self._changed_room + FIRST_SLOTS
        self._changed[self._changed_count] = changed[0]
        insert(&self._numbers, hash_number(changed.term_id), <uint32_t> self._changed_count)
        self._changed_count += 1
        return 0

    cpdef bytes pack(self):
        """Return the bytes of the record."""
        if self._changed_count:
            qsort(self._changed, self._changed_count, sizeof(Held), by_term)
            self._packed = self.spliced()
            self._terms_at = 1 + len(self.oid) + varint_bytes(self._count)
            self._packed_count = self._count
            end_table(&self._numbers)
            free(self._changed)
            self._numbers.slots = NULL
            self._changed = NULL
            self._changed_count = self._changed_room = 0
            self.mark()
        return self._packed

    cdef bytes spliced(self):
        """Return the bytes of the record with the changed terms, which are sorted; unchanged bytes are copied."""
        cdef const Held *changed = self._changed
        cdef Py_ssize_t count = self._changed_count
        cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(self._packed) + self._terms_at
        cdef const uint8_t *end = <const uint8_t *> PyBytes_AS_STRING(self._packed) + PyBytes_GET_SIZE(self._packed)
        cdef const uint8_t *copied = at  # everything before it is in `out`
        cdef const uint8_t *item
        cdef uint64_t term_id = 0, before = 0  # `before`: the term behind which the next byte of `out` goes
        cdef Py_ssize_t new_at = 0, oid_size = len(self.oid)
        cdef Held held = Held(0, 0, 0, False)
        cdef Py_ssize_t head = 1 + oid_size + 10
        cdef uint8_t *room = <uint8_t *> malloc(head + (end - at) + count * 60)
        cdef uint8_t *out = room + head
        cdef uint8_t *start
        if room == NULL:
            raise MemoryError
        try:
            while at < end and new_at < count:
                item = at
                before = term_id
                read_held(&at, end, self._has_blocks, &term_id, &held)
                if changed[new_at].term_id > term_id:
                    continue
                memcpy(out, copied, item - copied)
                out += item - copied
                while new_at < count and changed[new_at].term_id < term_id:
                    out = put_held(out, &changed[new_at], before, self._has_blocks)
                    before = changed[new_at].term_id
                    new_at += 1
                if new_at < count and changed[new_at].term_id == term_id:
                    held = changed[new_at]
                    new_at += 1
                out = put_held(out, &held, before, self._has_blocks)
                copied = at
            memcpy(out, copied, end - copied)
            out += end - copied
            while new_at < count:
                out = put_held(out, &changed[new_at], term_id, self._has_blocks)
                term_id = changed[new_at].term_id
                new_at += 1
            start = room + head - varint_bytes(self._count) - oid_size - 1
            start[0] = <uint8_t> oid_size
            memcpy(start + 1, <const char *> self.oid, oid_size)
            put_varint(start + 1 + oid_size, self._count)
            return PyBytes_FromStringAndSize(<char *> start, out - start)
        finally:
            free(room)


cdef object growing_record(bytes packed, bint has_blocks):
    """Return the result of `GrowingRecord.of`."""
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(packed)
    cdef const uint8_t *at = start
    cdef const uint8_t *end = start + PyBytes_GET_SIZE(packed)
    cdef uint64_t count = 0
    cdef GrowingRecord self
    if end - at > GROWING and end - at > 1 + at[0]:
        at += 1 + at[0]
        if get_varint(&at, end, &count) == 0 and count >= GROWING:
            self = GrowingRecord.__new__(GrowingRecord)
            self._has_blocks = has_blocks
            self.take(packed)
            return self
    return ObjectRecord.unpack(packed, has_blocks)


cdef int by_term(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Held *> left).term_id, b = (<const Held *> right).term_id
    return (a > b) - (a < b)
