"""The common part of the changes by a PUSH, a POP and a FLUSHO: the changed words of an object, each with its row.

A change takes rows and blocks from its caller, and returns the rows and blocks to write. The two kinds are in
add_terms.pyx and remove_terms.pyx.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from sonicpy._native.cached_rows cimport key_of
from sonicpy._native.keys cimport block_key, word_key
from sonicpy._native.memory cimport zeroed
from sonicpy._native.term_rows cimport is_noted


cdef class ObjectChange:
    """The base of changes of an object: the words that one command changes, each with its row."""
    def __cinit__(self):
        self._edits = NULL

    def __dealloc__(self):
        free(self._edits)

    cdef int begin(self, uint32_t bucket, uint64_t iid, list words, bint by_association, bint letters) except -1:
        cdef bytes word
        cdef Py_ssize_t number
        self._bucket = bucket
        self._iid = iid
        self._by_association = by_association
        self._words = words
        self._count = len(words)
        self._block_keys = []
        self.blocks = []
        self._edits = <Edit *> zeroed(self._count, sizeof(Edit))
        for number in range(self._count):
            word = words[number]
            name(&self._edits[number], <const uint8_t *> <const char *> word, len(word), letters)
            self._edits[number].word = &self._edits[number].read
        return 0

    cpdef list term_ids(self):
        """Return the term ids of the changed words."""
        cdef Py_ssize_t number
        self.check_cache()
        return [self._edits[number].word.term_id for number in range(self._count)]

    cpdef list changed_words(self):
        """Return the keys of the words that appeared or vanished, for the table `pending`."""
        cdef Py_ssize_t number
        self.check_cache()
        return [
            key_of(self._edits[number].entry)
            if self._words[number] is None
            else word_key(self._bucket, self._words[number])
            for number in range(self._count)
            if is_noted_now(&self._edits[number]) != self._edits[number].was_noted
        ]

    cdef void count_turned(self) noexcept:
        """Count the words that appeared or vanished, and the change of the number of live words."""
        cdef Py_ssize_t number
        cdef int change
        cdef Edit *edit
        self.live_change = self.turned = 0
        for number in range(self._count):
            edit = &self._edits[number]
            change = <int> is_noted_now(edit) - <int> edit.was_noted
            if change:
                self.turned += 1
                if not edit.is_joint:
                    self.live_change += change

    cdef int check_cache(self) except -1:
        """Raise ValueError if the cache has dropped the rows that `word` points to."""
        return 0

    cdef bint is_in_tail(self, const Edit *edit) noexcept:
        """Return whether the posting of the object belongs in the tail of the word, according to `edit.held`."""
        if self._by_association:
            return edit.held.block == edit.word.position
        return self._iid >= edit.word.position

    cdef int need_block(self, Edit *edit) except -1:
        """Add the full block with the object's posting to the blocks to be read."""
        edit.block = len(self._block_keys)
        self._block_keys.append(block_key(
            self._bucket, edit.word.term_id, <uint32_t> (edit.held.block if self._by_association else self._iid)
        ))
        return 0


cdef inline bint is_noted_now(const Edit *edit) noexcept:
    return is_noted(edit.word, edit.shown, edit.is_joint)
