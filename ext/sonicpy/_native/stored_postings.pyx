"""The postings of one word by rising IID, read block by block as they are needed.

A word's newest postings, its tail, stand in the word's row. Full blocks stand in rows of `postings`, and their impacts
in rows of `impacts` (format in impact_rows.pyx): so a query knows of each block what its postings can add to a score
before it reads the block.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memmove

from sonicpy._native.bm25 cimport PackedLengths, lengths_of, packed_length
from sonicpy._native.impact_rows cimport count_entries, read_entries
from sonicpy._native.impacts cimport MARK_WORDS, Block, Impacts, mark, take_impact
from sonicpy._native.keys cimport block_key
from sonicpy._native.memory cimport zeroed
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, write_block

from sonicpy._native.varint import DamagedBytes

cdef enum:
    OBJECT_BYTES = 200  # of a StoredPostings without postings: the object, and its place in a dict
    PACKED_BYTES = 40 + 8 * MARK_WORDS  # of a block beside its bytes: what Python adds, and its marks


cdef class StoredPostings:
    """The postings of one word.

    Args:
        bucket, term_id: of the word.
        df: how many objects hold it.
        rows: the rows of `impacts` of the word, in the order of their keys.
        tail: the block in the word's row; b"": there is none.
        tail_lower: the smallest IID that the tail may hold.
        lengths: of all objects, packed, by IID: bytes or a bytearray.

    Raises:
        DamagedBytes: a row or the tail cannot be read, or the blocks have no room for `df` postings.
    """

    def __cinit__(
        self,
        uint32_t bucket,
        uint64_t term_id,
        uint64_t df,
        list rows not None,
        bytes tail not None,
        uint64_t tail_lower,
        lengths not None,
    ):
        cdef PackedLengths packed = lengths_of(lengths)
        cdef Py_ssize_t full = 0, number
        cdef bytes row
        self.bucket, self.term_id, self.df = bucket, term_id, df
        for row in rows:
            full += count_entries(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))
        self.make_blocks(full + (len(tail) > 0))
        number = 0
        for row in rows:
            number += read_entries(
                <const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), self.blocks + number
            )
        if tail:
            if tail_lower > UINT32_MAX:
                raise DamagedBytes(f"the newest block of postings cannot begin at object {tail_lower}")
            self.blocks[full].lower = <uint32_t> tail_lower
        for number in range(1, self.block_count):
            if self.blocks[number].lower <= self.blocks[number - 1].lower:
                raise DamagedBytes(f"the blocks of postings from object {self.blocks[number].lower} on overlap")
        if tail:
            self.put_block(full, tail)
            self.bound_block(full, &packed)
        if df > <uint64_t> full * BLOCK_POSTINGS + (self.blocks[full].count if tail else 0):
            raise miscounted(df, full * BLOCK_POSTINGS + (self.blocks[full].count if tail else 0))
        for number in range(self.block_count):
            self.take_impacts(&self.blocks[number].impacts)

    cdef int make_blocks(self, Py_ssize_t count) except -1:
        free(self.blocks)
        self.blocks = NULL
        self.blocks = <Block *> zeroed(count + 1, sizeof(Block))
        self.block_count = count
        self.size_bytes = OBJECT_BYTES + count * sizeof(Block)
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t number
        if self.blocks != NULL:
            for number in range(self.block_count):
                Py_XDECREF(self.blocks[number].packed)
                free(self.blocks[number].marks)
            free(self.blocks)

    @staticmethod
    def of_blocks(
        uint32_t bucket, uint64_t term_id, uint64_t df, list blocks not None, lengths not None, Py_ssize_t skipped=0
    ) -> StoredPostings:
        """Return the postings of blocks, sorted.

        Args:
            skipped: how many postings at the head of the blocks do not count.

        Raises:
            DamagedBytes: a block cannot be read, or the blocks hold fewer than `df` postings that count.
        """
        cdef StoredPostings self = StoredPostings(bucket, term_id, 0, [], b"", 0, lengths)
        cdef PackedLengths packed = lengths_of(lengths)
        cdef Py_ssize_t count = 0, number, place
        cdef Posting *postings = <Posting *> malloc((len(blocks) * BLOCK_POSTINGS + 1) * sizeof(Posting))
        cdef bytes one
        if postings == NULL:
            raise MemoryError
        try:
            for one in blocks:
                count += decode(one, postings + count)
            skipped = min(max(skipped, 0), count)
            count -= skipped
            if <uint64_t> count < df:
                raise miscounted(df, count)
            self.df = df
            memmove(postings, postings + skipped, count * sizeof(Posting))
            qsort(postings, count, sizeof(Posting), by_iid)
            self.make_blocks((count + BLOCK_POSTINGS - 1) // BLOCK_POSTINGS)
            for number in range(1, self.block_count):
                self.blocks[number].lower = <uint32_t> postings[number * BLOCK_POSTINGS].iid
            for number in range(self.block_count):
                place = number * BLOCK_POSTINGS
                self.put_block(number, write_block(postings + place, <int> min(count - place, BLOCK_POSTINGS)))
                self.bound_block(number, &packed)
                self.take_impacts(&self.blocks[number].impacts)
        finally:
            free(postings)
        return self

    cdef void take_impacts(self, const Impacts *impacts) noexcept nogil:
        cdef int number
        for number in range(impacts.count):
            take_impact(&self.impacts, impacts.pairs[number].tf, impacts.pairs[number].length)

    cdef int bound_block(self, Py_ssize_t number, const PackedLengths *lengths) except -1:
        """Find the impacts of a block that was put."""
        cdef OpenBlock opened
        cdef int place
        decode_block(&self.blocks[number], &opened)
        for place in range(opened.count):
            take_impact(
                &self.blocks[number].impacts, opened.tfs[place], packed_length(lengths, opened.iids[place])
            )
        return 0

    def __len__(self) -> int:
        return self.block_count

    cdef int put_block(self, Py_ssize_t number, bytes packed) except -1:
        """Take the bytes of a block that was read.

        Raises:
            DamagedBytes: they are no block, or one whose IIDs do not rise.
        """
        cdef Block *block = &self.blocks[number]
        cdef OpenBlock opened
        cdef int place
        if block.packed != NULL:
            return 0
        if not 1 < len(packed) or not 0 < <uint8_t> packed[0] <= BLOCK_POSTINGS:
            raise self.damaged(number)
        block.packed = <PyObject *> packed
        block.data = <const uint8_t *> PyBytes_AS_STRING(packed)
        block.size = <uint32_t> len(packed)
        if decode_block(block, &opened) < 0:
            block.packed = NULL
            raise self.damaged(number)
        for place in range(1, opened.count):
            if opened.iids[place] <= opened.iids[place - 1]:
                block.packed = NULL
                raise self.damaged(number)
        if opened.iids[0] < block.lower or (
            number + 1 < self.block_count and opened.iids[opened.count - 1] >= self.blocks[number + 1].lower
        ):
            block.packed = NULL
            raise self.damaged(number)
        block.marks = <uint64_t *> calloc(MARK_WORDS, sizeof(uint64_t))
        if block.marks == NULL:
            block.packed = NULL
            raise MemoryError
        for place in range(opened.count):
            mark(block.marks, opened.iids[place])
        Py_INCREF(packed)
        block.count = <uint8_t> opened.count
        self.size_bytes += PACKED_BYTES + len(packed)
        return 0

    cdef bytes key_of(self, Py_ssize_t number):
        """Return the key of a block in `postings`."""
        return block_key(self.bucket, self.term_id, self.blocks[number].lower)

    cdef object damaged(self, Py_ssize_t number):
        return DamagedBytes(f"the block of postings from object {self.blocks[number].lower} on cannot be read")


cdef object miscounted(uint64_t df, Py_ssize_t count):
    return DamagedBytes(f"a word counts {df} postings, and its blocks have room for {count}")


cdef int by_iid(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Posting *> left).iid, b = (<const Posting *> right).iid
    return (a > b) - (a < b)
