"""The rows of `oids`: hash of an OID (`name_hash` of name_map.pyx) -> objects.

    row     0x80 0x00, v(entries), k u8, width u8; then in bits (bit_stream.pxd): bits(32) the first hash, per entry
            bits(width) its IID, and gaps(k) of hash - hash before

A row holds the first 32 bits of each hash, with entries by rising hash, then IID. Until 1.0, a row held all 40 bits, in
the format of `NameMap.take`:

    names   per entry, by rising hash, then IID: v(hash - hash before), v(IID)

No minimally packed number begins with 0x80 0x00.

The slice of hashes in a row follows linear hashing on the first bits (Litwin, "Linear hashing: a new tool for file and
table addressing", 1980): with S slices and 2^b <= S < 2^(b+1), the first S - 2^b of the slices of b bits are split in
two. The key of a slice holds its smallest hash, so the rows of a bucket are in the order of hashes.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort

from sonicpy._native.bit_stream cimport (
    BITS_MAX,
    SPARE_BYTES,
    BitReader,
    BitWriter,
    GapReader,
    begin_bits,
    begin_gaps,
    best_k,
    end_bits,
    is_at_end,
    next_gap,
    put_bits,
    put_gaps,
    take_bits,
    take_gaps,
)
from sonicpy._native.bits cimport highest_bit
from sonicpy._native.keys cimport term_key
from sonicpy._native.memory cimport grown
from sonicpy._native.name_map cimport HASH_BITS, NameEntry
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ROWS_AT_ONCE = 500  # that are read, merged and written: half a megabyte
    MARK = 0x80
    STORED_BITS = 32  # of a hash
    CUT_BITS = HASH_BITS - STORED_BITS
    K_MAX = 32


# -- slices -----------------------------------------------------------------------------------------------------------


cdef int whole_bits(uint64_t slices) noexcept nogil:
    """Return the number of leading bits that choose a slice that is not split; there is at least one slice."""
    cdef int bits = 0
    while bits < HASH_BITS and (<uint64_t> 2 << bits) <= slices:
        bits += 1
    return bits


cdef int slice_bits(uint64_t hash, uint64_t slices) noexcept nogil:
    """Return the number of leading bits of `hash` that choose its slice."""
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
    """Return the smallest hash of the slice to which `hash` belongs; there is at least one slice."""
    return start_of(hash, slices)


def slice_to_split(uint64_t slices) -> tuple:
    """Return the smallest hash of the slice that is split next, and that of its upper half."""
    cdef uint64_t start = next_split(slices)
    return start, end_of(start, slices + 1)


def name_key(uint32_t bucket, uint64_t hash, uint64_t slices) -> bytes:
    """Return the key of the row of a name; there is at least one slice."""
    return term_key(bucket, start_of(hash, slices))


# -- rows -------------------------------------------------------------------------------------------------------------


cdef bint is_dense(const uint8_t *row, Py_ssize_t size) noexcept nogil:
    return size > 2 and row[0] == MARK and row[1] == 0


cdef object cut_off():
    return DamagedBytes("a row of names is cut off")


cdef struct DenseNames:  # the head of a row, read
    Py_ssize_t count
    int k, width
    BitReader bits  # at the first hash


cdef int open_dense(const uint8_t *row, Py_ssize_t size, DenseNames *names) except -1:
    """Read the head of a row that `is_dense`. Raises DamagedBytes."""
    cdef const uint8_t *at = row + 2
    cdef const uint8_t *end = row + size
    cdef uint64_t count = 0
    if get_varint(&at, end, &count) < 0 or end - at < 2 or not 0 < count <= <uint64_t> 8 * (end - at):
        raise cut_off()
    names.count, names.k, names.width = count, at[0], at[1]
    names.bits.start, names.bits.size, names.bits.at = at + 2, end - at - 2, 0
    if names.k > K_MAX or names.width > BITS_MAX or STORED_BITS + count * names.width > 8 * names.bits.size:
        raise cut_off()
    return 0


cdef int take_hashes(DenseNames *names, uint32_t *hashes) except -1:
    """Decode the hashes of a row, 32 bits each; `hashes` has room for `count` of them. Raises DamagedBytes."""
    cdef Py_ssize_t number
    hashes[0] = <uint32_t> take_bits(&names.bits, STORED_BITS)
    names.bits.at += names.count * names.width
    if not take_gaps(&names.bits, hashes + 1, <int> names.count - 1, names.k) or not is_at_end(&names.bits):
        raise cut_off()
    for number in range(1, names.count):
        hashes[number] += hashes[number - 1]
        if hashes[number] < hashes[number - 1]:
            raise cut_off()
    return 0


cdef inline uint64_t iid_at(const DenseNames *names, Py_ssize_t number) noexcept nogil:
    cdef BitReader bits = names.bits
    bits.at = STORED_BITS + number * names.width
    return take_bits(&bits, names.width)


cdef Py_ssize_t entries_at_most(bytes row) except -1:
    """Return an upper bound of the number of entries in a row."""
    cdef DenseNames names
    if not is_dense(<const uint8_t *> <const char *> row, len(row)):
        return len(row) // 2
    open_dense(<const uint8_t *> <const char *> row, len(row), &names)
    return names.count


cdef Py_ssize_t read_entries(bytes row, NameEntry *entries) except -1:
    """Decode a row, or names in the format of `NameMap.take`; return the number of entries.

    `entries` has room for `entries_at_most(row)`. The bits of a hash that rows do not hold are 0. Raises DamagedBytes.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef const uint8_t *end = at + len(row)
    cdef DenseNames names
    cdef uint32_t *hashes
    cdef uint64_t hash = 0, step = 0
    cdef Py_ssize_t number, count = 0
    if is_dense(at, len(row)):
        open_dense(at, len(row), &names)
        hashes = <uint32_t *> malloc(names.count * sizeof(uint32_t))
        if hashes == NULL:
            raise MemoryError
        try:
            take_hashes(&names, hashes)
            for number in range(names.count):
                entries[number] = NameEntry(<uint64_t> hashes[number] << CUT_BITS, iid_at(&names, number))
        finally:
            free(hashes)
        return names.count
    while at < end:
        if get_varint(&at, end, &step) < 0 or get_varint(&at, end, &entries[count].iid) < 0:
            raise cut_off()
        hash += step
        if step >> HASH_BITS or hash >> HASH_BITS:
            raise DamagedBytes("the hash of a name is too large")
        entries[count].hash = stored_hash(hash)
        count += 1
    sort_entries(entries, count)
    return count


cpdef inline uint64_t stored_hash(uint64_t hash) noexcept:
    """Return a hash without the bits that rows do not hold."""
    return hash >> CUT_BITS << CUT_BITS


cdef void sort_entries(NameEntry *entries, Py_ssize_t count) noexcept nogil:
    """Sort entries with rising hashes: entries of equal hashes by IID."""
    cdef Py_ssize_t number, place
    cdef NameEntry entry
    for number in range(1, count):
        entry = entries[number]
        place = number
        while place and is_before(&entry, &entries[place - 1]):
            entries[place] = entries[place - 1]
            place -= 1
        entries[place] = entry


cdef inline bint is_before(const NameEntry *one, const NameEntry *other) noexcept nogil:
    return one.hash < other.hash or (one.hash == other.hash and one.iid < other.iid)


cdef bytes write_entries(const NameEntry *entries, Py_ssize_t count):
    """Return the row for entries in the form of `read_entries`. Raises DamagedBytes if an IID is too large."""
    cdef uint32_t *gaps
    cdef uint8_t *room
    cdef uint8_t *out
    cdef uint64_t all_iids = 1
    cdef Py_ssize_t number
    cdef int width, k
    cdef BitWriter bits
    if not count:
        return b""
    for number in range(count):
        all_iids |= entries[number].iid
    width = highest_bit(all_iids) + 1
    if width > BITS_MAX:
        raise DamagedBytes(f"a name cannot belong to an object of more than {BITS_MAX} bits")
    # Of each entry the IID and a gap of at most K_MAX + 3 bits, as it is with the best k.
    room = <uint8_t *> malloc(count * (sizeof(uint32_t) + (width + K_MAX + 3) // 8 + 1) + 32 + SPARE_BYTES)
    if room == NULL:
        raise MemoryError
    try:
        gaps = <uint32_t *> room
        for number in range(1, count):
            gaps[number - 1] = <uint32_t> ((entries[number].hash - entries[number - 1].hash) >> CUT_BITS)
        k = best_k(gaps, <int> count - 1)
        out = room + count * sizeof(uint32_t)
        out[0], out[1] = MARK, 0
        begin_bits(&bits, put_varint(out + 2, count))
        put_bits(&bits, k, 8)
        put_bits(&bits, width, 8)
        put_bits(&bits, entries[0].hash >> CUT_BITS, STORED_BITS)
        for number in range(count):
            put_bits(&bits, entries[number].iid, width)
        put_gaps(&bits, gaps, <int> count - 1, k)
        return PyBytes_FromStringAndSize(<char *> out, end_bits(&bits) - out)
    finally:
        free(room)


def unpack_names(bytes row not None) -> list:
    """Return the (hash, IID) entries of a row, in their order; the last eight bits of each hash are 0.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef Py_ssize_t number, count = entries_at_most(row)
    cdef NameEntry *entries = <NameEntry *> malloc((count + 1) * sizeof(NameEntry))
    if entries == NULL:
        raise MemoryError
    try:
        count = read_entries(row, entries)
        return [(entries[number].hash, entries[number].iid) for number in range(count)]
    finally:
        free(entries)


def pack_names(list names not None) -> bytes:
    """Return the row for (hash, IID) entries in rising order."""
    cdef NameEntry *entries = <NameEntry *> malloc((len(names) + 1) * sizeof(NameEntry))
    cdef Py_ssize_t count = 0
    cdef uint64_t hash, iid
    if entries == NULL:
        raise MemoryError
    try:
        for hash, iid in names:
            entries[count] = NameEntry(stored_hash(hash), iid)
            count += 1
        sort_entries(entries, count)
        return write_entries(entries, count)
    finally:
        free(entries)


def without_name(bytes row not None, uint64_t hash, uint64_t iid):
    """Return the row without an entry; b"": the row had no other entry; None: the row does not have the entry.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef Py_ssize_t number, place = -1, count = entries_at_most(row)
    cdef NameEntry *entries = <NameEntry *> malloc((count + 1) * sizeof(NameEntry))
    if entries == NULL:
        raise MemoryError
    try:
        count = read_entries(row, entries)
        for number in range(count):
            if entries[number].iid == iid and entries[number].hash == stored_hash(hash):
                place = number
        if place < 0:
            return None
        for number in range(place, count - 1):
            entries[number] = entries[number + 1]
        return write_entries(entries, count - 1) if count > 1 else b""
    finally:
        free(entries)


def named(bytes row not None, uint64_t hash) -> tuple:
    """Return the IIDs of the objects whose OID may hash to `hash`: the first 32 bits of the hashes are equal.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef DenseNames names
    cdef GapReader gaps
    cdef uint32_t found, gap = 0, wanted = <uint32_t> (hash >> CUT_BITS)
    cdef Py_ssize_t number
    cdef list iids = []
    if not is_dense(at, len(row)):
        return tuple([iid for other, iid in unpack_names(row) if other == stored_hash(hash)])
    open_dense(at, len(row), &names)
    found = <uint32_t> take_bits(&names.bits, STORED_BITS)
    names.bits.at += names.count * names.width
    if not begin_gaps(&gaps, &names.bits, names.count - 1, names.k):
        raise cut_off()
    for number in range(names.count):
        if number:
            if not next_gap(&gaps, &gap) or gap > UINT32_MAX - found:
                raise cut_off()
            found += gap
        if found >= wanted:
            if found > wanted:
                break
            iids.append(iid_at(&names, number))
    return tuple(iids)


# -- merging --------------------------------------------------------------------------------------------------------


cdef class NameMerge:
    """Puts names into the rows of their slices, and splits slices that are too large, some rows at a time.

        while keys := merge.next_keys():
            write(merge.rows(read(keys)))

    Args:
        bucket: the number of the bucket.
        names: the names, as `NameMap.take` returns them.
        before: the present number of slices, at least one.
        after: the new number of slices, not lower.

    Raises:
        DamagedBytes: `names` cannot be read, or the numbers of slices are impossible.

    Attributes:
        emptied: the keys of rows to delete at the end.
    """
    cdef uint32_t _bucket
    cdef uint64_t _before, _after
    cdef NameEntry *_names
    cdef Py_ssize_t _name_count, _name_at  # the first one that was not merged yet
    cdef uint64_t *_starts  # of the slices whose rows change, by number; those up to `_next` were given out
    cdef Py_ssize_t _count, _given, _next
    cdef list _keys
    cdef readonly list emptied
    cdef NameEntry *_held  # entries of the row that is merged
    cdef NameEntry *_merged
    cdef Py_ssize_t _held_room, _merged_room

    def __dealloc__(self):
        free(self._names)
        free(self._starts)
        free(self._held)
        free(self._merged)

    def __cinit__(self, uint32_t bucket, bytes names not None, uint64_t before, uint64_t after):
        cdef uint64_t start, slices
        cdef Py_ssize_t number, kept = 0, room = 0
        if not 1 <= before <= after <= <uint64_t> 1 << STORED_BITS:
            raise DamagedBytes(f"there cannot be {before} slices of names and then {after}")
        self._bucket, self._before, self._after = bucket, before, after
        self.emptied = []
        self._names = <NameEntry *> grown(NULL, &room, entries_at_most(names) + 1, sizeof(NameEntry))
        self._name_count = read_entries(names, self._names)
        room = 0
        self._starts = <uint64_t *> grown(NULL, &room, self._name_count + after - before + 1, sizeof(uint64_t))
        for number in range(self._name_count):
            start = start_of(self._names[number].hash, before)
            if self._count == 0 or self._starts[self._count - 1] != start:
                self._starts[self._count] = start
                self._count += 1
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

    def next_keys(self) -> list:
        """Return the keys of the rows to read next, in order; an empty list if every name is in its row."""
        cdef Py_ssize_t number
        self._given = self._next
        self._next = min(self._count, self._given + ROWS_AT_ONCE)
        self._keys = []
        for number in range(self._given, self._next):
            self._keys.append(term_key(self._bucket, self._starts[number]))
        return self._keys

    def rows(self, list found not None) -> list:
        """Return the (key, row) pairs that replace the rows read.

        Args:
            found: the (key, row) of the keys that have a row, in order.

        Raises:
            DamagedBytes: a row cannot be read.
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
        """Merge names into the slice that begins with the hash `start`; split the slice if the new slices are
        smaller."""
        cdef uint64_t end = end_of(start, self._before), next_start = start, until
        cdef Py_ssize_t count, first = 0, last = 0
        count = self.merge_entries(row, end)
        while next_start < end:
            until = end_of(next_start, self._after)
            while last < count and (until == end or self._merged[last].hash < until):
                last += 1
            if last > first:
                if next_start != start:
                    key = term_key(self._bucket, next_start)
                changed.append((key, write_entries(self._merged + first, last - first)))
            elif next_start == start and row is not None:
                self.emptied.append(key)
            first, next_start = last, until
        return 0

    cdef Py_ssize_t merge_entries(self, bytes row, uint64_t end) except -1:
        """Merge the entries of a row and the names with a hash below `end` into `_merged`; return their number."""
        cdef Py_ssize_t held = 0, at = 0, count = 0, until = self._name_at
        if row is not None:
            held = entries_at_most(row)
            self._held = <NameEntry *> grown(self._held, &self._held_room, held + 1, sizeof(NameEntry))
            held = read_entries(row, self._held)
        while until < self._name_count and self._names[until].hash < end:
            until += 1
        count = held + until - self._name_at
        self._merged = <NameEntry *> grown(self._merged, &self._merged_room, count + 1, sizeof(NameEntry))
        count = 0
        while at < held or self._name_at < until:
            if self._name_at == until or (at < held and not is_before(&self._names[self._name_at], &self._held[at])):
                if self._name_at < until and not is_before(&self._held[at], &self._names[self._name_at]):
                    self._name_at += 1  # the row has it already
                self._merged[count] = self._held[at]
                at += 1
            else:
                self._merged[count] = self._names[self._name_at]
                self._name_at += 1
            count += 1
        return count


cdef int compare_numbers(const void *one, const void *other) noexcept nogil:
    cdef uint64_t left = (<const uint64_t *> one)[0], right = (<const uint64_t *> other)[0]
    return (left > right) - (left < right)
