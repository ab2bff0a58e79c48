"""The bytes of the store: keys, blocks of postings, rows of words, records of objects.

Layouts (v = varint of varint.pxd; docs/storage-format.md draws them all):

    block   count u8, then per posting in the order of association:
            v(zigzag(IID - IID before) << 1 | (tf > 1)), and v(tf) only if tf > 1
    word    v(term id) v(holders) v(hidden holders) v(df) v(last block) v(first block) v(dead) v(first count)
            and then its last block, where that holds postings
    object  u8 length and bytes of the OID, v(terms), then per term, by rising term id:
            v((term id - term id before) << 2 | hidden << 1 | (tf > 1)), v(tf) only if tf > 1, v(block)

The row of a word that has begun its second block stands in `common`, by its term id, and `words` holds nothing but that
number: common words change with nearly every text, and there they stand together in a few pages.

A word's living postings are those from place `dead` of block `first block` on to the end of block `last block`;
emptied blocks in between are missing. The last block, the tail, stands in the word's own row, so that most words are
read and written with one row; full ones stand in `postings`. A word without postings has first block = last block + 1.
`holders` counts the objects whose record names the word, also those the window has pushed out of the postings; hidden
holders hold it only as a stop word or as a part of a run without blanks.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT8_MAX, UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy

from sonicpy._native.varint cimport get_varint, put_varint, unzigzag

import hashlib

cdef enum:
    TERM_HEAD_BYTES = 466
    WORD_FIELDS = 8
    TOO_LARGE = -2
    LIST_BYTES = 160  # of a PostingList without postings: the object and its place in a dict

WORD_BYTES_MAX = SHOWN_BYTES
POSTINGS_PER_BLOCK = BLOCK_POSTINGS
COMMON_FROM_BLOCK = COMMON_BLOCK

IID_MAX = (1 << 40) - 1


class DamagedBytes(ValueError):
    """Stored bytes do not have the layout they should have."""


# -- keys ---------------------------------------------------------------------------------------------------------

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

cdef inline int take_posting(const uint8_t **at, const uint8_t *end, uint64_t *iid, uint64_t *tf) noexcept nogil:
    """Read the posting behind that of `iid`, which becomes its object; -1: it is cut off."""
    cdef uint64_t found = 0
    # One or two bytes are what nearly every posting has.
    if end - at[0] >= 2 and at[0][0] < 0x80:
        found = at[0][0]
        at[0] += 1
    elif end - at[0] >= 2 and at[0][1] < 0x80:
        found = (at[0][0] & 0x7F) | <uint64_t> at[0][1] << 7
        at[0] += 2
    elif get_varint(at, end, &found) < 0:
        return -1
    iid[0] += <uint64_t> unzigzag(found >> 1)
    tf[0] = 1
    return get_varint(at, end, tf) if found & 1 else 0


cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil:
    """Decode a block into `out` (room for BLOCK_POSTINGS); return how many postings it holds, or -1: damaged."""
    cdef const uint8_t *at = block + 1
    cdef const uint8_t *end = block + size
    cdef uint64_t iid = 0, tf = 1
    cdef int count, step
    if size < 1 or block[0] > BLOCK_POSTINGS:
        return -1
    count = block[0]
    for step in range(count):
        if take_posting(&at, end, &iid, &tf) < 0:
            return -1
        out[step].iid = iid
        out[step].tf = <uint32_t> tf
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


cdef int decode(bytes block, Posting *out) except -1:
    cdef int count = read_block(<const uint8_t *> block, len(block), out)
    if count < 0:
        raise damaged(block)
    return count


cdef object damaged(bytes block):
    return DamagedBytes(f"a block of postings of {len(block)} bytes cannot be read")


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


cdef inline void *shrunk(void *room, size_t size) noexcept nogil:
    """Give back what of a room is not used."""
    cdef void *smaller = realloc(room, size if size else 1)
    return room if smaller == NULL else smaller


cdef class PostingList:
    """The postings of a word, decoded: five bytes each, for those that read them again and again."""

    def __cinit__(self):
        self._iids = NULL
        self._tfs = NULL

    def __dealloc__(self):
        free(self._iids)
        free(self._tfs)

    @staticmethod
    def of(list blocks not None) -> PostingList | None:
        """Return the postings of some blocks, oldest first, or None: a number in them is too large for this.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef PostingList self = PostingList.__new__(PostingList)
        cdef Py_ssize_t number, blocks_count = len(blocks)
        cdef bytes block
        cdef int count
        self._iids = <uint32_t *> malloc((blocks_count * BLOCK_POSTINGS + 1) * sizeof(uint32_t))
        self._tfs = <uint8_t *> malloc(blocks_count * BLOCK_POSTINGS + 1)
        if self._iids == NULL or self._tfs == NULL:
            raise MemoryError
        self._is_sorted = True
        for number in range(blocks_count):
            block = blocks[number]
            count = self.read(<const uint8_t *> block, len(block))
            if count == TOO_LARGE:
                return None
            if count < 0:
                raise damaged(block)
            if number == 0:
                self._first_count = count
        self._iids = <uint32_t *> shrunk(self._iids, self._count * sizeof(uint32_t))
        self._tfs = <uint8_t *> shrunk(self._tfs, self._count)
        return self

    cdef int read(self, const uint8_t *block, Py_ssize_t size) noexcept nogil:
        """Decode a block behind those that were read; return how many postings it holds, -1: damaged, or TOO_LARGE."""
        cdef const uint8_t *at = block + 1
        cdef const uint8_t *end = block + size
        cdef uint32_t *iids = self._iids + self._count
        cdef uint8_t *tfs = self._tfs + self._count
        cdef uint64_t iid = 0, tf = 1
        cdef int64_t before = self._iids[self._count - 1] if self._count else -1
        cdef bint is_sorted = True, is_large = False
        cdef int count, step
        if size < 1 or block[0] > BLOCK_POSTINGS:
            return -1
        count = block[0]
        for step in range(count):
            if take_posting(&at, end, &iid, &tf) < 0:
                return -1
            is_large |= iid > UINT32_MAX or tf > UINT8_MAX
            is_sorted &= <int64_t> iid > before
            before = <int64_t> iid
            iids[step] = <uint32_t> iid
            tfs[step] = <uint8_t> tf
            self._tf_max = max(self._tf_max, <uint8_t> tf)
        if at != end:
            return -1
        self._is_sorted &= is_sorted
        self._count += count
        return TOO_LARGE if is_large else count

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return LIST_BYTES + 5 * self._count

    def __len__(self) -> int:
        return self._count

    cdef void copy(self, Posting *out) noexcept nogil:
        """Write the postings where there is room for all of them."""
        cdef Py_ssize_t place
        for place in range(self._count):
            out[place].iid = self._iids[place]
            out[place].tf = self._tfs[place]


# -- rows of words ------------------------------------------------------------------------------------------------

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


def term_id_in(bytes row not None) -> int:
    """Return the term id that a row of `words` begins with.

    Raises:
        DamagedBytes: there is none.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef uint64_t term_id
    if get_varint(&at, at + len(row), &term_id) < 0:
        raise DamagedBytes("the row of a word is cut off")
    return term_id


def only_refers(bytes row not None) -> bool:
    """Return whether a row of `words` is that of a common word: its term id alone."""
    return referred_term(row) >= 0


cdef int64_t referred_term(bytes row) noexcept:
    """Return the term id that is all of a row of `words`; -1: the row holds more."""
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t term_id
    if len(row) >= WORD_FIELDS or get_varint(&at, end, &term_id) < 0 or at != end:
        return -1
    return <int64_t> term_id


cdef uint32_t bucket_in(bytes key) noexcept:
    cdef const uint8_t *at = <const uint8_t *> <const char *> key
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


def common_keys(list rows not None) -> list:
    """Return the keys in `common` of those (key, row) pairs of `words` that only refer there."""
    cdef bytes key, row
    return [term_key(bucket_in(key), referred_term(row)) for key, row in rows if referred_term(row) >= 0]


def with_common(list rows not None, list common not None) -> list:
    """Return (key, row) pairs of `words`, those that only refer to `common` with the rows that stand there.

    Args:
        common: the (key, row) pairs found for `common_keys(rows)`, in their order.

    Raises:
        DamagedBytes: one is missing.
    """
    cdef list whole = []
    cdef Py_ssize_t at = 0
    cdef bytes key, row
    for key, row in rows:
        if referred_term(row) >= 0:
            if at == len(common) or (<tuple> common[at])[0] != term_key(bucket_in(key), referred_term(row)):
                raise DamagedBytes("the row of a common word is missing")
            row = (<tuple> common[at])[1]
            at += 1
        whole.append((key, row))
    return whole


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


cdef class TermInfo:
    """A word's row, read: the fields of the layout, and whether the word is to be listed and counted."""

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


def likely_words(list rows, bytes prefix not None, Py_ssize_t limit) -> list:
    """Return the most frequent live words of some rows of `words`.

    Args:
        rows: (key, row) pairs by key, the first ones not before `prefix`.
        prefix: what keys must begin with, the bucket's number included.
        limit: so many words at the most.

    Returns:
        (-holders, number of bytes, word) of each, most frequent first.

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
            break
        read_word(row, &word)
        if word.holders <= least or not is_live(&word, len(key) - 4):
            continue
        best.append((-<int64_t> word.holders, len(key) - 4, key[4:]))
        if len(best) >= 4 * limit:
            best.sort()
            del best[limit:]
            least = <uint64_t> -<int64_t> best[limit - 1][0] - 1 if limit else 0
    best.sort()
    return best[:limit]


def live_words(list rows not None, bytes prefix not None) -> list:
    """Return the live words of some rows of `words`.

    Args:
        rows: (key, row) pairs by key, the first ones not before `prefix`.
        prefix: the bucket's number, as it stands in keys.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef Py_ssize_t size = len(prefix)
    cdef list words = []
    cdef bytes key
    cdef Word word
    for key, row in rows:
        if len(key) < size or memcmp(<const char *> key, <const char *> prefix, size) != 0:
            break
        read_word(row, &word)
        if is_live(&word, len(key) - size):
            words.append(key[size:])
    return words


# -- records of objects -------------------------------------------------------------------------------------------

cdef class ObjectRecord:
    """An object's OID and the terms it holds, by rising term id."""

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
        return empty_record(oid)

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
        return self.total_tf()

    cdef uint64_t total_tf(self) noexcept nogil:
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


cdef ObjectRecord empty_record(bytes oid):
    cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
    if not 0 < len(oid) < 256:
        raise ValueError(f"an OID has 1 to 255 bytes, not {len(oid)}")
    self.oid = oid
    return self


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
