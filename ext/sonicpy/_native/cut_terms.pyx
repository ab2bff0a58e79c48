"""Changes rows, in a `TermCache`, and blocks when an object loses words: by a POP, a FLUSHO or a replacement of its
text.

The rows stay in the cache, as those of a PUSH do: they are written once for many changes. This is only for lists by
IID: for lists in the order of association, remove_terms.pyx changes the tables, after all rows of the cache were
written.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from sonicpy._native.add_terms cimport AddTerms
from sonicpy._native.cached_rows cimport holds_word
from sonicpy._native.keys cimport word_key
from sonicpy._native.memory cimport zeroed
from sonicpy._native.object_change cimport NOTHING, RAISE, Edit, name
from sonicpy._native.object_record cimport Held, ObjectRecord
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, decode
from sonicpy._native.tails cimport cut_from_tail
from sonicpy._native.term_cache cimport TermCache
from sonicpy._native.terms cimport Terms

from sonicpy._native.varint import DamagedBytes


cdef class CutTerms(AddTerms):
    """Takes words from an object, in lists by IID. The calls are those of AddTerms, up to `finish`; then write
    `blocks`, and delete `deleted_blocks`. A word that no object holds any more waits in the cache, see `take_vanished`.

    Attributes:
        removed: the number of words that the object loses.
        removed_shown: the number of those words that are not hidden.
    """

    cdef int take_term_ids(self, list term_ids) except -1:
        """Begin the edits of terms, and find the cached rows of these."""
        cdef Py_ssize_t number
        cdef Edit *edit
        self.deleted_blocks, self.blocks, self._block_keys = [], [], []
        self.word_keys, self._unknown = [], []
        self._count = len(term_ids)
        self._words = [None] * self._count
        self._counts = self._flags = b"\1" * self._count
        self._generation = self._cache._generation
        self._edits = <Edit *> zeroed(self._count, sizeof(Edit))
        for number in range(self._count):
            edit = &self._edits[number]
            edit.held.term_id = term_ids[number]
            edit.entry = self._cache.numbered(self._bucket, edit.held.term_id)
            if edit.entry != NULL and holds_word(edit.entry):
                name(edit, <const uint8_t *> edit.entry.key + 4, edit.entry.key_size - 4, self._counts_letters)
            else:
                self._unknown.append(number)
        return 0

    cdef list unknown_terms(self):
        """Return the ids of the terms whose words the cache lacks."""
        cdef Py_ssize_t number
        return [self._edits[number].held.term_id for number in self._unknown]

    cdef int take_words(self, dict words) except -1:
        """Take the words of all `unknown_terms`, by id."""
        cdef Py_ssize_t number
        cdef Edit *edit
        cdef bytes word
        for number in self._unknown:
            edit = &self._edits[number]
            word = self._words[number] = words[edit.held.term_id]
            name(edit, <const uint8_t *> <const char *> word, len(word), self._counts_letters)
            edit.entry = NULL
            self.word_keys.append(word_key(self._bucket, word))
        return 0

    cdef int create(self, Edit *edit, bytes key) except -1:
        if not self._skips:
            raise DamagedBytes(f"object {self._iid} holds a word that has no row")
        edit.entry = &self._no_entry
        edit.is_new = True
        return 0

    cdef int link(self, Edit *edit) except -1:
        if not self._skips:
            raise DamagedBytes(f"object {self._iid} holds a word by two numbers")
        edit.step = NOTHING
        return 0

    cdef int link_again(self, Edit *edit, Held *held) except -1:
        edit.step = RAISE
        edit.held = held[0]
        edit.has_row = self.changed = True
        edit.word.df -= 1
        edit.word.hidden_df -= held.hidden
        self.length_change -= held.tf
        self.removed += 1
        self.removed_shown += not held.hidden
        if not edit.word.df:
            self._cache._has_vanished = True
        if not self.is_in_tail(edit):
            self.need_block(edit)
        return 0

    cdef int change_tail(self, Edit *edit) except -1:
        return cut_from_tail(edit.entry, self._iid)

    cdef int change_block(self, Edit *edit, found) except -1:
        cdef Posting postings[BLOCK_POSTINGS + 1]
        cdef int count = 0
        if found is not None:
            count = decode((<tuple> found)[1], postings)
        count = self.without_object(postings, count)
        if count:
            self.blocks.append(((<tuple> found)[0], self.stored(postings, count)))
        else:
            self.deleted_blocks.append((<tuple> found)[0])
        return 0

    cdef int without_object(self, Posting *postings, int count) except -1:
        """Take the object from the postings of a block; return the new number of postings. Raises DamagedBytes if the
        block does not have it.
        """
        cdef int place = 0
        while place < count and postings[place].iid != self._iid:
            place += 1
        if place >= count:
            raise DamagedBytes(f"object {self._iid} is not in the block of postings that it belongs to")
        memmove(&postings[place], &postings[place + 1], (count - place - 1) * sizeof(Posting))
        return count - 1

    cdef ObjectRecord what_is_left(self):
        cdef Py_ssize_t number
        cdef list gone = [
            self._edits[number].word.term_id for number in range(self._count) if self._edits[number].has_row
        ]
        gone.sort()
        return self._record.without(gone)

    cpdef bytes record(self):
        """Return the object's new record, perhaps without terms."""
        return self.what_is_left().pack()

    def left(self) -> list:
        """Return the (term id, tf of the posting) of the terms that the object still holds."""
        cdef ObjectRecord left = self.what_is_left()
        cdef Py_ssize_t step
        return [(left._held[step].term_id, max(left._held[step].tf, 1)) for step in range(left._count)]


def cut_terms(
    uint32_t bucket, uint64_t iid, list words not None, ObjectRecord record not None, TermCache cache not None,
    bint letters, bint skips
) -> CutTerms:
    """Return the change that takes words from an object.

    Args:
        record: the record of the object.
        letters: see AddTerms.
        skips: True: words that the object does not hold are left out; False: they are an error.
    """
    cdef CutTerms change = CutTerms.__new__(CutTerms)
    cdef bytes ones = b"\1" * len(words)
    change.deleted_blocks = []
    change._skips = skips
    change.set_up(bucket, iid, Terms(words, ones, ones), record, 0, cache, False, letters)
    return change


cdef CutTerms begin_cut_terms(
    uint32_t bucket, uint64_t iid, list term_ids, ObjectRecord record, TermCache cache, bint letters
):
    """Return a CutTerms for terms that an object holds according to its record, which must be unpacked. Before
    `take_rows`, call `take_words` if there are any in `unknown_terms`.
    """
    cdef CutTerms change = CutTerms.__new__(CutTerms)
    change._bucket, change._iid = bucket, iid
    change._record, change._cache = record, cache
    change._counts_letters = letters
    change.take_term_ids(term_ids)
    return change
