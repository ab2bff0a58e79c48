"""Computes the changes that a PUSH makes to the rows and blocks of a bucket, in a `TermCache`."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy, memmove

from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.keys cimport TERM_KEY_BYTES, block_key, put_big_endian, word_key
from sonicpy._native.object_change cimport ADD, NOTHING, RAISE, Edit, ObjectChange
from sonicpy._native.object_record cimport Held, ObjectRecord
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, put_posting, read_block, write_block, write_dense_block
from sonicpy._native.tails cimport put_in_tail
from sonicpy._native.cached_rows cimport Entry
from sonicpy._native.term_cache cimport TermCache, hash_of, make_room, take_tail
from sonicpy._native.term_rows cimport Word, is_common, is_noted, read_word
from sonicpy._native.terms cimport F_PART, F_STOP, Terms

from sonicpy._native.varint import DamagedBytes

cdef enum:
    F_HIDDEN = F_STOP | F_PART  # stop words are flagged at PUSH in compat mode only

cdef uint64_t POSITION_MAX = 0xFFFFFFFF


cdef class AddTerms(ObjectChange):
    """One PUSH: adds the terms of a text to an object.

    The order of calls: read `word_keys`, `take_rows`; read the blocks that it names, `take_blocks`, `finish`; then write
    `blocks`, `new_terms()`, `changed_words()` and `record()`. The cache holds the changed rows of words.

    Args:
        terms: words, counts and flags of the text.
        record: the present record of the object, an `ObjectRecord` or a `GrowingRecord`.
        next_term: the next unused term id of the bucket.
        cache: the cache in which the rows of words are changed.
        by_association: whether the bucket's lists are in the order of association; else by IID.
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
    """

    def __init__(
        self,
        uint32_t bucket,
        uint64_t iid,
        Terms terms not None,
        record not None,
        uint64_t next_term,
        TermCache cache not None,
        bint by_association=False,
        bint letters=False,
    ):
        self.set_up(bucket, iid, terms, record, next_term, cache, by_association, letters)

    cdef int set_up(
        self,
        uint32_t bucket,
        uint64_t iid,
        Terms terms,
        object record,
        uint64_t next_term,
        TermCache cache,
        bint by_association,
        bint letters,
    ) except -1:
        if not len(terms.words) == len(terms.counts) == len(terms.flags):
            raise ValueError("every word needs a count and flags")
        self.begin(bucket, iid, list(terms.words), by_association, letters)
        self._counts = terms.counts
        self._flags = terms.flags
        if type(record) is GrowingRecord:
            self._growing = record
        else:
            self._record = record
            self._record.unpack_terms()
        self._next_term = next_term
        self._cache = cache
        self.word_keys = self.look_up()
        return 0

    @property
    def next_term(self) -> int:
        return self._next_term

    cdef list look_up(self):
        """Look up the words in the cache; return the keys of missing words."""
        cdef uint8_t key[4 + TERM_KEY_BYTES]
        cdef Py_ssize_t number, size
        cdef bytes word
        cdef Edit *edit
        cdef list missing = []
        put_big_endian(key, self._bucket, 4)
        for number in range(self._count):
            word = self._words[number]
            edit = &self._edits[number]
            size = edit.size
            if size <= TERM_KEY_BYTES:
                memcpy(key + 4, <const char *> word, size)
                edit.entry = self._cache.find(key, 4 + size, hash_of(key, 4 + size))
            else:
                edit.entry = NULL
            if edit.entry == NULL:
                missing.append(word_key(self._bucket, word))
        self._generation = self._cache._generation
        return missing

    cdef int check_cache(self) except -1:
        if self._generation != self._cache._generation:
            raise ValueError("the cache has dropped the rows of words that are to be changed")
        return 0

    cpdef list take_rows(self, list found):
        """Take the (key, row) pairs found for `word_keys`, in their order; return a key for each block needed, which is
        the last block at or before that key, see `Transaction.floor_many`.

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
                edit.entry = self._cache.find(<const uint8_t *> key, len(key), hash_of(<const uint8_t *> key, len(key)))
                if edit.entry != NULL:  # a long word
                    at += at < rows and (<tuple> found[at])[0] == key
                elif at < rows and (<tuple> found[at])[0] == key:
                    self.load(edit, key, (<tuple> found[at])[1])
                    at += 1
                else:
                    self.create(edit, key)
            edit.entry.is_used = True
            edit.word = &edit.entry.word
            edit.was_noted = is_noted(edit.word, edit.shown, edit.is_joint)
        self._cache._uses += self._count
        for number in range(self._count):
            edit = &self._edits[number]
            if edit.is_new:
                held = NULL
            elif self._growing is None:
                held = self._record.find(edit.word.term_id)
            else:
                held = self._growing.find(edit.word.term_id)
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
        edit.entry.is_apart = is_common(&word)
        self._cache.number(edit.entry)
        take_tail(edit.entry, <const uint8_t *> row + tail_at, len(row) - tail_at)
        return 0

    cdef int create(self, Edit *edit, bytes key) except -1:
        edit.entry = self._cache.insert(key)
        edit.entry.word = Word(self._next_term, 0, 0, 0)
        self._cache.number(edit.entry)
        self._cache.created += 1
        edit.is_new = True
        self._next_term += 1
        return 0

    cdef int link(self, Edit *edit) except -1:
        edit.step = ADD
        edit.has_row = True
        edit.word.df += 1
        edit.word.hidden_df += edit.hidden
        edit.held = Held(
            edit.word.term_id,
            edit.word.position if self._by_association else 0,
            0 if edit.is_joint else edit.tf,
            edit.hidden,
        )
        self.length_change += edit.held.tf
        self.changed = True
        if not self.is_in_tail(edit):
            self.need_block(edit)
        return 0

    cdef int link_again(self, Edit *edit, Held *held) except -1:
        edit.step = NOTHING
        edit.held = held[0]
        if held.hidden and not edit.hidden:
            edit.word.hidden_df -= 1
            edit.held.hidden = False
            edit.has_row = self.changed = True
        elif self._lowers and edit.hidden and not held.hidden:
            edit.word.hidden_df += 1
            edit.held.hidden = True
            edit.has_row = self.changed = True
        if (edit.tf > held.tf or (self._lowers and edit.tf < held.tf)) and not edit.is_joint:
            edit.step = RAISE
            edit.held.tf = edit.tf
            self.length_change += <int64_t> edit.tf - <int64_t> held.tf
            self.changed = True
            if not self.is_in_tail(edit):
                self.need_block(edit)
        return 0

    cdef list gone(self):
        """Return the ids of the terms that the object holds and the text does not; the record must be unpacked."""
        cdef Py_ssize_t number, step, at = 0
        cdef list gone = []
        cdef uint64_t *term_ids = <uint64_t *> malloc((self._count + 1) * sizeof(uint64_t))
        if term_ids == NULL:
            raise MemoryError
        try:
            for number in range(self._count):
                term_ids[number] = self._edits[number].word.term_id
            qsort(term_ids, self._count, sizeof(uint64_t), by_number)
            for step in range(self._record._count):
                while at < self._count and term_ids[at] < self._record._held[step].term_id:
                    at += 1
                if at == self._count or term_ids[at] != self._record._held[step].term_id:
                    gone.append(self._record._held[step].term_id)
            return gone
        finally:
            free(term_ids)

    cdef list changed_terms(self):
        """Return the ids of the words whose rows or postings change."""
        cdef Py_ssize_t number
        return [
            self._edits[number].word.term_id
            for number in range(self._count)
            if self._edits[number].step != NOTHING or self._edits[number].has_row
        ]

    cdef list kept_in_blocks(self):
        """Return the (term id, tf) of those unchanged postings of the object that are not in the tail of their word."""
        cdef Py_ssize_t number
        return [
            (self._edits[number].word.term_id, max(self._edits[number].held.tf, 1))
            for number in range(self._count)
            if self._edits[number].step == NOTHING and not self.is_in_tail(&self._edits[number])
        ]

    cpdef take_blocks(self, list found):
        """Take the blocks found for the keys that `take_rows` returned, in their order, as (key, block) or None.

        Raises:
            DamagedBytes: a block cannot be read, or an object is not in the block it belongs to.
            ValueError: the numbers of keys and blocks differ.
        """
        cdef Py_ssize_t number
        cdef Edit *edit
        self.check_cache()
        if len(found) != len(self._block_keys):
            raise ValueError(f"{len(self._block_keys)} keys need as many blocks, not {len(found)}")
        for number in range(self._count):
            edit = &self._edits[number]
            if edit.step == NOTHING:
                continue
            if self.is_in_tail(edit):
                self.change_tail(edit)
            else:
                self.change_block(edit, found[edit.block])

    cdef int change_tail(self, Edit *edit) except -1:
        cdef Entry *entry = edit.entry
        if edit.step == ADD and (self._by_association or not entry.tail_size or self._iid > entry.last_iid):
            return self.append(edit)
        edit.has_row = True
        if edit.step == ADD and entry.tail[0] == BLOCK_POSTINGS:
            return self.split_tail(edit)
        return put_in_tail(entry, self._iid, edit.tf, edit.step == RAISE)

    cdef int split_tail(self, Edit *edit) except -1:
        """Put the object into a full tail, whose first half becomes a block."""
        cdef Posting postings[BLOCK_POSTINGS + 1]
        cdef int half = BLOCK_POSTINGS // 2
        cdef int count = self.put(edit, postings, read_block(edit.entry.tail, edit.entry.tail_size, postings))
        cdef bytes block = write_block(&postings[half], count - half)
        self.blocks.append((self.tail_key(edit), self.stored(postings, half)))
        edit.word.position = postings[half].iid
        take_tail(edit.entry, <const uint8_t *> <const char *> block, len(block))
        return 0

    cdef int change_block(self, Edit *edit, found) except -1:
        cdef Posting postings[BLOCK_POSTINGS + 1]
        cdef int count = 0, half
        cdef bytes key
        if found is None:
            if edit.step == RAISE:
                raise DamagedBytes(f"no block of postings holds object {self._iid}")
            # Every block that stood before its place was emptied and is gone.
            self.blocks.append((block_key(self._bucket, edit.word.term_id, 0), self.single(edit)))
            return 0
        key = (<tuple> found)[0]
        count = self.put(edit, postings, decode((<tuple> found)[1], postings))
        if count > BLOCK_POSTINGS:
            half = BLOCK_POSTINGS // 2
            self.blocks.append((
                block_key(self._bucket, edit.word.term_id, <uint32_t> postings[half].iid),
                self.stored(&postings[half], count - half),
            ))
            count = half
        self.blocks.append((key, self.stored(postings, count)))
        return 0

    cdef bytes single(self, Edit *edit):
        cdef Posting posting = Posting(self._iid, edit.tf)
        return self.stored(&posting, 1)

    cdef bytes stored(self, const Posting *postings, int count):
        """Return a block in the form for the table `postings`."""
        return write_block(postings, count) if self._by_association else write_dense_block(postings, count)

    cdef int put(self, Edit *edit, Posting *postings, int count) except -1:
        """Put the object into the postings of a block, or raise its tf; return the new number of postings.

        Args:
            postings: the postings of the block, with room for one more.

        Raises:
            DamagedBytes: the object is not in the block.
        """
        cdef int place = 0
        if edit.step == RAISE:
            while place < count and postings[place].iid != self._iid:
                place += 1
            if place == count:
                raise DamagedBytes(f"object {self._iid} is not in the block of postings that it belongs to")
            postings[place].tf = edit.tf
            return count
        while place < count and postings[place].iid < self._iid:
            place += 1
        memmove(&postings[place + 1], &postings[place], (count - place) * sizeof(Posting))
        postings[place] = Posting(self._iid, edit.tf)
        return count + 1

    cdef bytes tail_key(self, const Edit *edit):
        return block_key(self._bucket, edit.word.term_id, <uint32_t> edit.word.position)

    cdef int append(self, Edit *edit) except -1:
        """Put the object behind all postings of a word. Raises OverflowError if the numbers of its blocks are used
        up.
        """
        cdef Entry *entry = edit.entry
        cdef Word *word = edit.word
        cdef uint8_t *end
        if entry.tail_size and entry.tail[0] == BLOCK_POSTINGS:
            if word.position == POSITION_MAX:
                raise OverflowError("a word has used up its 2**32 blocks of postings")
            self.blocks.append((self.tail_key(edit), self.stored_tail(entry)))
            word.position = word.position + 1 if self._by_association else entry.last_iid + 1
            entry.tail_size = 0
        if entry.tail_size + 21 > entry.tail_room:
            make_room(entry, entry.tail_size + 21)
        if entry.tail_size == 0:
            entry.tail[0] = 0
            entry.tail_size = 1
            entry.last_iid = 0
        entry.tail[0] += 1
        end = put_posting(entry.tail + entry.tail_size, entry.last_iid, self._iid, edit.tf)
        entry.tail_size = <uint32_t> (end - entry.tail)
        entry.last_iid = self._iid
        if self._by_association:
            edit.held.block = word.position
        return 0

    cdef bytes stored_tail(self, const Entry *entry):
        """Return a tail in the form for the table `postings`, as a block."""
        cdef Posting postings[BLOCK_POSTINGS]
        if self._by_association:
            return PyBytes_FromStringAndSize(<char *> entry.tail, entry.tail_size)
        return write_dense_block(postings, read_block(entry.tail, entry.tail_size, postings))

    cpdef finish(self):
        """Mark the changed rows in the cache, and count the words that appeared."""
        cdef Py_ssize_t number
        cdef Edit *edit
        self.check_cache()
        self.count_turned()
        for number in range(self._count):
            edit = &self._edits[number]
            if edit.has_row:
                self._cache.mark(edit.entry)

    cpdef list new_terms(self):
        """Return the (term id, term) of the words that no object held before."""
        cdef Py_ssize_t number
        self.check_cache()
        return [
            (self._edits[number].word.term_id, self._words[number])
            for number in range(self._count)
            if self._edits[number].is_new
        ]

    cpdef bytes record(self):
        """Return the object's record after the change; a record that grows takes the change."""
        cdef Held *changed
        if self._growing is not None:
            self.grow()
            return self._growing.pack()
        changed = self.changed_held()
        try:
            qsort(changed, self._count, sizeof(Held), by_term)
            return self._record.with_terms(changed, self._count)
        finally:
            free(changed)

    cdef int grow(self) except -1:
        """Put the change into the record that grows."""
        cdef Held *changed = self.changed_held()
        try:
            return self._growing.put(changed, self._count)
        finally:
            free(changed)

    cdef Held *changed_held(self) except NULL:
        """Return the terms of the text as the object holds them after the change, for the caller to free."""
        cdef Py_ssize_t number
        cdef Held *changed = <Held *> malloc((self._count + 1) * sizeof(Held))
        if changed == NULL:
            raise MemoryError
        for number in range(self._count):
            changed[number] = self._edits[number].held
        return changed


cdef AddTerms begin_add_terms(
    uint32_t bucket,
    uint64_t iid,
    Terms terms,
    object record,
    uint64_t next_term,
    TermCache cache,
    bint by_association,
    bint letters,
):
    """Return an AddTerms with these arguments, which it documents, without the cost of a call from Python."""
    cdef AddTerms change = AddTerms.__new__(AddTerms)
    change.set_up(bucket, iid, terms, record, next_term, cache, by_association, letters)
    return change


cdef int by_term(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Held *> left).term_id, b = (<const Held *> right).term_id
    return (a > b) - (a < b)


cdef int by_number(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const uint64_t *> left)[0], b = (<const uint64_t *> right)[0]
    return (a > b) - (a < b)
