"""The OIDs of new objects, by hash, until they are written to rows of `oids` (name_rows.pyx).

An OID is represented by 40 bits of its BLAKE2b, so that an entry is two numbers: the hash and the IID.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT64_MAX, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from sonicpy._native.blake2b cimport blake2b
from sonicpy._native.objects cimport RecordRow
from sonicpy._native.record_item cimport Item
from sonicpy._native.varint cimport put_varint

cdef enum:
    HOME_BITS_MIN = 3

NAME_HASH_BITS = HASH_BITS


cpdef uint64_t name_hash(bytes oid) except? 0:
    """Return the hash of an OID: the first 40 bits of its BLAKE2b; other OIDs may have the same hash."""
    if oid is None:
        raise TypeError("an OID is bytes")
    return hash_of(<const uint8_t *> oid, len(oid))


cdef uint64_t hash_of(const uint8_t *oid, Py_ssize_t size) noexcept:
    cdef uint64_t digest = blake2b(oid, size, HASH_BITS // 8), hash = 0
    cdef int number
    for number in range(HASH_BITS // 8):
        hash = hash << 8 | (digest >> 8 * number & 0xFF)
    return hash


cdef class NameMap:
    """The IIDs of new objects, by the hash of their OID.

    A hash table with open addressing whose entries are sorted: the first bits of a hash choose its home, and an entry
    is at its home, or behind it if smaller entries took that place. No entry wraps around: there is room for all of
    them behind the last home.

    Attributes:
        added: the number of names added; the owner resets it.
        until: objects before it are going into rows; 0: none are. The owner sets it.
    """

    def __cinit__(self):
        self._slots = NULL
        self._count = self._count_max = 0

    def __dealloc__(self):
        free(self._slots)

    def __len__(self) -> int:
        return self._count

    def find(self, uint64_t hash) -> tuple:
        """Return the IIDs of the objects whose OID hashes to `hash`."""
        return self.iids(hash)

    cdef tuple iids(self, uint64_t hash):
        cdef NameEntry *slot = self.first(hash)
        cdef list iids
        if slot == NULL or slot.hash != hash:
            return ()
        iids = []
        while slot.hash == hash:
            iids.append(slot.iid)
            slot += 1
        return tuple(iids)

    def add(self, uint64_t hash, uint64_t iid) -> None:
        """Add the name of a new object.

        Raises:
            ValueError: the hash has more than 40 bits.
        """
        self.put(hash, iid)

    def rests(self, Py_ssize_t least) -> bool:
        """Return whether no objects are going into rows, and fewer than `least` names wait; then `added` becomes 0."""
        if self.until or self._count >= least:
            return False
        self.added = 0
        return True

    def add_row(self, bytes row not None, uint64_t start, uint64_t first) -> None:
        """Add the names of the objects of a row of records.

        Args:
            start: the IID of the first place of the row.
            first: only objects from this IID on.

        Raises:
            DamagedBytes: the row cannot be read.
        """
        self.add_records(RecordRow(row), start, first)

    def add_records(self, RecordRow records not None, uint64_t start, uint64_t first) -> None:
        """Add the names of a row of records that has been read; see `add_row`."""
        cdef Item *item
        cdef int number
        for number in range(records.opened()):
            item = &records._items[number]
            if start + item.place >= first:
                self.put(hash_of(item.oid, item.oid_size), start + item.place)

    cdef int put(self, uint64_t hash, uint64_t iid) except -1:
        if hash >> HASH_BITS:
            raise ValueError(f"the hash of a name has {HASH_BITS} bits")
        self.added += 1
        if self._count >= self._count_max:
            self.resize(2 * self._count)
        self.insert(hash, iid)
        return 0

    def drop(self, uint64_t hash, uint64_t iid) -> None:
        """Remove a name, if the map has it."""
        cdef NameEntry *slot = self.first(hash)
        if slot == NULL:
            return
        while slot.hash == hash and slot.iid != iid:
            slot += 1
        if slot.hash == hash:
            self.remove(slot)

    def take(self, Py_ssize_t limit, uint64_t until) -> tuple:
        """Remove the next names, by rising hash; several calls make a round through all hashes.

        Args:
            limit: the most names to remove.
            until: only objects with a smaller IID.

        Returns:
            (a row of the names, whether names are left in this round); after a round, the next call begins with the
            smallest hash again.
        """
        cdef uint8_t *room
        cdef uint8_t *out
        cdef uint64_t before = 0
        cdef NameEntry *slot = self.first(self._taken)
        cdef bint is_left = False
        limit = max(min(limit, self._count), 0)
        room = out = <uint8_t *> malloc(ENTRY_BYTES_MAX * limit + 1)
        if room == NULL:
            raise MemoryError
        while slot != NULL and slot < self._slots + self.slots():
            if slot.hash == UINT64_MAX or slot.iid >= until:
                slot += 1
            elif limit > 0:
                out = put_varint(put_varint(out, slot.hash - before), slot.iid)
                before = self._taken = slot.hash
                limit -= 1
                self.remove(slot)
            else:
                is_left = True
                break
        try:
            if not is_left:
                self._taken = 0
            if self._bits > HOME_BITS_MIN and 8 * self._count < self._count_max:
                self.resize(2 * self._count)
            return PyBytes_FromStringAndSize(<char *> room, out - room), is_left
        finally:
            free(room)

    cdef inline Py_ssize_t slots(self) noexcept nogil:
        """Return the number of slots, without the empty one behind them."""
        return (<Py_ssize_t> 1 << self._bits) + self._count_max

    cdef inline NameEntry *home(self, uint64_t hash) noexcept nogil:
        return self._slots + (hash >> (HASH_BITS - self._bits))

    cdef inline NameEntry *first(self, uint64_t hash) noexcept nogil:
        """Return the slot of the first name that hashes to `hash`, or the slot for such a name; NULL: the table has no
        slots, or `hash` is too large for the hash of an OID.

        Empty slots have the largest hash, and one of them is behind all others.
        """
        cdef NameEntry *slot
        if self._slots == NULL or hash >> HASH_BITS:
            return NULL
        slot = self.home(hash)
        while slot.hash < hash:
            slot += 1
        return slot

    cdef void insert(self, uint64_t hash, uint64_t iid) noexcept nogil:
        """Insert a name in its place and move the names right behind it by one slot; there must be room."""
        cdef NameEntry *slot = self.first(hash)
        cdef NameEntry new, old
        while slot.hash == hash and slot.iid < iid:
            slot += 1
        if slot.hash == hash and slot.iid == iid:
            return
        self._count += 1
        new.hash, new.iid = hash, iid
        while slot.hash != UINT64_MAX:
            old = slot[0]
            slot[0] = new
            new = old
            slot += 1
        slot[0] = new

    cdef void remove(self, NameEntry *slot) noexcept nogil:
        """Remove a name, and move the names right behind it that are not at their homes back by one slot."""
        while slot[1].hash != UINT64_MAX and self.home(slot[1].hash) <= slot:
            slot[0] = slot[1]
            slot += 1
        slot.hash = UINT64_MAX
        self._count -= 1

    cdef int resize(self, Py_ssize_t names) except -1:
        """Make room for a number of names, at least for the present ones: four homes for three names."""
        cdef NameEntry *old = self._slots
        cdef NameEntry *slot
        cdef Py_ssize_t number, old_slots = self.slots()
        cdef Py_ssize_t homes = 1 << HOME_BITS_MIN
        cdef int bits = HOME_BITS_MIN
        while 3 * homes < 4 * max(names, self._count + 1):
            homes *= 2
            bits += 1
        slot = <NameEntry *> malloc((homes + 3 * homes // 4 + 1) * sizeof(NameEntry))
        if slot == NULL:
            raise MemoryError
        self._slots, self._bits, self._count_max, self._count = slot, bits, 3 * homes // 4, 0
        memset(slot, 0xFF, (self.slots() + 1) * sizeof(NameEntry))
        if old != NULL:
            for number in range(old_slots):
                if old[number].hash != UINT64_MAX:
                    self.insert(old[number].hash, old[number].iid)
            free(old)
        return 0
