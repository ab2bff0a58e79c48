"""The bytes of the store: keys, blocks of postings, rows of words, records of objects; and how a text changes them.

Layouts (v = varint of varint.pxd; docs/storage-format.md draws them all):

    block   count u8, then per posting in the order of association:
            v(zigzag(IID - IID before) << 1 | (tf > 1)), and v(tf) only if tf > 1
    word    v(term id) v(holders) v(hidden holders) v(df) v(last block) v(first block) v(dead) v(first count)
            and then its last block, where that holds postings
    object  u8 length and bytes of the OID, v(terms), then per term, by rising term id:
            v((term id - term id before) << 2 | hidden << 1 | (tf > 1)), v(tf) only if tf > 1, v(block)

A word's living postings are those from place `dead` of block `first block` on to the end of block `last block`;
emptied blocks in between are missing. The last block, the tail, stands in the word's own row, so that most words are
read and written with one row; full ones stand in `postings`. A word without postings has first block = last block + 1.
`holders` counts the objects whose record names the word, also those the window has pushed out of the postings; hidden
holders hold it only as a stop word or as a part of a run without blanks.

`Link` and `Unlink` do one PUSH and one POP or FLUSHO: they take rows and blocks that were read, and give the rows
and blocks to write; reading and writing is the caller's. PUSH works on a `TermCache`, which keeps the rows of words
decoded and gives those that changed to write when it is asked: a common word is then read and written once for many
texts.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

from sonicpy._native.varint cimport get_varint, put_varint, unzigzag, zigzag

import hashlib
import os

cdef enum:
    TERM_KEY_BYTES = 500  # LMDB keys hold 511 bytes; 4 are the bucket's
    TERM_HEAD_BYTES = 466
    WORD_FIELDS = 8
    SHOWN_BYTES = 40  # longer words are not completed, corrected, listed or counted
    F_HIDDEN = 6  # STOP and PART of text.pyx

cdef uint64_t BLOCK_NUMBER_MAX = 0xFFFFFFFF

WORD_BYTES_MAX = SHOWN_BYTES
POSTINGS_PER_BLOCK = BLOCK_POSTINGS

IID_MAX = (1 << 40) - 1


class DamagedBytes(ValueError):
    """Stored bytes do not have the layout they should have."""


# -- keys ---------------------------------------------------------------------------------------------------------

cdef inline void put_big_endian(uint8_t *out, uint64_t value, int size) noexcept nogil:
    cdef int step
    for step in range(size):
        out[size - 1 - step] = <uint8_t> (value >> (8 * step))


def bucket_key(uint32_t bucket) -> bytes:
    """Return the four bytes that every key of `bucket` begins with."""
    cdef uint8_t key[4]
    put_big_endian(key, bucket, 4)
    return PyBytes_FromStringAndSize(<char *> key, 4)


cpdef bytes word_key(uint32_t bucket, bytes term):
    """Return the key of `term` in `words`: the bucket, then the term.

    A term of more than 500 bytes is kept as its first 466, 0xFF (never a byte of UTF-8) and the BLAKE2b of all of it.
    """
    cdef Py_ssize_t size = len(term)
    cdef bytes key
    if size > TERM_KEY_BYTES:
        term = term[:TERM_HEAD_BYTES] + b"\xff" + hashlib.blake2b(term, digest_size=32).digest()
        size = len(term)
    key = PyBytes_FromStringAndSize(NULL, 4 + size)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    memcpy(<char *> key + 4, <const char *> term, size)
    return key


cpdef bytes term_key(uint32_t bucket, uint64_t term_id):
    """Return the key of a term id in `terms`: bucket (4 bytes), term id (5)."""
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 9)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    put_big_endian(<uint8_t *> <char *> key + 4, term_id, 5)
    return key


cpdef bytes object_key(uint32_t bucket, uint64_t iid):
    """Return the key of an object in `objects`: bucket (4 bytes), IID (5)."""
    return term_key(bucket, iid)


cpdef bytes block_key(uint32_t bucket, uint64_t term_id, uint32_t block):
    """Return the key of a block in `postings`: bucket (4 bytes), term id (5), block number (4)."""
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 13)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    put_big_endian(<uint8_t *> <char *> key + 4, term_id, 5)
    put_big_endian(<uint8_t *> <char *> key + 9, block, 4)
    return key


# -- numbers ------------------------------------------------------------------------------------------------------

def pack_varints(numbers) -> bytes:
    """Return the numbers (0 to 2**64 - 1) as varints, one after the other."""
    cdef bytearray out = bytearray()
    cdef uint8_t room[10]
    cdef uint64_t number
    for number in numbers:
        out += PyBytes_FromStringAndSize(<char *> room, put_varint(room, number) - room)
    return bytes(out)


def unpack_varints(bytes packed) -> list:
    """Return the numbers that `pack_varints` packed.

    Raises:
        DamagedBytes: the last number is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> packed
    cdef const uint8_t *end = at + len(packed)
    cdef uint64_t number = 0
    cdef list out = []
    while at < end:
        if get_varint(&at, end, &number) < 0:
            raise DamagedBytes("a list of numbers is cut off")
        out.append(number)
    return out


# -- blocks -------------------------------------------------------------------------------------------------------

cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil:
    """Decode a block into `out` (room for BLOCK_POSTINGS); return how many postings it holds, or -1: damaged."""
    cdef const uint8_t *at = block + 1
    cdef const uint8_t *end = block + size
    cdef uint64_t found = 0, iid = 0
    cdef int count, step
    if size < 1 or block[0] > BLOCK_POSTINGS:
        return -1
    count = block[0]
    for step in range(count):
        # One or two bytes are what nearly every posting has.
        if end - at >= 2 and at[0] < 0x80:
            found = at[0]
            at += 1
        elif end - at >= 2 and at[1] < 0x80:
            found = (at[0] & 0x7F) | <uint64_t> at[1] << 7
            at += 2
        elif get_varint(&at, end, &found) < 0:
            return -1
        iid += <uint64_t> unzigzag(found >> 1)
        out[step].iid = iid
        out[step].tf = 1
        if found & 1:
            if get_varint(&at, end, &found) < 0:
                return -1
            out[step].tf = <uint32_t> found
    return count if at == end else -1


cdef bytes write_block(const Posting *postings, int count):
    cdef uint8_t room[1 + BLOCK_POSTINGS * 20]
    cdef uint8_t *out = room + 1
    cdef uint64_t before = 0
    cdef int step
    room[0] = <uint8_t> count
    for step in range(count):
        out = put_posting(out, before, postings[step].iid, postings[step].tf)
        before = postings[step].iid
    return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef inline uint8_t *put_posting(uint8_t *out, uint64_t before, uint64_t iid, uint32_t tf) noexcept nogil:
    out = put_varint(out, zigzag(<int64_t> (iid - before)) << 1 | (tf > 1))
    return put_varint(out, tf) if tf > 1 else out


cdef int decode(bytes block, Posting *out) except -1:
    cdef int count = read_block(<const uint8_t *> block, len(block), out)
    if count < 0:
        raise DamagedBytes(f"a block of postings of {len(block)} bytes cannot be read")
    return count


def pack_block(postings) -> bytes:
    """Return a block of at most 128 (IID, tf) pairs, oldest association first."""
    cdef Posting held[BLOCK_POSTINGS]
    cdef int count = 0
    for iid, tf in postings:
        if count == BLOCK_POSTINGS:
            raise ValueError(f"a block holds at most {BLOCK_POSTINGS} postings")
        held[count].iid = iid
        held[count].tf = tf
        count += 1
    return write_block(held, count)


def unpack_block(bytes block) -> list:
    """Return the (IID, tf) pairs of a block, oldest association first.

    Raises:
        DamagedBytes: the bytes are not a block.
    """
    cdef Posting held[BLOCK_POSTINGS]
    cdef int step, count = decode(block, held)
    return [(held[step].iid, held[step].tf) for step in range(count)]


# -- rows of words ------------------------------------------------------------------------------------------------

cdef struct Word:
    uint64_t term_id
    uint64_t holders
    uint64_t hidden_holders
    uint64_t df
    uint64_t last_block
    uint64_t first_block
    uint64_t dead
    uint64_t first_count


cdef Py_ssize_t read_word(bytes row, Word *word) except -1:
    """Read the numbers of a row and return where its tail begins."""
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t *fields = <uint64_t *> word
    cdef int step
    for step in range(WORD_FIELDS):
        if get_varint(&at, end, &fields[step]) < 0:
            raise DamagedBytes("the row of a word is cut off")
    return at - <const uint8_t *> row


cdef bytes write_word(const Word *word, const uint8_t *tail, Py_ssize_t tail_size):
    cdef uint8_t room[10 * WORD_FIELDS]
    cdef uint8_t *out = room
    cdef const uint64_t *fields = <const uint64_t *> word
    cdef int step
    cdef bytes row
    for step in range(WORD_FIELDS):
        out = put_varint(out, fields[step])
    row = PyBytes_FromStringAndSize(NULL, (out - room) + tail_size)
    memcpy(<char *> row, room, out - room)
    if tail_size:
        memcpy(<char *> row + (out - room), tail, tail_size)
    return row


cdef inline bint is_live(const Word *word, Py_ssize_t size) noexcept nogil:
    return word.df > 0 and word.holders > word.hidden_holders and size <= SHOWN_BYTES


cdef class WordRow:
    """A word's row, read: the fields of the layout, and whether the word is to be listed and counted."""
    cdef Word _word
    cdef Py_ssize_t _size, _tail_at
    cdef bytes _row

    def __init__(self, bytes row not None, Py_ssize_t term_bytes):
        self._tail_at = read_word(row, &self._word)
        self._row = row
        self._size = term_bytes

    @property
    def tail(self) -> bytes:
        """The block with the newest postings; empty: there are none in it."""
        return self._row[self._tail_at :]

    @property
    def term_id(self) -> int:
        return self._word.term_id

    @property
    def holders(self) -> int:
        """Objects that hold the word, those beyond the window included."""
        return self._word.holders

    @property
    def hidden_holders(self) -> int:
        """Holders for which it is a stop word or a part of a run without blanks."""
        return self._word.hidden_holders

    @property
    def df(self) -> int:
        """Living postings."""
        return self._word.df

    @property
    def last_block(self) -> int:
        return self._word.last_block

    @property
    def first_block(self) -> int:
        return self._word.first_block

    @property
    def dead(self) -> int:
        """How many postings at the head of the first block the window has pushed out."""
        return self._word.dead

    @property
    def first_count(self) -> int:
        return self._word.first_count

    @property
    def live(self) -> bool:
        """Some object holds it as a word of its own, and it is short enough to be shown."""
        return is_live(&self._word, self._size)


def likely_words(list rows, bytes prefix not None, Py_ssize_t limit) -> tuple:
    """Return the most frequent live words of some rows of `words`, and whether rows with the prefix may follow.

    Args:
        rows: (key, row) pairs by key, the first ones not before `prefix`.
        prefix: what keys must begin with, the bucket's number included.
        limit: so many words at the most.

    Returns:
        (-holders, number of bytes, word) of each, most frequent first, and False once a row lies behind the prefix.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef Py_ssize_t size = len(prefix)
    cdef bytes key
    cdef Word word
    cdef uint64_t least = 0
    cdef list best = []
    for key, row in rows:
        if len(key) < size or memcmp(<const char *> key, <const char *> prefix, size) != 0:
            best.sort()
            return best[:limit], False
        read_word(row, &word)
        if word.holders <= least or not is_live(&word, len(key) - 4):
            continue
        best.append((-<int64_t> word.holders, len(key) - 4, key[4:]))
        if len(best) >= 4 * limit:
            best.sort()
            del best[limit:]
            least = <uint64_t> -<int64_t> best[limit - 1][0] - 1 if limit else 0
    best.sort()
    return best[:limit], True


# -- records of objects -------------------------------------------------------------------------------------------

cdef struct Held:
    uint64_t term_id
    uint64_t block
    uint32_t tf
    bint hidden


cdef class ObjectRecord:
    """An object's OID and the terms it holds, by rising term id."""
    cdef readonly bytes oid
    cdef Held *_held
    cdef Py_ssize_t _count

    def __cinit__(self):
        self._held = NULL

    def __dealloc__(self):
        free(self._held)

    @staticmethod
    def unpack(bytes record) -> ObjectRecord:
        """Return the record that `pack` made.

        Raises:
            DamagedBytes: the bytes are not a record.
        """
        cdef const uint8_t *at = <const uint8_t *> record
        cdef const uint8_t *end = at + len(record)
        cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
        cdef uint64_t count = 0, step, found = 0, term_id = 0
        if end == at or end - at <= at[0]:
            raise DamagedBytes("the record of an object is cut off")
        self.oid = PyBytes_FromStringAndSize(<const char *> at + 1, at[0])
        at += 1 + at[0]
        if get_varint(&at, end, &count) < 0 or count > <uint64_t> (end - at):
            raise DamagedBytes("the record of an object is cut off")
        self.reserve(count)
        for step in range(count):
            if get_varint(&at, end, &found) < 0:
                raise DamagedBytes("the record of an object is cut off")
            term_id += found >> 2
            self._held[step].term_id = term_id
            self._held[step].hidden = (found >> 1) & 1
            self._held[step].tf = 1
            if found & 1:
                if get_varint(&at, end, &found) < 0:
                    raise DamagedBytes("the record of an object is cut off")
                self._held[step].tf = <uint32_t> found
            if get_varint(&at, end, &self._held[step].block) < 0:
                raise DamagedBytes("the record of an object is cut off")
        if at != end:
            raise DamagedBytes("the record of an object has bytes behind its end")
        self._count = count
        return self

    @staticmethod
    def empty(bytes oid) -> ObjectRecord:
        """Return the record of an object that holds no term yet; `oid` has 1 to 255 bytes."""
        cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
        if not 0 < len(oid) < 256:
            raise ValueError(f"an OID has 1 to 255 bytes, not {len(oid)}")
        self.oid = oid
        return self

    cdef int reserve(self, Py_ssize_t count) except -1:
        self._held = <Held *> malloc((count if count else 1) * sizeof(Held))
        if self._held == NULL:
            raise MemoryError
        return 0

    cdef Held *find(self, uint64_t term_id) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self._count, middle
        while low < high:
            middle = (low + high) >> 1
            if self._held[middle].term_id < term_id:
                low = middle + 1
            else:
                high = middle
        return &self._held[low] if low < self._count and self._held[low].term_id == term_id else NULL

    def __len__(self) -> int:
        return self._count

    @property
    def shown(self) -> int:
        """How many of the terms are held as words of their own."""
        cdef Py_ssize_t step, count = 0
        for step in range(self._count):
            count += not self._held[step].hidden
        return count

    @property
    def length(self) -> int:
        """The sum of the term frequencies."""
        cdef Py_ssize_t step
        cdef uint64_t total = 0
        for step in range(self._count):
            total += self._held[step].tf
        return total

    def terms(self) -> list:
        """Return (term id, tf, hidden, block) of every term, by rising term id."""
        cdef Py_ssize_t step
        return [
            (self._held[step].term_id, self._held[step].tf, bool(self._held[step].hidden), self._held[step].block)
            for step in range(self._count)
        ]

    cpdef bytes pack(self):
        """Return the bytes of the record."""
        return pack_record(self.oid, self._held, self._count)


cdef bytes pack_record(bytes oid, const Held *held, Py_ssize_t count):
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
        out = put_varint(
            out, (held[step].term_id - before) << 2 | <uint64_t> held[step].hidden << 1 | (held[step].tf > 1)
        )
        if held[step].tf > 1:
            out = put_varint(out, held[step].tf)
        out = put_varint(out, held[step].block)
        before = held[step].term_id
    try:
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)


# -- rows of words, decoded ---------------------------------------------------------------------------------------

cdef struct Entry:
    Word word
    uint64_t last_iid  # of the newest posting in the tail
    uint8_t *tail  # a block; its size is 0 if it holds no posting
    uint32_t tail_size, tail_room
    uint8_t *key
    uint32_t key_size  # 0: forgotten
    uint32_t hash
    bint is_dirty


cdef uint32_t HASH_START = <uint32_t> int.from_bytes(os.urandom(4), "little")


cdef inline uint32_t hash_on(uint32_t hash, const uint8_t *bytes_, Py_ssize_t size) noexcept nogil:
    """FNV-1a, from a random start, so that nobody outside can choose words that collide."""
    cdef Py_ssize_t step
    for step in range(size):
        hash = (hash ^ bytes_[step]) * <uint32_t> 16777619
    return hash ^ (hash >> 15)


cdef class TermCache:
    """Rows of words as they are by now, decoded; those that changed wait to be written.

    Whoever changes a row in the store by another way must `forget` it here first, or `clear` all.
    """
    cdef Entry **_slots
    cdef uint32_t _mask
    cdef Py_ssize_t _count
    cdef Entry **_dirty
    cdef Py_ssize_t _dirty_count, _dirty_room
    cdef uint64_t _generation

    def __cinit__(self):
        self._mask = 1023
        self._slots = <Entry **> calloc(self._mask + 1, sizeof(Entry *))
        self._dirty_room = 64
        self._dirty = <Entry **> malloc(self._dirty_room * sizeof(Entry *))
        if self._slots == NULL or self._dirty == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self._slots != NULL:
            self.free_entries()
        free(self._slots)
        free(self._dirty)

    def __len__(self) -> int:
        return self._count

    @property
    def changed(self) -> int:
        """How many rows wait to be written."""
        return self._dirty_count

    def rows(self) -> list:
        """Return the (key, row) pairs that changed since the last call, by key, to be written in `words`."""
        cdef list rows = []
        cdef Py_ssize_t number
        cdef Entry *entry
        qsort(self._dirty, self._dirty_count, sizeof(Entry *), by_key)
        for number in range(self._dirty_count):
            entry = self._dirty[number]
            rows.append((
                PyBytes_FromStringAndSize(<char *> entry.key, entry.key_size),
                write_word(&entry.word, entry.tail, entry.tail_size),
            ))
        for number in range(self._dirty_count):
            self._dirty[number].is_dirty = False
        self._dirty_count = 0
        return rows

    def forget(self, list keys) -> None:
        """Forget rows, by their keys, that are about to be changed in the store.

        Raises:
            ValueError: rows wait to be written.
        """
        cdef bytes key
        cdef Entry *entry
        if self._dirty_count:
            raise ValueError(f"{self._dirty_count} rows of words have to be written first")
        for key in keys:
            entry = self.find(<const uint8_t *> key, len(key), hash_of(key))
            if entry != NULL:
                entry.key_size = 0
                self._generation += 1

    def clear(self) -> None:
        """Forget everything, also what was not written."""
        if not self._count:  # so nobody points to an entry either
            return
        self.free_entries()
        memset(self._slots, 0, (self._mask + 1) * sizeof(Entry *))
        self._count = self._dirty_count = 0
        self._generation += 1

    cdef void free_entries(self) noexcept nogil:
        cdef uint32_t slot
        for slot in range(self._mask + 1):
            if self._slots[slot] != NULL:
                free(self._slots[slot].tail)
                free(self._slots[slot].key)
                free(self._slots[slot])

    cdef Entry *find(self, const uint8_t *key, Py_ssize_t size, uint32_t hash) noexcept nogil:
        cdef uint32_t slot = hash & self._mask
        cdef Entry *entry = self._slots[slot]
        while entry != NULL:
            if entry.hash == hash and entry.key_size == size and memcmp(entry.key, key, size) == 0:
                return entry
            slot = (slot + 1) & self._mask
            entry = self._slots[slot]
        return NULL

    cdef Entry *insert(self, bytes key) except NULL:
        """Add an entry whose word and tail are still empty."""
        cdef Entry *entry
        cdef uint32_t slot
        if 2 * (self._count + 1) > self._mask:
            self.grow()
        entry = <Entry *> calloc(1, sizeof(Entry))
        if entry == NULL:
            raise MemoryError
        entry.key = <uint8_t *> malloc(len(key))
        if entry.key == NULL:
            free(entry)
            raise MemoryError
        memcpy(entry.key, <const char *> key, len(key))
        entry.key_size = <uint32_t> len(key)
        entry.hash = hash_of(key)
        slot = entry.hash & self._mask
        while self._slots[slot] != NULL:
            slot = (slot + 1) & self._mask
        self._slots[slot] = entry
        self._count += 1
        return entry

    cdef int grow(self) except -1:
        cdef uint32_t mask = 2 * self._mask + 1, old, slot
        cdef Entry **slots = <Entry **> calloc(<size_t> mask + 1, sizeof(Entry *))
        if slots == NULL:
            raise MemoryError
        for old in range(self._mask + 1):
            if self._slots[old] != NULL:
                slot = self._slots[old].hash & mask
                while slots[slot] != NULL:
                    slot = (slot + 1) & mask
                slots[slot] = self._slots[old]
        free(self._slots)
        self._slots = slots
        self._mask = mask
        return 0

    cdef int mark(self, Entry *entry) except -1:
        """Note that a row changed."""
        cdef Entry **grown
        if entry.is_dirty:
            return 0
        if self._dirty_count == self._dirty_room:
            grown = <Entry **> realloc(self._dirty, 2 * self._dirty_room * sizeof(Entry *))
            if grown == NULL:
                raise MemoryError
            self._dirty = grown
            self._dirty_room *= 2
        self._dirty[self._dirty_count] = entry
        self._dirty_count += 1
        entry.is_dirty = True
        return 0


cdef int by_key(const void *left, const void *right) noexcept nogil:
    cdef const Entry *a = (<const Entry **> left)[0]
    cdef const Entry *b = (<const Entry **> right)[0]
    cdef int order = memcmp(a.key, b.key, min(a.key_size, b.key_size))
    return order if order else (a.key_size > b.key_size) - (a.key_size < b.key_size)


cdef uint32_t hash_of(bytes key):
    return hash_on(HASH_START, <const uint8_t *> key, len(key))


cdef int take_tail(Entry *entry, const uint8_t *tail, Py_ssize_t size) except -1:
    """Put a block into the tail of an entry."""
    cdef Posting postings[BLOCK_POSTINGS]
    cdef int count
    if size == 0:
        entry.tail_size = 0
        return 0
    count = read_block(tail, size, postings)
    if count <= 0:
        raise DamagedBytes(f"the newest {size} bytes of postings of a word cannot be read")
    make_room(entry, size)
    memcpy(entry.tail, tail, size)
    entry.tail_size = <uint32_t> size
    entry.last_iid = postings[count - 1].iid
    return 0


cdef int make_room(Entry *entry, Py_ssize_t size) except -1:
    cdef uint8_t *grown
    if size > entry.tail_room:
        grown = <uint8_t *> realloc(entry.tail, 2 * size)
        if grown == NULL:
            raise MemoryError
        entry.tail = grown
        entry.tail_room = <uint32_t> (2 * size)
    return 0


# -- one PUSH -----------------------------------------------------------------------------------------------------

cdef enum Step:
    NOTHING  # linked already, nothing to change
    APPEND  # a new posting at the head of the list
    RAISE  # linked already, with a smaller tf

cdef struct Edit:
    Word *word
    Word read  # what `word` points to where there is no cache
    Entry *entry
    Held held
    Py_ssize_t size  # bytes of the term
    Step step
    uint32_t tf
    bint hidden
    bint is_new  # the term was not in the bucket
    bint was_live
    bint has_row  # the row is to be written (Link), or the object holds the term (Unlink)


cdef class Edits:
    """The words of one change, with the row of each while it is being changed."""
    cdef Edit *_edits
    cdef Py_ssize_t _count
    cdef uint32_t _bucket
    cdef uint64_t _iid
    cdef list _words
    cdef list _block_keys
    cdef readonly int64_t live_change
    cdef readonly Py_ssize_t turned

    def __cinit__(self):
        self._edits = NULL

    def __dealloc__(self):
        free(self._edits)

    cdef int begin(self, uint32_t bucket, uint64_t iid, list words) except -1:
        cdef bytes word
        cdef Py_ssize_t number
        self._bucket = bucket
        self._iid = iid
        self._words = words
        self._count = len(words)
        self._block_keys = []
        self._edits = <Edit *> calloc(self._count if self._count else 1, sizeof(Edit))
        if self._edits == NULL:
            raise MemoryError
        for number in range(self._count):
            word = words[number]
            self._edits[number].size = len(word)
            self._edits[number].word = &self._edits[number].read
        return 0

    def changed_words(self) -> list:
        """Return the keys of the words that appeared or vanished, as they stand in `pending`."""
        cdef Py_ssize_t number
        self.check_cache()
        return [
            word_key(self._bucket, self._words[number])
            for number in range(self._count)
            if is_live(self._edits[number].word, self._edits[number].size) != self._edits[number].was_live
        ]

    cdef void count_turned(self) noexcept:
        """Count the words that appeared or vanished, and by how many there are more now."""
        cdef Py_ssize_t number
        cdef int change
        cdef Edit *edit
        self.live_change = self.turned = 0
        for number in range(self._count):
            edit = &self._edits[number]
            change = <int> is_live(edit.word, edit.size) - <int> edit.was_live
            self.live_change += change
            self.turned += change != 0

    cdef int check_cache(self) except -1:
        """Raise ValueError if the rows that `word` points to are gone."""
        return 0

    cdef Word *word_of(self, Py_ssize_t number) except NULL:
        self.check_cache()
        if not 0 <= number < self._count:
            raise IndexError(f"there are {self._count} edits, none with the number {number}")
        return self._edits[number].word

    def first_block_key(self, Py_ssize_t number) -> bytes:
        """Return the key of the first block of edit `number`."""
        cdef Word *word = self.word_of(number)
        return block_key(self._bucket, word.term_id, word.first_block)

    def advance(self, Py_ssize_t number, uint64_t block, uint64_t count) -> None:
        """Say which block follows the used-up first block of edit `number`, and how many postings it holds."""
        cdef Word *word = self.word_of(number)
        word.first_block = block
        word.first_count = count
        word.dead = 0


cdef class Link(Edits):
    """One PUSH: gives an object the terms of a text.

    Call in this order: read `word_keys`, `take_rows`; read the block keys it returns, `take_blocks`; `trim` until
    it returns nothing, `finish`; then write `blocks`, `new_terms()`, `changed_words()` and `record()`. The rows of
    words are in the cache.

    Args:
        terms: words, counts and flags of the text.
        record: what the object holds already.
        next_term: the next unused term id of the bucket.
        cache: where the rows of words are changed.
    """
    cdef ObjectRecord _record
    cdef TermCache _cache
    cdef uint64_t _generation
    cdef bytes _counts, _flags
    cdef uint64_t _next_term
    cdef readonly list word_keys
    cdef readonly list blocks
    cdef readonly int64_t length_change
    cdef readonly bint changed

    def __init__(
        self,
        uint32_t bucket,
        uint64_t iid,
        terms,
        ObjectRecord record not None,
        uint64_t next_term,
        TermCache cache not None,
    ):
        if not len(terms.words) == len(terms.counts) == len(terms.flags):
            raise ValueError("every word needs a count and flags")
        self.begin(bucket, iid, list(terms.words))
        self._counts = terms.counts
        self._flags = terms.flags
        self._record = record
        self._next_term = next_term
        self._cache = cache
        self.blocks = []
        self.word_keys = self.look_up()

    @property
    def next_term(self) -> int:
        return self._next_term

    cdef list look_up(self):
        """Find the words in the cache and return the keys of those that are not there."""
        cdef uint8_t key[4 + TERM_KEY_BYTES]
        cdef uint32_t start
        cdef Py_ssize_t number, size
        cdef bytes word
        cdef Edit *edit
        cdef list missing = []
        put_big_endian(key, self._bucket, 4)
        start = HASH_START
        for number in range(self._count):
            word = self._words[number]
            edit = &self._edits[number]
            size = edit.size
            if size <= TERM_KEY_BYTES:
                memcpy(key + 4, <const char *> word, size)
                edit.entry = self._cache.find(key, 4 + size, hash_on(start, key, 4 + size))
            else:
                edit.entry = NULL
            if edit.entry == NULL:
                missing.append(word_key(self._bucket, word))
        self._generation = self._cache._generation
        return missing

    cdef int check_cache(self) except -1:
        if self._generation != self._cache._generation:
            raise ValueError("the rows of words that are to be changed were forgotten")
        return 0

    def take_rows(self, list found) -> list:
        """Take the (key, row) pairs found for `word_keys`, in their order; return the keys of the blocks needed.

        Raises:
            DamagedBytes: a row cannot be read.
        """
        cdef Py_ssize_t number, at = 0, rows = len(found), missing = 0
        cdef Edit *edit
        cdef Held *held
        cdef bytes key
        self.check_cache()
        for number in range(self._count):
            edit = &self._edits[number]
            edit.tf = max(<uint8_t> self._counts[number], 1)
            edit.hidden = (<uint8_t> self._flags[number] & F_HIDDEN) != 0
            if edit.entry == NULL:
                key = self.word_keys[missing]
                missing += 1
                edit.entry = self._cache.find(<const uint8_t *> key, len(key), hash_of(key))
                if edit.entry != NULL:  # a long word
                    at += at < rows and (<tuple> found[at])[0] == key
                elif at < rows and (<tuple> found[at])[0] == key:
                    self.load(edit, key, (<tuple> found[at])[1])
                    at += 1
                else:
                    self.create(edit, key)
            edit.word = &edit.entry.word
            edit.was_live = is_live(edit.word, edit.size)
            held = NULL if edit.is_new else self._record.find(edit.word.term_id)
            if held == NULL:
                self.link(edit)
            else:
                self.link_again(edit, held)
        return self._block_keys

    cdef int load(self, Edit *edit, bytes key, bytes row) except -1:
        cdef Word word
        cdef Py_ssize_t tail_at = read_word(row, &word)
        edit.entry = self._cache.insert(key)
        edit.entry.word = word
        take_tail(edit.entry, <const uint8_t *> row + tail_at, len(row) - tail_at)
        return 0

    cdef int create(self, Edit *edit, bytes key) except -1:
        edit.entry = self._cache.insert(key)
        edit.entry.word = Word(self._next_term, 0, 0, 0, 0, 1, 0, 0)
        edit.is_new = True
        self._next_term += 1
        return 0

    cdef int link(self, Edit *edit) except -1:
        edit.step = APPEND
        edit.has_row = True
        edit.word.holders += 1
        edit.word.hidden_holders += edit.hidden
        edit.held = Held(edit.word.term_id, 0, edit.tf, edit.hidden)
        self.length_change += edit.tf
        self.changed = True
        return 0

    cdef int link_again(self, Edit *edit, Held *held) except -1:
        edit.step = NOTHING
        edit.held = held[0]
        if held.hidden and not edit.hidden:
            edit.word.hidden_holders -= 1
            edit.held.hidden = False
            edit.has_row = self.changed = True
        if edit.tf > held.tf:
            edit.step = RAISE
            edit.held.tf = edit.tf
            self.length_change += edit.tf - held.tf
            self.changed = True
            if edit.word.first_block <= held.block < edit.word.last_block:
                self._block_keys.append(block_key(self._bucket, held.term_id, held.block))
        return 0

    def take_blocks(self, list found) -> None:
        """Take the (key, block) pairs found for the keys that `take_rows` returned, in their order.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef dict held = dict(found)
        cdef Py_ssize_t number
        cdef Edit *edit
        self.check_cache()
        for number in range(self._count):
            edit = &self._edits[number]
            if edit.step == APPEND:
                self.append(edit)
            elif edit.step == RAISE:
                self.raise_tf(edit, held)

    cdef int append(self, Edit *edit) except -1:
        cdef Entry *entry = edit.entry
        cdef Word *word = edit.word
        cdef uint8_t *end
        if word.first_block > word.last_block:
            word.last_block = word.first_block
            word.first_count = 0
            word.dead = 0
        elif entry.tail_size and entry.tail[0] == BLOCK_POSTINGS:
            self.blocks.append((
                block_key(self._bucket, word.term_id, word.last_block),
                PyBytes_FromStringAndSize(<char *> entry.tail, entry.tail_size),
            ))
            entry.tail_size = 0
            word.last_block += 1
        if word.last_block > BLOCK_NUMBER_MAX:
            raise OverflowError("a word has used up its 2**32 blocks of postings")
        make_room(entry, entry.tail_size + 21)
        if entry.tail_size == 0:
            entry.tail[0] = 0
            entry.tail_size = 1
            entry.last_iid = 0
        entry.tail[0] += 1
        end = put_posting(entry.tail + entry.tail_size, entry.last_iid, self._iid, edit.tf)
        entry.tail_size = <uint32_t> (end - entry.tail)
        entry.last_iid = self._iid
        if word.first_block == word.last_block:
            word.first_count += 1
        word.df += 1
        edit.held.block = word.last_block
        return 0

    cdef int raise_tf(self, Edit *edit, dict held) except -1:
        cdef Posting postings[BLOCK_POSTINGS]
        cdef bint in_tail = edit.held.block == edit.word.last_block
        cdef bytes key = None, block
        cdef int count, step
        if in_tail:
            block = PyBytes_FromStringAndSize(<char *> edit.entry.tail, edit.entry.tail_size)
        else:
            key = block_key(self._bucket, edit.held.term_id, edit.held.block)
            block = held.get(key)
        if not block:
            return 0  # the window has pushed it out
        count = decode(block, postings)
        for step in range(count):
            if postings[step].iid == self._iid:
                postings[step].tf = edit.tf
                block = write_block(postings, count)
                if in_tail:
                    take_tail(edit.entry, <const uint8_t *> block, len(block))
                    edit.has_row = True
                else:
                    self.blocks.append((key, block))
        return 0

    def trim(self, uint64_t window) -> list:
        """Forget postings beyond the newest `window` of each word (0: keep all).

        Return the edits whose first block is used up: delete that block, find the next one, call `advance`, or, if
        there is none, `advance_to_tail`; then call `trim` again until it returns nothing.
        """
        cdef list used_up = []
        cdef Py_ssize_t number
        cdef Word *word
        cdef uint64_t surplus
        self.check_cache()
        if window == 0:
            return used_up
        for number in range(self._count):
            word = self._edits[number].word
            if word.df <= window:
                continue
            surplus = min(word.df - window, word.first_count - word.dead)
            word.df -= surplus
            word.dead += surplus
            self._edits[number].has_row = True
            if word.dead == word.first_count:
                used_up.append(number)
        return used_up

    def advance_to_tail(self, Py_ssize_t number) -> None:
        """Say that no block of `postings` follows the used-up first block of edit `number`.

        Raises:
            DamagedBytes: the tail holds no posting either.
        """
        cdef Word *word = self.word_of(number)
        cdef Entry *entry = self._edits[number].entry
        if entry == NULL:
            raise ValueError("the rows of words have not been taken yet")
        if entry.tail_size == 0 or word.first_block == word.last_block:
            raise DamagedBytes("a word counts postings that it does not have")
        self.advance(number, word.last_block, entry.tail[0])

    def finish(self) -> None:
        """Let the cache know the rows that changed, and count the words that came alive."""
        cdef Py_ssize_t number
        cdef Edit *edit
        self.check_cache()
        self.count_turned()
        for number in range(self._count):
            edit = &self._edits[number]
            if edit.has_row:
                self._cache.mark(edit.entry)

    def new_terms(self) -> list:
        """Return the (key, term) pairs to write in `terms`."""
        cdef Py_ssize_t number
        self.check_cache()
        return [
            (term_key(self._bucket, self._edits[number].word.term_id), self._words[number])
            for number in range(self._count)
            if self._edits[number].is_new
        ]

    def record(self) -> bytes:
        """Return the object's record as it is after the change."""
        cdef Py_ssize_t number, kept = 0, old_at = 0, new_at = 0, old = self._record._count
        cdef Held *changed = <Held *> malloc((self._count + 1) * sizeof(Held))
        cdef Held *merged = <Held *> malloc((old + self._count + 1) * sizeof(Held))
        try:
            if changed == NULL or merged == NULL:
                raise MemoryError
            for number in range(self._count):
                changed[number] = self._edits[number].held
            qsort(changed, self._count, sizeof(Held), by_term)
            while old_at < old or new_at < self._count:
                if new_at == self._count or (
                    old_at < old and self._record._held[old_at].term_id < changed[new_at].term_id
                ):
                    merged[kept] = self._record._held[old_at]
                    old_at += 1
                else:
                    old_at += old_at < old and self._record._held[old_at].term_id == changed[new_at].term_id
                    merged[kept] = changed[new_at]
                    new_at += 1
                kept += 1
            return pack_record(self._record.oid, merged, kept)
        finally:
            free(changed)
            free(merged)


cdef int by_term(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Held *> left).term_id, b = (<const Held *> right).term_id
    return (a > b) - (a < b)


# -- one POP or FLUSHO --------------------------------------------------------------------------------------------

cdef class Unlink(Edits):
    """One POP or FLUSHO: takes terms from an object.

    Call in this order: read `word_keys`, `take_rows`; read the block keys it returns, `take_blocks`; for each of
    `used_up` delete the first block, find the next, `advance`, or, if there is none, `advance_to_tail`; then write
    what `words()` and the lists say.

    Args:
        words: the terms to take away; those the object does not hold are passed over.
        record: what the object holds.
    """
    cdef ObjectRecord _record
    cdef list _tails  # by edit: the tail as bytes
    cdef readonly list word_keys
    cdef readonly list blocks
    cdef readonly list deleted_blocks
    cdef readonly list used_up
    cdef readonly list deleted_words
    cdef readonly list deleted_terms
    cdef readonly int64_t length_change
    cdef readonly Py_ssize_t removed
    cdef readonly Py_ssize_t removed_shown

    def __init__(self, uint32_t bucket, uint64_t iid, list words, ObjectRecord record not None):
        cdef bytes word
        self.begin(bucket, iid, list(words))
        self.word_keys = [word_key(bucket, word) for word in words]
        self._tails = [b""] * self._count
        self._record = record
        self.blocks = []
        self.deleted_blocks = []
        self.used_up = []
        self.deleted_words = []
        self.deleted_terms = []

    def take_rows(self, list found) -> list:
        """Take the (key, row) pairs found for `word_keys`, in their order; return the keys of the blocks needed.

        Raises:
            DamagedBytes: a row cannot be read.
        """
        cdef Py_ssize_t number, at = 0, rows = len(found), tail_at
        cdef Edit *edit
        cdef Held *held
        cdef bytes row
        for number in range(self._count):
            edit = &self._edits[number]
            edit.has_row = False
            if not (at < rows and (<tuple> found[at])[0] == self.word_keys[number]):
                continue
            row = (<tuple> found[at])[1]
            tail_at = read_word(row, edit.word)
            self._tails[number] = row[tail_at:]
            at += 1
            edit.was_live = is_live(edit.word, edit.size)
            held = self._record.find(edit.word.term_id)
            if held == NULL:
                continue
            edit.has_row = True
            edit.held = held[0]
            edit.word.holders -= 1
            edit.word.hidden_holders -= held.hidden
            self.removed += 1
            self.removed_shown += not held.hidden
            self.length_change -= held.tf
            if edit.word.first_block <= held.block < edit.word.last_block:
                self._block_keys.append(block_key(self._bucket, held.term_id, held.block))
        return self._block_keys

    def take_blocks(self, list found) -> None:
        """Take the (key, block) pairs found for the keys that `take_rows` returned, in their order.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef dict held = dict(found)
        cdef Py_ssize_t number
        for number in range(self._count):
            if self._edits[number].has_row:
                self.remove(number, &self._edits[number], held)

    cdef int remove(self, Py_ssize_t number, Edit *edit, dict held) except -1:
        cdef Word *word = edit.word
        cdef Posting postings[BLOCK_POSTINGS]
        cdef bytes key = None, block
        cdef int count, place = 0
        cdef bint in_first = edit.held.block == word.first_block
        cdef bint in_tail = edit.held.block == word.last_block
        if in_tail:
            block = self._tails[number]
        else:
            key = block_key(self._bucket, edit.held.term_id, edit.held.block)
            block = held.get(key)
        if not block or edit.held.block < word.first_block:
            return 0  # the window has pushed it out, and the whole block with it
        count = decode(block, postings)
        while place < count and postings[place].iid != self._iid:
            place += 1
        if place == count:
            raise DamagedBytes(f"object {self._iid} is not in the block of postings that its record names")
        memmove(&postings[place], &postings[place + 1], (count - place - 1) * sizeof(Posting))
        if in_first:
            word.first_count -= 1
        if in_first and <uint64_t> place < word.dead:
            word.dead -= 1
        else:
            word.df -= 1
        block = write_block(postings, count - 1) if count > 1 else b""
        if in_tail:
            self._tails[number] = block
            if in_first and word.dead == word.first_count:
                self.empty(number, word)
        elif in_first and word.dead == word.first_count:
            self.used_up.append(number)
        elif count == 1:
            self.deleted_blocks.append(key)
        else:
            self.blocks.append((key, block))
        return 0

    def advance_to_tail(self, Py_ssize_t number) -> None:
        """Say that no block of `postings` follows the used-up first block of edit `number`."""
        cdef Word *word = self.word_of(number)
        cdef bytes tail = self._tails[number]
        if tail:
            self.advance(number, word.last_block, <uint8_t> tail[0])
        else:
            self.empty(number, word)

    cdef void empty(self, Py_ssize_t number, Word *word):
        """Note that a word has no living posting left."""
        self._tails[number] = b""
        word.first_block = word.last_block + 1
        word.first_count = word.dead = 0

    def words(self) -> list:
        """Return the (key, row) pairs to write in `words`; fills `deleted_words` and `deleted_terms` on the way."""
        cdef list rows = []
        cdef Py_ssize_t number
        cdef Edit *edit
        cdef bytes tail
        self.count_turned()
        for number in range(self._count):
            edit = &self._edits[number]
            if not edit.has_row:
                continue
            if edit.word.holders == 0:
                self.deleted_words.append(self.word_keys[number])
                self.deleted_terms.append(term_key(self._bucket, edit.word.term_id))
            else:
                tail = self._tails[number]
                rows.append((self.word_keys[number], write_word(edit.word, <const uint8_t *> tail, len(tail))))
        return rows

    def record(self) -> bytes | None:
        """Return the object's record as it is after the change; None: no term is left."""
        cdef Py_ssize_t step, number, kept = 0, old = self._record._count
        cdef set gone = {
            self._edits[number].word.term_id for number in range(self._count) if self._edits[number].has_row
        }
        cdef Held *held
        if old == self.removed:
            return None
        held = <Held *> malloc(old * sizeof(Held))
        if held == NULL:
            raise MemoryError
        try:
            for step in range(old):
                if self._record._held[step].term_id not in gone:
                    held[kept] = self._record._held[step]
                    kept += 1
            return pack_record(self._record.oid, held, kept)
        finally:
            free(held)
