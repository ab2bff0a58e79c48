"""Computes the changes that a POP or a FLUSHO makes to the rows and blocks of a bucket."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

from sonicpy._native.keys cimport term_key, word_key
from sonicpy._native.object_change cimport Edit, ObjectChange
from sonicpy._native.object_record cimport Held, ObjectRecord, pack_object
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, write_block, write_dense_block
from sonicpy._native.term_rows cimport is_common, is_noted, read_word, write_word

from sonicpy._native.varint import DamagedBytes


cdef class RemoveTerms(ObjectChange):
    """One POP or FLUSHO: removes terms from an object.

    The order of calls: read `word_keys`, `take_rows`; read the blocks that it names, `take_blocks`; then write the rows
    of `words()` and of the lists.

    Args:
        words: the terms to remove; terms that the object does not hold are skipped.
        record: the record of the object.
        by_association: whether the bucket's lists are in the order of association; else by IID.
    """
    cdef ObjectRecord _record
    cdef list _tails  # by edit: the tail as bytes
    cdef readonly list deleted_blocks
    cdef readonly list common
    cdef readonly list deleted_words
    cdef readonly list deleted_common
    cdef readonly list deleted_terms
    cdef readonly Py_ssize_t removed
    cdef readonly Py_ssize_t removed_shown

    def __init__(
        self,
        uint32_t bucket,
        uint64_t iid,
        list words,
        ObjectRecord record not None,
        bint by_association=False,
        bint letters=False,
    ):
        cdef bytes word
        self.begin(bucket, iid, list(words), by_association, letters)
        self.word_keys = [word_key(bucket, word) for word in words]
        self._tails = [b""] * self._count
        record.unpack_terms()
        self._record = record
        self.deleted_blocks = []
        self.common = []
        self.deleted_words = []
        self.deleted_common = []
        self.deleted_terms = []

    def take_rows(self, list found) -> list:
        """Take the (key, row) pairs found for `word_keys`, in their order; return a key for each block needed, which is
        the last block at or before that key, see `Transaction.floor_many`.

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
            edit.was_noted = is_noted(edit.word, edit.shown, edit.is_joint)
            held = self._record.find(edit.word.term_id)
            if held == NULL:
                continue
            edit.has_row = True
            edit.held = held[0]
            edit.word.df -= 1
            edit.word.hidden_df -= held.hidden
            self.removed += 1
            self.removed_shown += not held.hidden
            self.length_change -= held.tf
            if not self.is_in_tail(edit):
                self.need_block(edit)
        return self._block_keys

    def take_blocks(self, list found) -> None:
        """Take the blocks found for the keys that `take_rows` returned, in their order, as (key, block) or None.

        Raises:
            DamagedBytes: a block cannot be read, or the object is not in it.
            ValueError: the numbers of keys and blocks differ.
        """
        cdef Py_ssize_t number
        cdef Edit *edit
        if len(found) != len(self._block_keys):
            raise ValueError(f"{len(self._block_keys)} keys need as many blocks, not {len(found)}")
        for number in range(self._count):
            edit = &self._edits[number]
            if not edit.has_row:
                continue
            if self.is_in_tail(edit):
                self._tails[number] = self.without_object(self._tails[number], True)
            elif found[edit.block] is None:
                raise DamagedBytes(f"no block of postings holds object {self._iid}")
            else:
                self.change_block(found[edit.block])

    cdef int change_block(self, tuple found) except -1:
        cdef bytes block = self.without_object(found[1], self._by_association)
        if block:
            self.blocks.append((found[0], block))
        else:
            self.deleted_blocks.append(found[0])
        return 0

    cdef bytes without_object(self, bytes block, bint is_plain):
        """Return a block without the posting of the object, dense unless `is_plain`; b"": it had no other posting.
        Raises DamagedBytes if the block does not have the object.
        """
        cdef Posting postings[BLOCK_POSTINGS]
        cdef int count = decode(block, postings) if block else 0, place = 0
        while place < count and postings[place].iid != self._iid:
            place += 1
        if place == count:
            raise DamagedBytes(f"object {self._iid} is not in the block of postings that it belongs to")
        memmove(&postings[place], &postings[place + 1], (count - place - 1) * sizeof(Posting))
        if count == 1:
            return b""
        return write_block(postings, count - 1) if is_plain else write_dense_block(postings, count - 1)

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
            key = term_key(self._bucket, edit.word.term_id)
            if edit.word.df == 0:
                self.deleted_words.append(self.word_keys[number])
                self.deleted_terms.append(edit.word.term_id)
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

    cdef bytes left_record(self, list left):
        """Return the record with the remaining terms, and add each to `left` as (term id, tf of its posting)."""
        cdef Py_ssize_t step, number, kept = 0, old = self._record._count
        cdef set gone = {
            self._edits[number].word.term_id for number in range(self._count) if self._edits[number].has_row
        }
        cdef Held *held = <Held *> malloc((old + 1) * sizeof(Held))
        if held == NULL:
            raise MemoryError
        try:
            for step in range(old):
                if self._record._held[step].term_id not in gone:
                    held[kept] = self._record._held[step]
                    left.append((held[kept].term_id, max(held[kept].tf, 1)))
                    kept += 1
            return pack_object(self._record.oid, held, kept, self._by_association)
        finally:
            free(held)

    def record(self) -> bytes | None:
        """Return the object's new record; None: no term is left."""
        return None if self._record._count == self.removed else self.left_record([])

    def left(self) -> list:
        """Return the (term id, tf of the posting) of the terms that the object still holds."""
        cdef list left = []
        self.left_record(left)
        return left
