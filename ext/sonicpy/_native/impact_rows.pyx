"""Rows of `impacts`: bounds of the parts that the postings of full blocks have in scores, known without reading the
blocks.

    row     count u8, then per block, by rising IID:
            v(smallest IID the block may hold, less that of the block before; the first one whole)
            pairs u8, and per pair tf u8, packed length u8

A row holds at most ENTRIES_MAX blocks; its key names the smallest IID of its first block.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport UINT8_MAX, UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from sonicpy._native.bm25 cimport PackedLengths, lengths_of, packed_length
from sonicpy._native.impacts cimport IMPACTS_MAX, Block, Impacts, take_impact
from sonicpy._native.keys cimport TERM_ID_BYTES, put_big_endian
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ENTRIES_MAX = 128
    ENTRY_BYTES_MAX = 10 + 1 + 2 * IMPACTS_MAX
    TERM_KEY_SIZE = 4 + TERM_ID_BYTES  # of a key, before the smallest IID

BLOCKS_PER_ROW = ENTRIES_MAX


def block_pairs(bytes block not None, lengths not None) -> list:
    """Return the impacts of a block as (tf, packed length) pairs.

    Args:
        lengths: the lengths of all objects, packed, by IID: bytes or a bytearray.

    Raises:
        DamagedBytes: the block cannot be read.
    """
    cdef PackedLengths packed = lengths_of(lengths)
    cdef Impacts impacts
    impacts_of(block, &packed, &impacts)
    return [(impacts.pairs[number].tf, impacts.pairs[number].length) for number in range(impacts.count)]


cdef int impacts_of(bytes block, const PackedLengths *packed, Impacts *impacts) except -1:
    """Compute the impacts of a block."""
    cdef Posting postings[BLOCK_POSTINGS]
    cdef int number, count = decode(block, postings)
    impacts.count = 0
    for number in range(count):
        take_impact(
            impacts, <uint8_t> min(postings[number].tf, UINT8_MAX), packed_length(packed, postings[number].iid)
        )
    return 0


cdef Py_ssize_t count_entries(const uint8_t *row, Py_ssize_t size) except -1:
    """Return the number of blocks in a row. Raises DamagedBytes."""
    if size < 1 or not 0 < row[0] <= ENTRIES_MAX:
        raise damaged()
    return row[0]


cdef Py_ssize_t read_entries(const uint8_t *row, Py_ssize_t size, Block *blocks) except -1:
    """Read a row into `blocks`, which has room for all of them; return their number. Raises DamagedBytes."""
    cdef const uint8_t *at = row + 1
    cdef const uint8_t *end = row + size
    cdef Py_ssize_t number, pair, count = count_entries(row, size)
    cdef uint64_t lower = 0, step = 0
    for number in range(count):
        if get_varint(&at, end, &step) < 0:
            raise damaged()
        lower += step
        if step > UINT32_MAX or lower > UINT32_MAX or (number and not step) or at == end or not 0 < at[0] <= IMPACTS_MAX:
            raise damaged()
        blocks[number].lower = <uint32_t> lower
        blocks[number].impacts.count = at[0]
        if end - at < 1 + 2 * at[0]:
            raise damaged()
        for pair in range(at[0]):
            blocks[number].impacts.pairs[pair].tf = at[1 + 2 * pair]
            blocks[number].impacts.pairs[pair].length = at[2 + 2 * pair]
        at += 1 + 2 * at[0]
    if at != end:
        raise damaged()
    return count


cdef object damaged():
    return DamagedBytes("a row of impacts cannot be read")


cdef struct Entry:
    uint32_t lower
    Impacts impacts


cdef class ImpactRow:
    """A row of impacts that can be changed.

    Args:
        row: the stored row; b"": a new one.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef Entry _entries[ENTRIES_MAX + 1]
    cdef Py_ssize_t _count

    def __cinit__(self, bytes row=b""):
        cdef Block blocks[ENTRIES_MAX]
        cdef Py_ssize_t number
        if row:
            self._count = read_entries(<const uint8_t *> <const char *> row, len(row), blocks)
            for number in range(self._count):
                self._entries[number] = Entry(blocks[number].lower, blocks[number].impacts)

    def __len__(self) -> int:
        return self._count

    ENTRIES_MAX = BLOCKS_PER_ROW

    @property
    def is_full(self) -> bool:
        """Whether the row has as many blocks as a row may have."""
        return self._count >= ENTRIES_MAX

    @property
    def lower(self) -> int:
        """The smallest IID that the first block of the row may hold. Raises IndexError if the row is empty."""
        if not self._count:
            raise IndexError("an empty row of impacts has no first block")
        return self._entries[0].lower

    def lowers(self) -> list:
        """Return, for each block of the row, the smallest IID that it may hold."""
        cdef Py_ssize_t number
        return [self._entries[number].lower for number in range(self._count)]

    def pairs(self, Py_ssize_t number) -> list:
        """Return the (tf, packed length) pairs of a block; `number` is its place in the row. Raises IndexError."""
        cdef Py_ssize_t pair
        cdef Impacts *impacts
        if not 0 <= number < self._count:
            raise IndexError(f"the row holds {self._count} blocks, none at place {number}")
        impacts = &self._entries[number].impacts
        return [(impacts.pairs[pair].tf, impacts.pairs[pair].length) for pair in range(impacts.count)]

    cdef Py_ssize_t place_of(self, uint64_t iid) noexcept nogil:
        """Return the place of the block that may hold an object; -1: the object is before the first block."""
        cdef Py_ssize_t place = self._count - 1
        while place >= 0 and self._entries[place].lower > iid:
            place -= 1
        return place

    def widen(self, uint64_t iid, uint8_t tf, uint8_t length) -> bool:
        """Widen a block's impacts to cover a posting; return whether that changed them."""
        cdef Py_ssize_t place = self.place_of(iid)
        return place >= 0 and take_impact(&self._entries[place].impacts, tf, length)

    def put(self, uint64_t lower, list pairs not None) -> None:
        """Set the impacts, as (tf, length) pairs, of the block with the smallest IID `lower`; the block may be new."""
        cdef Impacts impacts
        impacts.count = 0
        for tf, length in pairs:
            take_impact(&impacts, tf, length)
        self.set(lower, &impacts)

    cdef bint set(self, uint64_t lower, const Impacts *impacts) except -1:
        """Set the impacts of the block with the smallest IID `lower`; return whether that changed the row. Raises
        ValueError if the row is full.
        """
        cdef Py_ssize_t place = self.place_of(lower)
        if place >= 0 and self._entries[place].lower == lower:
            if are_equal(&self._entries[place].impacts, impacts):
                return False
            self._entries[place].impacts = impacts[0]
            return True
        if self._count > ENTRIES_MAX:
            raise ValueError(f"a row of impacts holds at most {ENTRIES_MAX} blocks")
        place += 1
        memmove(&self._entries[place + 1], &self._entries[place], (self._count - place) * sizeof(Entry))
        self._entries[place] = Entry(<uint32_t> lower, impacts[0])
        self._count += 1
        return True

    def remove(self, uint64_t lower) -> None:
        """Remove the block with the smallest IID `lower`. Raises DamagedBytes if the row has no such block."""
        cdef Py_ssize_t place = self.place_of(lower)
        if place < 0 or self._entries[place].lower != lower:
            raise DamagedBytes(f"no impacts tell of the block from object {lower} on")
        self._count -= 1
        memmove(&self._entries[place], &self._entries[place + 1], (self._count - place) * sizeof(Entry))

    def take_second_half(self) -> ImpactRow:
        """Move the second half of the blocks to a new row, and return it."""
        cdef ImpactRow other = ImpactRow()
        cdef Py_ssize_t number, half = self._count // 2
        for number in range(half, self._count):
            other._entries[number - half] = self._entries[number]
        other._count = self._count - half
        self._count = half
        return other

    def pack(self) -> bytes:
        """Return the row as it is stored. Raises ValueError if it has too many blocks or none."""
        cdef uint8_t room[1 + (ENTRIES_MAX + 1) * ENTRY_BYTES_MAX]
        cdef uint8_t *out = room + 1
        cdef Py_ssize_t number, pair
        cdef uint64_t before = 0
        cdef Impacts *impacts
        if not 0 < self._count <= ENTRIES_MAX:
            raise ValueError(f"a row of impacts holds 1 to {ENTRIES_MAX} blocks, not {self._count}")
        room[0] = <uint8_t> self._count
        for number in range(self._count):
            out = put_varint(out, self._entries[number].lower - before)
            before = self._entries[number].lower
            impacts = &self._entries[number].impacts
            out[0] = impacts.count
            out += 1
            for pair in range(impacts.count):
                out[0] = impacts.pairs[pair].tf
                out[1] = impacts.pairs[pair].length
                out += 2
        return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef bint are_equal(const Impacts *one, const Impacts *other) noexcept nogil:
    cdef int pair
    if one.count != other.count:
        return False
    for pair in range(one.count):
        if one.pairs[pair].tf != other.pairs[pair].tf or one.pairs[pair].length != other.pairs[pair].length:
            return False
    return True


def rows_with_blocks(list blocks not None, list found not None, lengths not None) -> list:
    """Return the (key, row) pairs to write for the impacts of new blocks.

    Args:
        blocks: (key, block) pairs; the lengths of their objects have changed already.
        found: for each block, the (key, row) of the last row of its word that begins at or before the block, or None.
        lengths: the lengths of all objects, packed, by IID: bytes or a bytearray.

    Raises:
        DamagedBytes: a row or a block cannot be read.
        ValueError: the numbers of blocks and rows differ.
    """
    cdef PackedLengths packed = lengths_of(lengths)
    cdef dict words = {}, rows, changed = {}
    cdef Py_ssize_t number
    cdef Impacts impacts
    cdef ImpactRow row, second
    cdef bytes key, row_key, block
    if len(found) != len(blocks):
        raise ValueError(f"{len(blocks)} blocks need as many rows, not {len(found)}")
    for number in range(len(blocks)):
        key, block = blocks[number]
        impacts_of(block, &packed, &impacts)
        rows = words.setdefault(key[:TERM_KEY_SIZE], {})  # of the word: two halves of a block are in one row
        row_key = row_for(rows, key, found[number])
        row = rows[row_key]
        if not row.set(position_in(key), &impacts):
            continue
        if row._count > ENTRIES_MAX:
            second = row.take_second_half()
            rows[key_from(key, second._entries[0].lower)] = changed[key_from(key, second._entries[0].lower)] = second
        changed[row_key] = row
    return [(row_key, (<ImpactRow> row).pack()) for row_key, row in changed.items()]


cdef bytes row_for(dict rows, bytes key, tuple found):
    """Return the key of the row for a block, and add the row to `rows`.

    Args:
        rows: the rows of the word that have changed already, by their keys.
        key: the key of the block.
        found: the element for this block of `found` of `rows_with_blocks`.
    """
    cdef bytes at = None, other
    cdef ImpactRow row
    if found is not None:
        at = found[0]
        if at not in rows:
            rows[at] = ImpactRow(found[1])
    for other in rows:
        if other <= key and (at is None or other > at):
            at = other
    if at is not None:
        row = rows[at]
        if row._count < ENTRIES_MAX or position_in(key) <= row._entries[row._count - 1].lower:
            return at
    rows[key] = ImpactRow()
    return key


def widened_rows(list found not None, list terms not None, uint64_t iid, uint8_t length) -> list:
    """Return the (key, row) pairs to write so that impacts cover an object of a new length.

    Args:
        found: for each term, the (key, row) of the last row of its word that begins at or before the object, or None.
        terms: (term id, tf) pairs.
        length: the new length, packed.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef list changed = []
    cdef ImpactRow row
    cdef Py_ssize_t number
    for number in range(len(terms)):
        if found[number] is not None:
            row = ImpactRow(found[number][1])
            if row.widen(iid, <uint8_t> min(<uint64_t> terms[number][1], <uint64_t> UINT8_MAX), length):
                changed.append((found[number][0], row.pack()))
    return changed


cdef uint32_t position_in(bytes key) except? 0xFFFFFFFF:
    """Return the smallest IID that a block may hold, which is in its key. Raises ValueError if the key has another
    size.
    """
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(key) + TERM_KEY_SIZE
    if PyBytes_GET_SIZE(key) != TERM_KEY_SIZE + 4:
        raise ValueError(f"the key of a block has {TERM_KEY_SIZE + 4} bytes, not {len(key)}")
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


cdef bytes key_from(bytes key, uint32_t lower):
    """Return the key of another row of the same word, which begins with the block from IID `lower` on."""
    cdef bytes other = PyBytes_FromStringAndSize(PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    put_big_endian(<uint8_t *> PyBytes_AS_STRING(other) + TERM_KEY_SIZE, lower, 4)
    return other
