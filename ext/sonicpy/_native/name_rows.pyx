"""The rows of `oids`: which objects have an OID of a given hash (`name_hash` of name_map.pyx).

    row     per entry, by rising hash, then IID: v(hash - hash before), v(IID)

Linear hashing on the first bits (Litwin, "Linear hashing: a new tool for file and table addressing", 1980) decides
which hashes a row holds, its slice: with S slices and 2^b <= S < 2^(b+1), the first S - 2^b of the slices of b bits are
split in two. The key of a slice holds its smallest hash, so the rows of a bucket sort as hashes do.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT64_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.blake2b cimport eight_bytes
from sonicpy._native.keys cimport term_key
from sonicpy._native.name_map cimport ENTRY_BYTES_MAX, HASH_BITS, VARINT_BYTES_MAX
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ROWS_AT_ONCE = 500  # that are read, merged and written: half a megabyte


# -- slices -----------------------------------------------------------------------------------------------------------


cdef int whole_bits(uint64_t slices) noexcept nogil:
    """Return how many first bits choose a slice that was not split; there is at least one slice."""
    cdef int bits = 0
    while bits < HASH_BITS and (<uint64_t> 2 << bits) <= slices:
        bits += 1
    return bits


cdef int slice_bits(uint64_t hash, uint64_t slices) noexcept nogil:
    """Return how many first bits choose the slice of a hash."""
    cdef int bits = whole_bits(slices)
    return bits + (bits < HASH_BITS and hash >> (HASH_BITS - bits) < slices - (<uint64_t> 1 << bits))


cdef uint64_t start_of(uint64_t hash, uint64_t slices) noexcept nogil:
    cdef int rest = HASH_BITS - slice_bits(hash, slices)
    return hash >> rest << rest


cdef uint64_t end_of(uint64_t start, uint64_t slices) noexcept nogil:
    return start + (<uint64_t> 1 << (HASH_BITS - slice_bits(start, slices)))


cdef uint64_t next_split(uint64_t slices) noexcept nogil:
    """Return the smallest hash of the slice that is split next."""
    cdef int bits = whole_bits(slices)
    return (slices - (<uint64_t> 1 << bits)) << (HASH_BITS - bits)


def slice_start(uint64_t hash, uint64_t slices) -> int:
    """Return the smallest hash of the slice of a hash; there is at least one slice."""
    return start_of(hash, slices)


def slice_to_split(uint64_t slices) -> tuple:
    """Return the smallest hash of the slice that is split next, and the smallest one of its upper half."""
    cdef uint64_t start = next_split(slices)
    return start, end_of(start, slices + 1)


def name_key(uint32_t bucket, uint64_t hash, uint64_t slices) -> bytes:
    """Return the key of the row that a name belongs to; there is at least one slice."""
    return term_key(bucket, start_of(hash, slices))


# -- rows -------------------------------------------------------------------------------------------------------------


cdef struct Reader:  # reads a row entry by entry: it is at one, or at the end of the row
    const uint8_t *at  # where the entry begins
    const uint8_t *iid  # where its IID does
    const uint8_t *next
    const uint8_t *end
    uint64_t before  # the hash of the entry before it
    uint64_t hash


cdef int begin(Reader *reader, bytes row) except -1:
    """Go to the first entry of a row."""
    reader.next = <const uint8_t *> row
    reader.end = reader.next + len(row)
    reader.hash = 0
    return advance(reader)


cdef inline int advance(Reader *reader) except -1:
    """Go to the next entry."""
    cdef const uint8_t *at = reader.next
    cdef uint64_t both, ends
    reader.at = at
    reader.before = reader.hash
    if reader.end - at >= 8:
        both = eight_bytes(at)
        ends = ~both & <uint64_t> 0x8080808080808080
        if ends & (ends - 1):
            reader.hash += joined(both & (ends ^ (ends - 1)))
            reader.iid = at + lowest_bit(ends) // 8 + 1
            reader.next = at + lowest_bit(ends & (ends - 1)) // 8 + 1
            return 0
    return 0 if at == reader.end else advance_bytewise(reader)


cdef inline void skim(Reader *reader, uint64_t hash) noexcept nogil:
    """Skip entries with smaller hashes while both numbers of each fit eight bytes, as they nearly always do.

    Only `hash` and `next` are valid afterwards.
    """
    cdef const uint8_t *at = reader.next
    cdef uint64_t both, ends, found = reader.hash, step
    while reader.end - at >= 8:
        both = eight_bytes(at)
        ends = ~both & <uint64_t> 0x8080808080808080
        if not ends & (ends - 1):
            break
        step = joined(both & (ends ^ (ends - 1)))
        if found + step >= hash:
            break
        found += step
        at += lowest_bit(ends & (ends - 1)) // 8 + 1
    reader.hash = found
    reader.next = at


cdef int advance_bytewise(Reader *reader) except -1:
    cdef const uint8_t *at = reader.next
    cdef uint64_t step = 0, iid = 0
    if get_varint(&at, reader.end, &step) < 0:
        raise DamagedBytes("a row of names is cut off")
    reader.iid = at
    if get_varint(&at, reader.end, &iid) < 0:
        raise DamagedBytes("a row of names is cut off")
    reader.hash += step
    reader.next = at
    return 0


cdef inline uint64_t joined(uint64_t packed) noexcept nogil:
    """Return the value of a varint of at most eight bytes: their lower seven bits, joined."""
    packed &= <uint64_t> 0x7F7F7F7F7F7F7F7F
    packed = packed & <uint64_t> 0x007F007F007F007F | (packed & <uint64_t> 0x7F007F007F007F00) >> 1
    packed = packed & <uint64_t> 0x00003FFF00003FFF | (packed & <uint64_t> 0x3FFF00003FFF0000) >> 2
    return packed & 0x0FFFFFFF | packed >> 32 << 28


cdef inline bint has_entry(const Reader *reader) noexcept nogil:
    return reader.at < reader.end


cdef inline uint64_t iid_of(const Reader *reader) noexcept nogil:
    cdef const uint8_t *at = reader.iid
    cdef uint64_t iid = 0
    get_varint(&at, reader.end, &iid)
    return iid


def unpack_names(bytes row not None) -> list:
    """Return the (hash, IID) entries of a row, in their order.

    Raises:
        DamagedBytes: it is cut off.
    """
    cdef list entries = []
    cdef Reader reader
    begin(&reader, row)
    while has_entry(&reader):
        entries.append((reader.hash, iid_of(&reader)))
        advance(&reader)
    return entries


def pack_names(list entries not None) -> bytes:
    """Return the row of (hash, IID) entries, which rise."""
    cdef uint8_t *room = <uint8_t *> malloc(ENTRY_BYTES_MAX * len(entries) + 1)
    cdef uint8_t *out = room
    cdef uint64_t before = 0, hash, iid
    if room == NULL:
        raise MemoryError
    try:
        for hash, iid in entries:
            out = put_varint(put_varint(out, hash - before), iid)
            before = hash
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)


def named(bytes row not None, uint64_t hash) -> tuple:
    """Return the IIDs of the objects whose OID has this hash.

    Raises:
        DamagedBytes: the row is cut off.
    """
    cdef list iids = None
    cdef Reader reader
    begin(&reader, row)
    while has_entry(&reader) and reader.hash <= hash:
        if reader.hash == hash:
            if iids is None:
                iids = []
            iids.append(iid_of(&reader))
        else:
            skim(&reader, hash)
        advance(&reader)
    return () if iids is None else tuple(iids)


# -- merging --------------------------------------------------------------------------------------------------------


cdef class NameMerge:
    """Puts names into the rows of their slices, and splits slices that are too large, some rows at a time.

        while keys := merge.next_keys():
            write(merge.rows(read(keys)))

    Args:
        bucket: its number.
        names: their row.
        before: how many slices there are, at least one.
        after: how many there will be, not less.

    Raises:
        DamagedBytes: `names` is no row, or the numbers of slices are impossible.

    Attributes:
        emptied: keys of rows to delete in the end.
    """
    cdef uint32_t _bucket
    cdef uint64_t _before, _after
    cdef bytes _names
    cdef Reader _reader  # of `names`, at the first one that was not merged yet
    cdef uint64_t *_starts  # of the slices whose rows change, by number; those up to `_next` were given out
    cdef Py_ssize_t _count, _given, _next
    cdef list _keys
    cdef readonly list emptied
    cdef uint8_t *_room
    cdef Py_ssize_t _room_bytes

    def __cinit__(self):
        self._starts = NULL
        self._room = NULL

    def __dealloc__(self):
        free(self._starts)
        free(self._room)

    def __init__(self, uint32_t bucket, bytes names not None, uint64_t before, uint64_t after):
        cdef uint64_t start, slices
        cdef Py_ssize_t number, kept = 0
        cdef Reader reader
        if not 1 <= before <= after <= <uint64_t> 1 << HASH_BITS:
            raise DamagedBytes(f"there cannot be {before} slices of names and then {after}")
        free(self._starts)
        self._starts = <uint64_t *> malloc((len(names) // 2 + after - before + 1) * sizeof(uint64_t))
        if self._starts == NULL:
            raise MemoryError
        self._bucket, self._names, self._before, self._after = bucket, names, before, after
        self._count = self._given = self._next = 0
        self.emptied = []
        begin(&reader, names)
        while has_entry(&reader):
            if reader.hash >> HASH_BITS or reader.hash < reader.before:
                raise DamagedBytes("the hash of a name is too large")
            start = start_of(reader.hash, before)
            if self._count == 0 or self._starts[self._count - 1] != start:
                self._starts[self._count] = start
                self._count += 1
            advance(&reader)
        if before < after:
            for slices in range(before, after):
                self._starts[self._count] = start_of(next_split(slices), before)
                self._count += 1
            qsort(self._starts, self._count, sizeof(uint64_t), compare_numbers)
            for number in range(self._count):
                if number == 0 or self._starts[number] != self._starts[kept - 1]:
                    self._starts[kept] = self._starts[number]
                    kept += 1
            self._count = kept
        begin(&self._reader, names)

    def next_keys(self) -> list:
        """Return the keys of the rows to read next, in order; empty: every name is in its row."""
        cdef Py_ssize_t number
        self._given = self._next
        self._next = min(self._count, self._given + ROWS_AT_ONCE)
        self._keys = []
        for number in range(self._given, self._next):
            self._keys.append(term_key(self._bucket, self._starts[number]))
        return self._keys

    def rows(self, list found not None) -> list:
        """Return the (key, row) pairs that replace those that were read.

        Args:
            found: (key, row) of the keys that have a row, in order.

        Raises:
            DamagedBytes: a row is cut off.
        """
        cdef list changed = []
        cdef Py_ssize_t number, at = 0
        cdef bytes key, row
        for number in range(self._given, self._next):
            key = self._keys[number - self._given]
            row = None
            if at < len(found):
                held_key, held = found[at]
                if held_key == key:
                    row = held
                    at += 1
            self.merge(self._starts[number], key, row, changed)
        self._given = self._next
        return changed

    cdef int merge(self, uint64_t start, bytes key, bytes row, list changed) except -1:
        """Merge names into the slice that begins with a hash, and split it as `after` demands."""
        cdef uint64_t end = end_of(start, self._before), next_start = start, until, iid, last
        cdef uint8_t *out
        cdef uint8_t *first
        cdef Reader held
        begin(&held, b"" if row is None else row)
        out = self.room(start, end, row)
        while next_start < end:
            first, last = out, 0
            until = end_of(next_start, self._after)
            while has_entry(&self._reader) and self._reader.hash < until:
                iid = iid_of(&self._reader)
                out = copy_held(&held, out, &last, self._reader.hash, iid)
                if not (has_entry(&held) and held.hash == self._reader.hash and iid_of(&held) == iid):
                    out = put_varint(put_varint(out, self._reader.hash - last), iid)
                    last = self._reader.hash
                advance(&self._reader)
            if until < end:
                out = copy_held(&held, out, &last, until, 0)
            else:
                out = copy_held(&held, out, &last, UINT64_MAX, UINT64_MAX)
            if out > first:
                if next_start != start:
                    key = term_key(self._bucket, next_start)
                changed.append((key, PyBytes_FromStringAndSize(<char *> first, out - first)))
            elif next_start == start and row is not None:
                self.emptied.append(key)
            next_start = until
        return 0

    cdef uint8_t *room(self, uint64_t start, uint64_t end, bytes row) except NULL:
        """Return room for the new rows of a slice: its entries, new names, and a whole hash after each new name and at
        the start of each smaller slice."""
        cdef Py_ssize_t size = 0 if row is None else len(row)
        cdef Reader reader = self._reader
        cdef uint8_t *room
        while has_entry(&reader) and reader.hash < end:
            size += ENTRY_BYTES_MAX + VARINT_BYTES_MAX
            advance(&reader)
        while start < end:
            size += VARINT_BYTES_MAX
            start = end_of(start, self._after)
        if size > self._room_bytes or self._room == NULL:
            room = <uint8_t *> realloc(self._room, 2 * size + 1)
            if room == NULL:
                raise MemoryError
            self._room = room
            self._room_bytes = 2 * size
        return self._room


cdef uint8_t *copy_held(Reader *held, uint8_t *out, uint64_t *last, uint64_t hash, uint64_t iid) except NULL:
    """Copy the entries before (hash, IID); `last` goes in as the hash before them and comes out as their last one."""
    cdef const uint8_t *start = held.at
    if not is_before(held, hash, iid):
        return out
    if held.before != last[0]:
        out = put_varint(out, held.hash - last[0])
        start = held.iid
    while is_before(held, hash, iid):
        skim(held, hash)
        last[0] = held.hash
        advance(held)
    memcpy(out, start, held.at - start)
    return out + (held.at - start)


cdef inline bint is_before(const Reader *reader, uint64_t hash, uint64_t iid) noexcept nogil:
    return has_entry(reader) and (reader.hash < hash or (reader.hash == hash and iid_of(reader) < iid))


cdef int compare_numbers(const void *one, const void *other) noexcept nogil:
    cdef uint64_t left = (<const uint64_t *> one)[0], right = (<const uint64_t *> other)[0]
    return (left > right) - (left < right)
