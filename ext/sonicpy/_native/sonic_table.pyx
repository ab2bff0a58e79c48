"""Sonic's scores (spec chapter 8): one per object and word of the query, in 32 bits."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from sonicpy._native.object_table cimport ObjectTable, check_dead, resized
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, PostingList, decode
from sonicpy._native.score_parts cimport Part, Parts, take_part, told

cdef struct Score:
    int32_t word
    float value
    int32_t visit  # the call of `visit` that gave it
    int32_t following  # the object's score for a later word, or -1


cdef struct Chain:  # numbers of an object's first and last score, by rising word
    int32_t first
    int32_t last


cdef class SonicTable(ObjectTable):
    """Sonic's table: object -> one optional score for each word of the query. Arithmetic is in 32 bits.

    Args:
        words: how many words the query has.
        full: how many objects make the table full (the window); 0: it never is.
    """
    cdef Chain *_chains
    cdef Py_ssize_t _chain_capacity
    cdef Score *_held
    cdef Py_ssize_t _held_count, _held_capacity
    cdef int32_t _words, _visits
    cdef Py_ssize_t _full

    def __cinit__(self, int words, Py_ssize_t full):
        self._words = words
        self._full = full
        self._chain_capacity = self._held_capacity = 256
        self._chains = <Chain *> malloc(self._chain_capacity * sizeof(Chain))
        self._held = <Score *> malloc(self._held_capacity * sizeof(Score))
        if self._chains == NULL or self._held == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._chains)
        free(self._held)

    @property
    def is_full(self) -> bool:
        """Whether the table holds as many objects as it takes before alternates are left out."""
        return self._full > 0 and self._count >= self._full

    def visit(
        self, int32_t word, postings not None, Py_ssize_t dead, float score, Py_ssize_t budget
    ) -> tuple:
        """Give the objects of a list, newest first, a score for a word; a score that is there is only lowered.

        Args:
            postings, dead: as in `Ranker.add`.
            budget: how many objects are visited at the most, new or not; -1: all.

        Returns:
            How many were visited, and whether an object was put into a full table, which ends the visit.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef Posting block[BLOCK_POSTINGS]
        cdef Py_ssize_t number, visits = 0
        cdef PostingList held
        cdef list blocks
        cdef int place
        check_dead(dead)
        self._visits += 1
        if isinstance(postings, PostingList):
            held = postings
            for number in range(held._count - 1, min(dead, held._first_count) - 1, -1):
                if visits == budget:
                    return visits, False
                visits += 1
                if self.give(held._iids[number], word, score) and self._full and self._count >= self._full:
                    return visits, True
            return visits, False
        blocks = postings
        for number in range(len(blocks) - 1, -1, -1):
            for place in range(decode(blocks[number], block) - 1, (dead if number == 0 else 0) - 1, -1):
                if visits == budget:
                    return visits, False
                visits += 1
                if self.give(block[place].iid, word, score) and self._full and self._count >= self._full:
                    return visits, True
        return visits, False

    cdef bint give(self, uint64_t iid, int32_t word, float score) except -1:
        """Note the score and return whether the object is new."""
        cdef int32_t number = self.find(iid), at, before = -1
        cdef bint is_new = number < 0
        cdef Chain *chain
        if is_new:
            number = self.insert(iid)
            if self._count > self._chain_capacity:
                self._chains = <Chain *> resized(self._chains, 2 * self._chain_capacity * sizeof(Chain))
                self._chain_capacity *= 2
            self._chains[number] = Chain(-1, -1)
        chain = &self._chains[number]
        at = chain.first
        if chain.last >= 0 and self._held[chain.last].word < word:  # words mostly come in their order
            before = chain.last
            at = -1
        while at >= 0 and self._held[at].word < word:
            before = at
            at = self._held[at].following
        if at >= 0 and self._held[at].word == word:
            if score < self._held[at].value:
                self._held[at].value = score
                self._held[at].visit = self._visits - 1
            return is_new
        if self._held_count == self._held_capacity:
            self._held = <Score *> resized(self._held, 2 * self._held_capacity * sizeof(Score))
            self._held_capacity *= 2
        self._held[self._held_count] = Score(word, score, self._visits - 1, at)
        if before < 0:
            chain.first = <int32_t> self._held_count
        else:
            self._held[before].following = <int32_t> self._held_count
        if at < 0:
            chain.last = <int32_t> self._held_count
        self._held_count += 1
        return is_new

    def parts(self, list iids, Py_ssize_t most) -> list:
        """Return, for each of some objects, what its score is made of: as `Ranker.parts`, where the number is that of
        the call of `visit`, and tf is always 0."""
        cdef int32_t number, at
        cdef Parts parts
        cdef Part *held = <Part *> malloc((most + 1) * sizeof(Part))
        if held == NULL:
            raise MemoryError
        out = []
        try:
            for iid in iids:
                memset(&parts, 0, sizeof(parts))
                number = self.find(iid)
                at = -1 if number < 0 else self._chains[number].first
                while at >= 0:
                    take_part(
                        &parts, held, most, Part(self._held[at].visit, 0, self._held[at].value / <float> self._words)
                    )
                    at = self._held[at].following
                out.append(told(&parts, held))
            return out
        finally:
            free(held)

    def finish(self, bint all_words) -> None:
        """Score: the sum over the words, divided by their number.

        With `all_words`, objects that lack a score leave the table one by one; each hole is filled by the then last
        object, so that equal scores change places as they do in Sonic.
        """
        cdef Py_ssize_t number, kept = self._count
        cdef int32_t at, words
        cdef float total
        cdef uint32_t *places
        if all_words:
            self.begin_order()
            for number in range(self._count):
                self.keep(number)
        places = <uint32_t *> malloc((self._count + 1) * sizeof(uint32_t))
        if places == NULL:
            raise MemoryError
        try:
            for number in range(self._count):
                places[number] = <uint32_t> number
            for number in range(self._count):
                total = 0.0
                words = 0
                at = self._chains[number].first
                while at >= 0:
                    total += self._held[at].value
                    words += 1
                    at = self._held[at].following
                self._scores[number] = <float> (total / <float> self._words)
                if all_words and words < self._words:
                    kept -= 1
                    self._order[places[number]] = self._order[kept]
                    places[self._order[kept]] = places[number]
            if all_words:
                self._ordered = kept
        finally:
            free(places)


def completion_score(double weight, Py_ssize_t word_bytes, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a completion: weight * 20 / (20 + share of bytes that the completion is longer)."""
    cdef float longer = <float> abs(word_bytes - typed_bytes) / <float> typed_bytes
    return <float> (<float> 20.0 / (<float> 20.0 + longer)) * <float> weight


def correction_score(double weight, int distance, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a correction: weight * (1 - distance / bytes of the typed word, at the most 1)."""
    cdef float share = min(<float> 1.0, <float> distance / <float> typed_bytes)
    return <float> (<float> 1.0 - share) * <float> weight
