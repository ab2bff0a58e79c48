"""How a POP or a FLUSHO changes the rows and blocks of a bucket."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

from sonicpy._native.keys cimport block_key, term_key, word_key
from sonicpy._native.object_change cimport Edit, ObjectChange
from sonicpy._native.object_record cimport Held, ObjectRecord, pack_object
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, write_block
from sonicpy._native.term_rows cimport Word, is_common, is_live, read_word, write_word

from sonicpy._native.varint import DamagedBytes


cdef class RemoveTerms(ObjectChange):
    """One POP or FLUSHO: takes terms from an object.

    Call in this order: read `word_keys`, `take_rows`; read the block keys it returns, `take_blocks`; for each of
    `used_up` delete the first block, find the next, `advance`, or, if there is none, `advance_to_tail`; then write
    `words()` and the lists.

    Args:
        words: the terms to take away; those that the object does not hold are ignored.
        record: what the object holds.
    """
    cdef ObjectRecord _record
    cdef list _tails  # by edit: the tail as bytes
    cdef readonly list deleted_blocks
    cdef readonly list used_up
    cdef readonly list common
    cdef readonly list deleted_words
    cdef readonly list deleted_common
    cdef readonly list deleted_terms
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
        self.common = []
        self.deleted_words = []
        self.deleted_common = []
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
        """Make the tail the first block of word `number`: no block of `postings` follows its used-up one."""
        cdef Word *word = self.word_of(number)
        cdef bytes tail = self._tails[number]
        if tail:
            self.advance(number, word.last_block, <uint8_t> tail[0])
        else:
            self.empty(number, word)

    cdef void empty(self, Py_ssize_t number, Word *word):
        """Mark a word as one without living postings."""
        self._tails[number] = b""
        word.first_block = word.last_block + 1
        word.first_count = word.dead = 0

    def words(self) -> list:
        """Return the (key, row) pairs to write in `words`; also fill `common`, `deleted_words`, `deleted_common` and
        `deleted_terms`."""
        cdef list rows = []
        cdef Py_ssize_t number
        cdef Edit *edit
        cdef bytes tail, key
        self.count_turned()
        for number in range(self._count):
            edit = &self._edits[number]
            if not edit.has_row:
                continue
            key = term_key(self._bucket, edit.word.term_id)  # as in `terms`, so in `common`
            if edit.word.holders == 0:
                self.deleted_words.append(self.word_keys[number])
                self.deleted_terms.append(key)
                if is_common(edit.word):
                    self.deleted_common.append(key)
                continue
            tail = self._tails[number]
            row = write_word(edit.word, <const uint8_t *> tail, len(tail))
            if is_common(edit.word):
                self.common.append((key, row))
            else:
                rows.append((self.word_keys[number], row))
        return rows

    def record(self) -> bytes | None:
        """Return the object's record after the change; None: no term is left."""
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
            return pack_object(self._record.oid, held, kept)
        finally:
            free(held)
