"""A cache of decoded rows of words: a common word is read and written once for many texts.

PUSH changes rows here; `rows` returns the changed ones for writing.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.cached_rows cimport (
    KEY_BYTES, Entry, as_bytes, bucket_of, common_key_of, head_behind, head_of, is_between, key_of, reference_to, row_of,
)
from sonicpy._native.dense_block cimport is_dense
from sonicpy._native.keys cimport is_shortened
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, read_block, take_posting, write_block
from sonicpy._native.row_order cimport Placed, put_place, sorted_rows
from sonicpy._native.term_rows cimport is_common

import os

from sonicpy._native.varint import DamagedBytes

cdef enum:
    NOTED_MAX = 512  # `take_noted` goes through all of them
    USES_TO_TELL = 4  # uses of rows for each row of the cache, before a row without a use counts as unused


cdef uint32_t HASH_START = <uint32_t> int.from_bytes(os.urandom(4), "little")


cdef class TermCache:
    """Decoded rows of words with their latest changes; changed rows wait to be written.

    Before a row is changed directly in the tables, call `forget` or `clear`.

    Attributes:
        lost_notes: a number that grows whenever `take_noted` may lack a changed word.
        created: the number of words that were created.
    """
    def __cinit__(self):
        self._mask = 1023
        self._slots = <Entry **> calloc(self._mask + 1, sizeof(Entry *))
        self._numbered = <Entry **> calloc(self._mask + 1, sizeof(Entry *))
        self._dirty_room = 64
        self._dirty = <Entry **> malloc(self._dirty_room * sizeof(Entry *))
        self._heads = <uint64_t *> malloc(self._dirty_room * sizeof(uint64_t))
        self._noted = <Entry **> malloc(NOTED_MAX * sizeof(Entry *))
        if NULL in (self._slots, self._numbered, self._dirty, self._heads, self._noted):
            raise MemoryError

    def __dealloc__(self):
        if self._slots != NULL:
            self.free_entries()
        free(self._slots)
        free(self._numbered)
        free(self._dirty)
        free(self._heads)
        free(self._noted)

    def __len__(self) -> int:
        return self._count

    @property
    def changed(self) -> int:
        """The number of rows that wait to be written."""
        return self._dirty_count

    def rows(self) -> tuple:
        """Return the changed (key, row) pairs of `words` and of `common`, by key, and mark them as written; see
        `take_vanished` for words that no object holds any more."""
        cdef list words = [], common = []
        cdef Entry *entry
        cdef Py_ssize_t number, rare = 0, last = self._dirty_count
        cdef Placed *given = <Placed *> malloc((2 * self._dirty_count + 1) * sizeof(Placed))
        cdef Placed *placed
        if given == NULL:
            raise MemoryError
        try:
            for number in range(self._dirty_count):
                entry = self._dirty[number]
                if entry.word.df == 0:
                    raise ValueError("words that vanished have to be taken first")
                if is_common(&entry.word):
                    last -= 1
                    put_place(&given[last], entry, 0)
                else:
                    put_place(&given[rare], entry, self._heads[number])
                    rare += 1
            placed = sorted_rows(given, given + self._dirty_count, rare)
            for number in range(rare):
                words.append((key_of(placed[number].entry), row_of(placed[number].entry)))
            placed = sorted_rows(given + rare, given + self._dirty_count, self._dirty_count - rare)
            for number in range(self._dirty_count - rare):
                entry = placed[number].entry
                common.append((common_key_of(entry), row_of(entry)))
                if not entry.is_apart:
                    words.append((key_of(entry), reference_to(entry)))
        finally:
            free(given)
        for number in range(self._dirty_count):
            entry = self._dirty[number]
            entry.is_dirty = False
            entry.is_apart = is_common(&entry.word)
        self._dirty_count = 0
        return words, common

    def take_vanished(self) -> tuple:
        """Drop the changed words that no object holds any more; return the keys of their rows in `words` and in
        `common`, and their (bucket, term id) pairs."""
        cdef list words = [], common = [], terms = []
        cdef Entry *entry
        cdef Py_ssize_t number, left = 0
        if self._has_vanished:
            for number in range(self._dirty_count):
                entry = self._dirty[number]
                if entry.word.df:
                    self._dirty[left], self._heads[left] = entry, self._heads[number]
                    left += 1
                    continue
                words.append(key_of(entry))
                terms.append((bucket_of(entry), entry.word.term_id))
                if is_common(&entry.word):
                    common.append(common_key_of(entry))
                if entry.is_noted:
                    self.lose_notes()
                entry.is_dirty = False
                entry.key_size = 0
                self._generation += 1
            self._dirty_count = left
            self._has_vanished = False
        return words, common, terms

    def vanished(self, bytes first not None, bytes last=None) -> set:
        """Return the keys of the changed words that no object holds any more, from `first` to `last`, both included.
        Their rows may still be in the tables."""
        cdef Py_ssize_t number
        cdef set keys = set()
        cdef uint64_t least = head_of(as_bytes(first), len(first)), most = head_behind(last)
        if self._has_vanished:
            for number in range(self._dirty_count):
                if least <= self._heads[number] <= most:
                    if self._dirty[number].word.df == 0 and is_between(self._dirty[number], first, last):
                        keys.add(key_of(self._dirty[number]))
        return keys

    def held(self, list keys not None) -> tuple:
        """Return the cached rows of words, by key, and the keys that are not cached; words that no object holds any
        more are in neither."""
        cdef dict rows = {}
        cdef list others = []
        cdef bytes key
        cdef Entry *entry
        for key in keys:
            entry = self.find(<const uint8_t *> key, len(key), hash_of(<const uint8_t *> key, len(key)))
            if entry != NULL and entry.word.df:
                rows[key] = row_of(entry)
            elif entry == NULL or not entry.is_dirty:
                others.append(key)
        return rows, others

    def waiting_between(self, bytes first not None, bytes last=None) -> dict:
        """Return the changed rows with keys from `first` to `last`, both included."""
        cdef dict rows = {}
        cdef Py_ssize_t number
        cdef uint64_t least = head_of(as_bytes(first), len(first)), most = head_behind(last)
        for number in range(self._dirty_count):
            if least <= self._heads[number] <= most:
                if self._dirty[number].word.df and is_between(self._dirty[number], first, last):
                    rows[key_of(self._dirty[number])] = row_of(self._dirty[number])
        return rows

    def begin_notes(self) -> None:
        """Forget the words that have changed so far; `take_noted` returns those that change from now on."""
        self.lose_notes()
        self.lost_notes = 0

    def take_noted(self, uint32_t bucket):
        """Return the words of a bucket whose rows changed since the last call, or since `begin_notes`; None: one of
        them is so long that its key does not hold all of it. The list may lack some words if `lost_notes` has grown."""
        cdef list words = []
        cdef bint is_whole = True
        cdef Py_ssize_t number, left = 0
        cdef Entry *entry
        for number in range(self._noted_count):
            entry = self._noted[number]
            if bucket_of(entry) != bucket:
                self._noted[left] = entry
                left += 1
                continue
            entry.is_noted = False
            if is_shortened(entry.key, entry.key_size):
                is_whole = False
            else:
                words.append(PyBytes_FromStringAndSize(<char *> entry.key + 4, entry.key_size - 4))
        self._noted_count = left
        return words if is_whole else None

    def forget(self, list keys) -> None:
        """Drop rows, given by their keys, before they are changed directly in the tables.

        Raises:
            ValueError: a row waits to be written.
        """
        cdef bytes key
        cdef Entry *entry
        if self._dirty_count:
            raise unwritten(self._dirty_count)
        self.lose_notes()
        for key in keys:
            entry = self.find(<const uint8_t *> key, len(key), hash_of(<const uint8_t *> key, len(key)))
            if entry != NULL:
                entry.key_size = 0
                self._generation += 1

    def shrink(self, Py_ssize_t few, Py_ssize_t most) -> None:
        """Drop the rows that no change has used since the last time, if there are more than `few` and enough were used;
        drop all rows if there are more than `most`.

        Raises:
            ValueError: a row waits to be written.
        """
        if self._dirty_count:
            raise unwritten(self._dirty_count)
        if self._count > most:
            self.clear()
        elif self._count > few and self._uses >= USES_TO_TELL * self._count:
            self.lose_notes()
            self._generation += 1
            self.move_entries(self._mask, True)
            self._uses = 0

    def clear(self) -> None:
        """Drop everything, including changed rows."""
        self.lose_notes()
        if not self._count:  # so nothing points to an entry either
            return
        self.free_entries()
        memset(self._slots, 0, (self._mask + 1) * sizeof(Entry *))
        memset(self._numbered, 0, (self._mask + 1) * sizeof(Entry *))
        self._count = self._dirty_count = self._uses = 0
        self._has_vanished = False
        self._generation += 1

    cdef void free_entries(self) noexcept nogil:
        cdef uint32_t slot
        for slot in range(self._mask + 1):
            if self._slots[slot] != NULL:
                free(self._slots[slot].tail)
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
        """Add an entry whose word and tail are still empty; `number` follows once it has the number of its word."""
        cdef Entry *entry
        cdef uint32_t slot
        if 2 * (self._count + 1) > self._mask:
            self.move_entries(2 * self._mask + 1, False)
        entry = <Entry *> calloc(1, sizeof(Entry) + max(len(key) - <Py_ssize_t> KEY_BYTES, 0))
        if entry == NULL:
            raise MemoryError
        memcpy(<uint8_t *> entry.key, <const char *> key, len(key))
        entry.key_size = <uint32_t> len(key)
        entry.hash = hash_of(entry.key, len(key))
        slot = entry.hash & self._mask
        while self._slots[slot] != NULL:
            slot = (slot + 1) & self._mask
        self._slots[slot] = entry
        self._count += 1
        return entry

    cdef void number(self, Entry *entry) noexcept nogil:
        """Note an entry by its term id, by which `numbered` finds it."""
        cdef uint32_t slot = place_of(bucket_of(entry), entry.word.term_id) & self._mask
        while self._numbered[slot] != NULL:
            slot = (slot + 1) & self._mask
        self._numbered[slot] = entry

    cdef Entry *numbered(self, uint32_t bucket, uint64_t term_id) noexcept nogil:
        """Return the entry with a term id of a bucket; NULL: there is none."""
        cdef uint32_t slot = place_of(bucket, term_id) & self._mask
        cdef Entry *entry = self._numbered[slot]
        while entry != NULL and (entry.word.term_id != term_id or not entry.key_size or bucket_of(entry) != bucket):
            slot = (slot + 1) & self._mask
            entry = self._numbered[slot]
        return entry

    cdef int move_entries(self, uint32_t mask, bint unused_go) except -1:
        """Move the entries to tables of `mask` + 1 places.

        Args:
            unused_go: free those that were not used since the last call with True, and count uses from now on.
        """
        cdef uint32_t old, slot
        cdef Entry *entry
        cdef Entry **slots = <Entry **> calloc(<size_t> mask + 1, sizeof(Entry *))
        cdef Entry **numbered = <Entry **> calloc(<size_t> mask + 1, sizeof(Entry *))
        if slots == NULL or numbered == NULL:
            free(slots)
            free(numbered)
            raise MemoryError
        for old in range(self._mask + 1):
            entry = self._slots[old]
            if entry == NULL:
                continue
            if unused_go:
                if not (entry.is_used and entry.key_size):
                    free(entry.tail)
                    free(entry)
                    self._count -= 1
                    continue
                entry.is_used = False
            slot = entry.hash & mask
            while slots[slot] != NULL:
                slot = (slot + 1) & mask
            slots[slot] = entry
        free(self._slots)
        free(self._numbered)
        self._slots, self._numbered = slots, numbered
        self._mask = mask
        for slot in range(mask + 1):
            if slots[slot] != NULL:
                self.number(slots[slot])
        return 0

    cdef int mark(self, Entry *entry) except -1:
        """Mark a row as changed."""
        if not entry.is_noted:
            self.note(entry)
        if entry.is_dirty:
            return 0
        if self._dirty_count == self._dirty_room:
            self.grow_dirty()
        self._dirty[self._dirty_count] = entry
        self._heads[self._dirty_count] = head_of(entry.key, entry.key_size)
        self._dirty_count += 1
        entry.is_dirty = True
        return 0

    cdef int grow_dirty(self) except -1:
        cdef Entry **grown = <Entry **> realloc(self._dirty, 2 * self._dirty_room * sizeof(Entry *))
        cdef uint64_t *heads
        if grown == NULL:
            raise MemoryError
        self._dirty = grown
        heads = <uint64_t *> realloc(self._heads, 2 * self._dirty_room * sizeof(uint64_t))
        if heads == NULL:
            raise MemoryError
        self._heads = heads
        self._dirty_room *= 2
        return 0

    cdef void note(self, Entry *entry) noexcept nogil:
        if self._noted_count == NOTED_MAX:
            self.lose_notes()
        self._noted[self._noted_count] = entry
        self._noted_count += 1
        entry.is_noted = True

    cdef void lose_notes(self) noexcept nogil:
        cdef Py_ssize_t number
        for number in range(self._noted_count):
            self._noted[number].is_noted = False
        self._noted_count = 0
        self.lost_notes += 1


cdef inline uint32_t place_of(uint32_t bucket, uint64_t term_id) noexcept nogil:
    """Return the place at which the search for a term id of a bucket begins."""
    return <uint32_t> ((<uint64_t> bucket << 40 ^ term_id) * <uint64_t> 0x9E3779B97F4A7C15 >> 32)


cdef uint32_t hash_of(const uint8_t *key, Py_ssize_t size) noexcept nogil:
    """Return the FNV-1a hash of a key, from a random start, so that no client can choose words that collide."""
    cdef uint32_t hash = HASH_START
    cdef Py_ssize_t step
    for step in range(size):
        hash = (hash ^ key[step]) * <uint32_t> 16777619
    return hash ^ (hash >> 15)


cdef int take_tail(Entry *entry, const uint8_t *tail, Py_ssize_t size) except -1:
    """Put a block into the tail of an entry; a dense block becomes plain, so that postings can be appended. Raises
    DamagedBytes.
    """
    cdef Posting postings[BLOCK_POSTINGS]
    cdef int count
    cdef bytes plain
    if size == 0:
        entry.tail_size = 0
        return 0
    if is_dense(tail):
        count = read_block(tail, size, postings)
        if count <= 0:
            raise unreadable(size)
        plain = write_block(postings, count)
        tail, size = <const uint8_t *> <const char *> plain, len(plain)
    if not ends_with(tail, size, &entry.last_iid):
        raise unreadable(size)
    if size > entry.tail_room:
        make_room(entry, size)
    memcpy(entry.tail, tail, size)
    entry.tail_size = <uint32_t> size
    return 0


cdef bint ends_with(const uint8_t *tail, Py_ssize_t size, uint64_t *iid) noexcept nogil:
    """Set `iid` to the one of the last posting of a tail that is not dense; return False if it cannot be read, or has
    no posting."""
    cdef const uint8_t *at = tail + 1
    cdef const uint8_t *end = tail + size
    cdef uint64_t now = 0, tf = 0
    cdef int step
    for step in range(tail[0]):
        if take_posting(&at, end, &now, &tf) < 0:
            return False
    iid[0] = now
    return at == end and tail[0] > 0


cdef object unwritten(Py_ssize_t rows):
    return ValueError(f"{rows} rows of words have to be written first")


cdef object unreadable(Py_ssize_t size):
    return DamagedBytes(f"the newest {size} bytes of postings of a word cannot be read")


cdef int make_room(Entry *entry, Py_ssize_t size) except -1:
    """Make room for a tail of twice `size` bytes."""
    cdef uint8_t *grown = <uint8_t *> realloc(entry.tail, 2 * size)
    if grown == NULL:
        raise MemoryError
    entry.tail = grown
    entry.tail_room = <uint32_t> (2 * size)
    return 0
