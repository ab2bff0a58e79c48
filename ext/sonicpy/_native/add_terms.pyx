"""How a PUSH changes the rows and blocks of a bucket. It works on a `TermCache`."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy

from sonicpy._native.keys cimport TERM_KEY_BYTES, block_key, put_big_endian, term_key, word_key
from sonicpy._native.object_change cimport APPEND, NOTHING, RAISE, Edit, ObjectChange
from sonicpy._native.object_record cimport Held, ObjectRecord, pack_object
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode, put_posting, write_block
from sonicpy._native.term_cache cimport Entry, TermCache, hash_of, make_room, take_tail
from sonicpy._native.term_rows cimport Word, is_common, is_live, read_word
from sonicpy._native.terms cimport F_PART, F_STOP, Terms

from sonicpy._native.varint import DamagedBytes

cdef enum:
    F_HIDDEN = F_STOP | F_PART

cdef uint64_t BLOCK_NUMBER_MAX = 0xFFFFFFFF


cdef class AddTerms(ObjectChange):
    """One PUSH: gives an object the terms of a text.

    Call in this order: read `word_keys`, `take_rows`; read the block keys it returns, `take_blocks`; `trim` until
    it returns nothing, `finish`; then write `blocks`, `new_terms()`, `changed_words()` and `record()`. The cache holds
    the changed rows of words.

    Args:
        terms: words, counts and flags of the text.
        record: what the object holds already.
        next_term: the next unused term id of the bucket.
        cache: where the rows of words are changed.
    """

    def __init__(
        self,
        uint32_t bucket,
        uint64_t iid,
        Terms terms not None,
        ObjectRecord record not None,
        uint64_t next_term,
        TermCache cache not None,
    ):
        self.set_up(bucket, iid, terms, record, next_term, cache)

    cdef int set_up(
        self, uint32_t bucket, uint64_t iid, Terms terms, ObjectRecord record, uint64_t next_term, TermCache cache
    ) except -1:
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
        return 0

    @property
    def next_term(self) -> int:
        return self._next_term

    cdef list look_up(self):
        """Look the words up in the cache; return the keys of those that it lacks."""
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
                edit.entry = self._cache.find(<const uint8_t *> key, len(key), hash_of(<const uint8_t *> key, len(key)))
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
        edit.entry.is_apart = is_common(&word)
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

    cpdef take_blocks(self, list found):
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

    cpdef list trim(self, uint64_t window):
        """Forget postings beyond the newest `window` of each word (0: keep all).

        Return the numbers of the words whose first block is used up: delete that block, find the next one, call
        `advance`, or, if there is none, `advance_to_tail`; then call `trim` again until it returns nothing.
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
        """Make the tail the first block of word `number`: no block of `postings` follows its used-up one.

        Raises:
            DamagedBytes: the tail holds no posting either.
        """
        cdef Word *word = self.word_of(number)
        cdef Entry *entry = self._edits[number].entry
        if entry == NULL:
            raise ValueError("take_rows was not called yet")
        if entry.tail_size == 0 or word.first_block == word.last_block:
            raise DamagedBytes("a word counts postings that it does not have")
        self.advance(number, word.last_block, entry.tail[0])

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
        """Return the (key, term) pairs to write in `terms`."""
        cdef Py_ssize_t number
        self.check_cache()
        return [
            (term_key(self._bucket, self._edits[number].word.term_id), self._words[number])
            for number in range(self._count)
            if self._edits[number].is_new
        ]

    cpdef bytes record(self):
        """Return the object's record after the change."""
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
            return pack_object(self._record.oid, merged, kept)
        finally:
            free(changed)
            free(merged)


cdef AddTerms begin_add_terms(
    uint32_t bucket, uint64_t iid, Terms terms, ObjectRecord record, uint64_t next_term, TermCache cache
):
    """Return an AddTerms, without the cost of a call from Python."""
    cdef AddTerms link = AddTerms.__new__(AddTerms)
    link.set_up(bucket, iid, terms, record, next_term, cache)
    return link


cdef int by_term(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Held *> left).term_id, b = (<const Held *> right).term_id
    return (a > b) - (a < b)
