"""The postings of one word by rising IID, read block by block on demand.

A word's newest postings, its tail, are in the word's row. Full blocks are in rows of `postings`, and their impacts in
rows of `impacts` (format in impact_rows.pyx). So a query can bound the parts that the postings of a block have in
scores without reading the block.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport UINT8_MAX, UINT32_MAX, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy, memmove, memset

cimport cython

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.bm25 cimport PackedLengths, lengths_of, packed_length
from sonicpy._native.dense_block cimport check_dense, is_dense
from sonicpy._native.extremes cimport Extremes, no_postings, take_posting
from sonicpy._native.impact_rows cimport count_entries, read_entries
from sonicpy._native.impacts cimport Block, Impacts, take_impact
from sonicpy._native.keys cimport block_key
from sonicpy._native.memory cimport grown, zeroed
from sonicpy._native.merged_list cimport MergedList
from sonicpy._native.posting_order cimport order_by_iid
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, read_block, write_block
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.windows cimport (
    LARGE_WINDOWS,
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    WINDOW_POSTINGS,
    WINDOW_WORDS,
    Gathered,
    Holders,
    least_of,
    list_many,
)

from sonicpy._native.varint import DamagedBytes

cdef enum:
    OBJECT_BYTES = 200  # of a StoredPostings without postings: the object, and its place in a dict
    PACKED_BYTES = 40  # of a block beside its bytes: the overhead of Python
    COMPARED_MAX = 256  # postings that are sorted by comparing them
    UNIONS_MAX = 8  # families of a word whose windows and merged lists outlive a commit


cdef uint64_t UNITED_FIRST = <uint64_t> 1 << 63  # the ids of words are smaller
cdef uint64_t united = 0  # lists of several words that this process has made
cdef Py_ssize_t WINDOW_BYTES = sizeof(Holders *) + sizeof(Extremes)  # of a window that no query needed yet


@cython.no_gc  # it refers to bytes, numbers and lists like it, which do not refer to it
cdef class StoredPostings:
    """The postings of one word.

    Args:
        bucket, term_id: the numbers of the bucket and of the term of the word.
        df: the number of objects that hold the word.
        rows: the rows of `impacts` of the word, in the order of their keys.
        tail: the block in the word's row; b"": the row has none.
        tail_lower: the smallest IID that the tail may hold.
        lengths: the lengths of all objects, packed, by IID: bytes or a bytearray.

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
        self.tail_lower, self.has_tail = tail_lower, len(tail) > 0
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
            self.put_tail(full, tail, &packed)
        if df > <uint64_t> full * BLOCK_POSTINGS + (self.blocks[full].count if tail else 0):
            raise miscounted(df, full * BLOCK_POSTINGS + (self.blocks[full].count if tail else 0))
        for number in range(self.block_count):
            self.take_impacts(&self.blocks[number].impacts)
        self.make_windows(&packed)

    cdef int make_blocks(self, Py_ssize_t count) except -1:
        free(self.blocks)
        self.blocks = NULL
        self.blocks = <Block *> zeroed(count + 1, sizeof(Block))
        self.block_count = count
        self.block_room = count + 1
        self._size_bytes = OBJECT_BYTES + count * sizeof(Block)
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t number
        if self.blocks != NULL:
            for number in range(self.block_count):
                Py_XDECREF(self.blocks[number].packed)
            free(self.blocks)

    @staticmethod
    def of_blocks(
        uint32_t bucket, uint64_t term_id, uint64_t df, list blocks not None, lengths not None, Py_ssize_t skipped=0
    ) -> StoredPostings:
        """Return the postings of blocks, sorted.

        Args:
            skipped: the number of leading postings that do not count.

        Raises:
            DamagedBytes: a block cannot be read, or the blocks hold fewer than `df` postings that count.
        """
        cdef StoredPostings self = StoredPostings(bucket, term_id, 0, [], b"", 0, lengths)
        cdef Py_ssize_t count = 0
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
            self.make_own(postings, count, lengths)
        finally:
            free(postings)
        return self

    cdef int make_own(self, const Posting *postings, Py_ssize_t count, lengths) except -1:
        """Make blocks for postings that are in no rows."""
        cdef PackedLengths packed = lengths_of(lengths)
        cdef Py_ssize_t number, place
        self.has_own_blocks = True
        self.make_blocks((count + BLOCK_POSTINGS - 1) // BLOCK_POSTINGS)
        for number in range(1, self.block_count):
            self.blocks[number].lower = <uint32_t> postings[number * BLOCK_POSTINGS].iid
        for number in range(self.block_count):
            place = number * BLOCK_POSTINGS
            self.put_block(number, write_block(postings + place, <int> min(count - place, BLOCK_POSTINGS)))
            self.bound_block(number, &packed)
            self.take_impacts(&self.blocks[number].impacts)
        self.make_windows(&packed)
        return 0

    cdef void take_impacts(self, const Impacts *impacts) noexcept nogil:
        cdef int number
        for number in range(impacts.count):
            take_impact(&self.impacts, impacts.pairs[number].tf, impacts.pairs[number].length)

    cdef int bound_block(self, Py_ssize_t number, const PackedLengths *lengths) except -1:
        """Compute the impacts of a block whose bytes were taken."""
        cdef OpenBlock opened
        decode_block(&self.blocks[number], &opened)
        self.bound_by(&self.blocks[number], &opened, lengths)
        return 0

    cdef void bound_by(self, Block *block, const OpenBlock *opened, const PackedLengths *lengths) noexcept nogil:
        cdef int place
        for place in range(opened.count):
            take_impact(&block.impacts, opened.tfs[place], packed_length(lengths, opened.iids[place]))

    def __len__(self) -> int:
        return self.block_count

    @property
    def size_bytes(self) -> int:
        """The approximate size of the postings in memory, in bytes."""
        cdef Windows windows
        cdef MergedList merged
        cdef Py_ssize_t found = self._size_bytes
        if self.windows is not None:
            found += self.windows.size_bytes
        if self.unions is not None:
            for windows in self.unions.values():
                found += windows.size_bytes
        if self.merged is not None:
            for merged in self.merged.values():
                found += merged.size_bytes
        return found

    cdef int put_block(self, Py_ssize_t number, bytes packed) except -1:
        """Take the bytes of a block that was read.

        Raises:
            DamagedBytes: the bytes are no block, or their IIDs are not in rising order.
        """
        cdef Block *block = &self.blocks[number]
        cdef uint32_t first = 0, last = 0
        cdef int count
        if block.packed != NULL:
            return 0
        if len(packed) < 2 or not packed[0]:
            raise self.damaged(number)
        block.data = <const uint8_t *> PyBytes_AS_STRING(packed)
        block.size = <uint32_t> len(packed)
        count = check_dense(block.data, block.size, &first, &last) if is_dense(block.data) else check_block(block, &first, &last)
        if count <= 0 or first < block.lower or (
            number + 1 < self.block_count and last >= self.blocks[number + 1].lower
        ):
            raise self.damaged(number)
        self.hold_block(block, packed, count)
        return 0

    cdef void hold_block(self, Block *block, bytes packed, int count) noexcept:
        block.packed = <PyObject *> packed
        Py_INCREF(packed)
        block.count = <uint8_t> count
        self._size_bytes += PACKED_BYTES + len(packed)

    cdef int put_tail(self, Py_ssize_t number, bytes packed, const PackedLengths *lengths) except -1:
        """Take the bytes of the last block, as `put_block` does, and compute its impacts."""
        cdef Block *block = &self.blocks[number]
        cdef OpenBlock opened
        if len(packed) < 2 or not packed[0]:
            raise self.damaged(number)
        block.data = <const uint8_t *> PyBytes_AS_STRING(packed)
        block.size = <uint32_t> len(packed)
        if open_rising(block, &opened) <= 0 or opened.iids[0] < block.lower:
            raise self.damaged(number)
        self.hold_block(block, packed, opened.count)
        self.bound_by(block, &opened, lengths)
        return 0

    cdef int make_windows(self, const PackedLengths *lengths) except -1:
        """Make room for windows, if the word is common enough."""
        self.objects = lengths.count
        self.windows = windows_for(self.block_count, (lengths.count >> WINDOW_BITS) + 1)
        return 0

    def extend(
        self, uint64_t df, list rows not None, bytes tail not None, uint64_t tail_lower, lengths not None
    ) -> None:
        """Add the new postings at the end; these postings must have no other user.

        Args:
            df: the new number of objects that hold the word.
            rows: the rows of `impacts` for blocks from the old `tail_lower` on; empty if `tail_lower` has not changed.
            tail, tail_lower: the new values; see the class.
            lengths: the lengths of all objects, packed, by IID.

        Raises:
            DamagedBytes: a row or the tail cannot be read. The postings must not be used any more.
        """
        cdef PackedLengths packed = lengths_of(lengths)
        cdef Py_ssize_t entries = 0, number, added = 0, kept = self.block_count - (self.has_tail and self.block_count > 0)
        cdef Block *found
        cdef bytes row
        for row in rows:
            entries += count_entries(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))
        if tail_lower > UINT32_MAX or tail_lower < self.tail_lower:
            raise DamagedBytes(f"the newest block of postings cannot begin at object {tail_lower}")
        found = <Block *> zeroed(entries, sizeof(Block))
        try:
            entries = 0
            for row in rows:
                entries += read_entries(
                    <const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), found + entries
                )
            while added < entries and found[added].lower < self.tail_lower:
                added += 1
            self.drop_tail()
            self.add_blocks(found + added, entries - added)
        finally:
            free(found)
        if tail:
            self.add_blocks(NULL, 1)
            self.blocks[self.block_count - 1].lower = <uint32_t> tail_lower
        for number in range(max(kept, 1), self.block_count):
            if self.blocks[number].lower <= self.blocks[number - 1].lower:
                raise DamagedBytes(f"the blocks of postings from object {self.blocks[number].lower} on overlap")
        number = self.block_count - (len(tail) > 0)
        if tail:
            self.put_tail(number, tail, &packed)
        if df > <uint64_t> number * BLOCK_POSTINGS + (self.blocks[number].count if tail else 0):
            raise miscounted(df, number * BLOCK_POSTINGS + (self.blocks[number].count if tail else 0))
        for number in range(kept, self.block_count):
            self.take_impacts(&self.blocks[number].impacts)
        self.df, self.tail_lower, self.has_tail = df, tail_lower, len(tail) > 0

    cdef int drop_tail(self) except -1:
        cdef Block *last
        if not self.has_tail:
            return 0
        last = &self.blocks[self.block_count - 1]
        self.block_count -= 1
        self._size_bytes -= sizeof(Block) + PACKED_BYTES + last.size
        Py_XDECREF(last.packed)
        last.packed = NULL
        self.has_tail = False
        return 0

    cdef int add_blocks(self, const Block *added, Py_ssize_t count) except -1:
        """Add blocks behind the last one; NULL: empty ones."""
        self.blocks = <Block *> grown(self.blocks, &self.block_room, self.block_count + count + 1, sizeof(Block))
        memset(self.blocks + self.block_count, 0, (count + 1) * sizeof(Block))
        if added != NULL:
            memcpy(self.blocks + self.block_count, added, count * sizeof(Block))
        self.block_count += count
        self._size_bytes += count * sizeof(Block)
        return 0

    cdef int renew_windows(self, const PackedLengths *lengths, bint rewritten) except -1:
        """Drop the windows that may get new objects, and, if lists were rewritten, all cached data of families.

        A changed length rewrites the lists of its object, so without rewritten lists merged lists stay valid.
        """
        cdef Windows windows
        # The newest object may have got a tag or a named text that it lacked.
        cdef Py_ssize_t first = (self.objects - 1 if self.objects else 0) >> WINDOW_BITS
        cdef Py_ssize_t count = (lengths.count >> WINDOW_BITS) + 1
        if rewritten or (self.merged is not None and len(self.merged) > UNIONS_MAX):
            self.merged = None
        if self.unions is not None:
            if rewritten or len(self.unions) > UNIONS_MAX:
                self.unions = None
            else:
                for windows in self.unions.values():
                    if windows is not None:
                        windows.renew(first, count)
        if self.windows is None:
            self.make_windows(lengths)
        else:
            self.windows.renew(first, count)
        self.objects = lengths.count
        return 0

    cdef Py_ssize_t release_blocks(self, Py_ssize_t window) except -1:
        """Free the blocks of a cached window in a large bucket; return their bytes.

        Blocks that reach into a window that is not cached are kept.
        """
        cdef uint64_t first = <uint64_t> window << WINDOW_BITS
        cdef Py_ssize_t low = 0, high = self.block_count, number, released = 0
        if self.has_own_blocks or self.windows.count < LARGE_WINDOWS:
            return 0
        while low < high:  # `low` becomes the first block behind the window
            number = (low + high) // 2
            if self.blocks[number].lower < first + WINDOW_OBJECTS:
                low = number + 1
            else:
                high = number
        for number in range(low - 1, -1, -1):
            if self.blocks[number].packed != NULL and is_in_windows(
                self.blocks, self.block_count, number, self.windows.made, self.windows.count
            ):
                Py_XDECREF(self.blocks[number].packed)
                self.blocks[number].packed = NULL
                released += PACKED_BYTES + self.blocks[number].size
            if self.blocks[number].lower <= first:
                break
        self._size_bytes -= released
        return released

    cdef bytes key_of(self, Py_ssize_t number):
        """Return the key of a block in `postings`."""
        return block_key(self.bucket, self.term_id, self.blocks[number].lower)

    cdef object damaged(self, Py_ssize_t number):
        return DamagedBytes(f"the block of postings from object {self.blocks[number].lower} on cannot be read")


cdef StoredPostings unite(uint32_t bucket, list words, lengths):
    """Return the postings of rare words, all of which are in the rows of the words, as if they were one word.

    Args:
        words: the TermInfo of each word.
        lengths: the lengths of all objects, packed, by IID.

    Raises:
        DamagedBytes: some postings cannot be read.
    """
    global united
    united += 1  # data cached for several lists name each list by its id
    cdef StoredPostings self = StoredPostings(bucket, UNITED_FIRST + united, 0, [], b"", 0, lengths)
    cdef Py_ssize_t room = len(words) * BLOCK_POSTINGS + 1, count = 0, at, kept = 0
    cdef Posting *postings = <Posting *> malloc(2 * room * sizeof(Posting))
    cdef int read
    cdef TermInfo word
    if postings == NULL:
        raise MemoryError
    try:
        for word in words:
            read = read_block(
                <const uint8_t *> PyBytes_AS_STRING(word._row) + word._tail_at,
                PyBytes_GET_SIZE(word._row) - word._tail_at, postings + count,
            )
            if read < 0:
                raise DamagedBytes("the postings in the row of a word cannot be read")
            count += read
        if count < COMPARED_MAX:
            qsort(postings, count, sizeof(Posting), by_iid)
        else:
            order_by_iid(postings, postings + room, count)
        for at in range(count):
            if kept and postings[kept - 1].iid == postings[at].iid:
                postings[kept - 1].tf = min(postings[kept - 1].tf + postings[at].tf, <uint32_t> UINT8_MAX)
            else:
                postings[kept] = postings[at]
                kept += 1
        self.df = kept
        self.make_own(postings, kept, lengths)
    finally:
        free(postings)
    return self


cdef object miscounted(uint64_t df, Py_ssize_t count):
    return DamagedBytes(f"a word counts {df} postings, and its blocks have room for {count}")


cdef Windows windows_of(list postings, Py_ssize_t window_count):
    """Return the windows of several words together, cached in one of the StoredPostings; None: the words are too rare,
    or some are of named texts, whose lists change at other times."""
    cdef StoredPostings one
    cdef Py_ssize_t blocks = 0
    cdef object key
    cdef Windows windows
    if len(postings) == 1:
        return (<StoredPostings> postings[0]).windows
    for one in postings:
        blocks += one.block_count
    if blocks * BLOCK_POSTINGS < window_count * WINDOW_POSTINGS or not are_of_one_bucket(postings):
        return None
    one = first_of(postings)
    key = key_of_words(postings, one.bucket)
    if one.unions is None:
        one.unions = {}
    windows = one.unions.get(key)
    if windows is None:
        windows = one.unions[key] = windows_for(blocks, window_count)
    return windows


cdef bint are_of_one_bucket(list postings) except -1:
    cdef StoredPostings one
    for one in postings:
        if one.bucket != (<StoredPostings?> postings[0]).bucket:
            return False
    return True


cdef StoredPostings first_of(list postings):
    """Return the word in which the common data of several words are cached.

    It is a word without rows, if there is one, because the others may outlive it, and then be used with a later word
    that has other objects.
    """
    cdef StoredPostings one, first = postings[0]
    for one in postings:
        if one.has_own_blocks > first.has_own_blocks or (
            one.has_own_blocks == first.has_own_blocks and one.term_id < first.term_id
        ):
            first = one
    return first


cdef tuple key_of_words(list postings, uint32_t bucket):
    """Return the key under which the common data of several words are cached in a word of a bucket. The ids of terms of
    another bucket, which has the named texts, are made negative."""
    cdef StoredPostings one
    cdef list ids = [one.term_id if one.bucket == bucket else -1 - <object> one.term_id for one in postings]
    ids.sort()
    return tuple(ids)


cdef Windows windows_for(Py_ssize_t blocks, Py_ssize_t window_count):
    """Return windows for lists with a number of blocks; None: the windows would take more room than the blocks."""
    cdef Windows windows
    if blocks * BLOCK_POSTINGS < window_count * WINDOW_POSTINGS:
        return None
    windows = Windows.__new__(Windows)
    windows.made = <Holders **> zeroed(window_count, sizeof(Holders *))
    windows.extremes = <Extremes *> zeroed(window_count, sizeof(Extremes))
    windows.count = windows.room = window_count
    windows.size_bytes = window_count * WINDOW_BYTES
    return windows


cdef class Windows:
    """The windows of a common word, or of a family of words, each made when a query first needs it."""

    def __dealloc__(self):
        cdef Py_ssize_t number
        for number in range(self.count):
            free(self.made[number])
        free(self.made)
        free(self.extremes)

    cdef int renew(self, Py_ssize_t first, Py_ssize_t count) except -1:
        """Drop the windows from `first` on, and set their number to `count`. The windows must have no other user."""
        cdef Py_ssize_t number, room = self.room
        for number in range(first, self.count):
            self.extremes[number].is_known = False
            if self.made[number] != NULL:
                self.size_bytes -= kept_bytes(self.made[number].many)
                free(self.made[number])
                self.made[number] = NULL
        if count > self.count:
            self.size_bytes += (count - self.count) * WINDOW_BYTES
            self.extremes = <Extremes *> grown(self.extremes, &room, count, sizeof(Extremes))
            memset(self.extremes + self.count, 0, (count - self.count) * sizeof(Extremes))
            self.made = <Holders **> grown(self.made, &self.room, count, sizeof(Holders *))
            memset(self.made + self.count, 0, (count - self.count) * sizeof(Holders *))
            self.count = count
        return 0

    cdef Py_ssize_t keep(self, Py_ssize_t number, const Gathered *gathered, const PackedLengths *lengths) except -1:
        """Cache a window, in one piece of memory; return its size."""
        cdef uint16_t places[WINDOW_OBJECTS]
        cdef uint8_t tfs[WINDOW_OBJECTS]
        cdef Py_ssize_t many = list_many(gathered, places, tfs)
        cdef Py_ssize_t size_bytes = kept_bytes(many)
        cdef Holders *kept = <Holders *> malloc(size_bytes)
        cdef Py_ssize_t place
        cdef Extremes *extremes = &self.extremes[number]
        if kept == NULL:
            raise MemoryError
        kept.summary, kept.many = gathered.summary, many
        kept.bits = <uint64_t *> (kept + 1)
        kept.places = <uint16_t *> (kept.bits + WINDOW_WORDS)
        kept.tfs = <uint8_t *> (kept.places + many)
        kept.lengths = kept.tfs + many
        memcpy(kept.bits, gathered.bits, ROW_BYTES)
        memcpy(kept.places, places, many * sizeof(uint16_t))
        memcpy(kept.tfs, tfs, many)
        no_postings(extremes)
        take_posting(extremes, kept.summary != 0, shortest_of(lengths, number, kept.bits))
        for place in range(many):
            kept.lengths[place] = packed_length(lengths, number << WINDOW_BITS | places[place])
            take_posting(extremes, tfs[place] if tfs[place] < UINT8_MAX else UINT32_MAX, kept.lengths[place])
        self.made[number] = kept
        self.size_bytes += size_bytes
        return size_bytes


cdef uint8_t shortest_of(const PackedLengths *lengths, Py_ssize_t window, const uint64_t *bits) noexcept nogil:
    """Return the shortest packed length of the objects of a window whose bits are set."""
    cdef Py_ssize_t word
    cdef uint64_t left, first = <uint64_t> window << WINDOW_BITS
    cdef uint8_t shortest = UINT8_MAX
    if first + WINDOW_OBJECTS <= lengths.count:
        return least_of(lengths.packed + first, bits)
    for word in range(WINDOW_WORDS):
        left = bits[word]
        while left:
            shortest = min(shortest, packed_length(lengths, first | word << 6 | lowest_bit(left)))
            left &= left - 1
    return shortest


cdef int check_block(const Block *block, uint32_t *first, uint32_t *last) noexcept nogil:
    """Return the number of postings of a block that was read; -1: it is damaged, or its IIDs do not rise."""
    cdef OpenBlock opened
    cdef int count = open_rising(block, &opened)
    if count > 0:
        first[0], last[0] = opened.iids[0], opened.iids[count - 1]
    return count


cdef int open_rising(const Block *block, OpenBlock *opened) noexcept nogil:
    """Decode a block that was read; return its number of postings; -1: it is damaged, or its IIDs do not rise."""
    cdef int place
    if decode_block(block, opened) < 0:
        return -1
    for place in range(1, opened.count):
        if opened.iids[place] <= opened.iids[place - 1]:
            return -1
    return opened.count


cdef inline Py_ssize_t kept_bytes(Py_ssize_t many) noexcept nogil:
    return sizeof(Holders) + ROW_BYTES + many * (sizeof(uint16_t) + 2 * sizeof(uint8_t))


cdef int by_iid(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Posting *> left).iid, b = (<const Posting *> right).iid
    return (a > b) - (a < b)
