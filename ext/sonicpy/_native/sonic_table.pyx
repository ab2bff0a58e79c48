"""Computes scores as Sonic does: one for each object and word of the query, in 32-bit arithmetic."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from sonicpy._native.memory cimport grown
from sonicpy._native.object_table cimport ObjectTable
from sonicpy._native.postings cimport PostingList
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple

cdef struct Score:
    int32_t word
    float value
    int32_t visit  # number of the call of `visit` that gave it
    int32_t following  # the object's score for a later word, or -1


cdef struct Chain:  # an object's scores by rising word: the numbers of the first and the last
    int32_t first
    int32_t last


cdef class SonicTable(ObjectTable):
    """Sonic's table: object -> one optional score for each word of the query.

    Args:
        words: the number of words of the query.
        full: the number of objects that make the table full (the window); 0: the table is never full.
    """
    cdef Chain *_chains
    cdef Py_ssize_t _chain_capacity
    cdef Score *_word_scores
    cdef Py_ssize_t _word_score_count, _word_score_capacity
    cdef int32_t _words, _visits
    cdef Py_ssize_t _full

    def __cinit__(self, int words, Py_ssize_t full):
        self._words = words
        self._full = full
        self._chains = <Chain *> grown(NULL, &self._chain_capacity, 256, sizeof(Chain))
        self._word_scores = <Score *> grown(NULL, &self._word_score_capacity, 256, sizeof(Score))

    def __dealloc__(self):
        free(self._chains)
        free(self._word_scores)

    @property
    def is_full(self) -> bool:
        """Whether the table is full, so that no expansions are added any more."""
        return self._full > 0 and self._count >= self._full

    def visit(
        self, int32_t word, PostingList postings not None, Py_ssize_t skipped, float score, Py_ssize_t budget
    ) -> tuple:
        """Set the score of a word for the objects of a postings list, newest first; an earlier score is only lowered.

        Args:
            word: the number of the word in the query.
            postings: the postings of the word, or of its expansion.
            skipped: the number of leading postings, the oldest ones, that do not count.
            score: the score of the word, or of its expansion.
            budget: the most objects to visit, new or not; -1: all.

        Returns:
            (number of objects visited, whether the visit ended early). A visit ends at the first new object that fills
            the table, or that is added to a full table.
        """
        cdef Py_ssize_t number, visits = 0
        self._visits += 1
        for number in range(postings._count - 1, max(skipped, 0) - 1, -1):
            if visits == budget:
                return visits, False
            visits += 1
            if self.give(postings._iids[number], word, score) and self._full and self._count >= self._full:
                return visits, True
        return visits, False

    cdef bint give(self, uint64_t iid, int32_t word, float score) except -1:
        """Set the score of a word for an object, or lower the one it has; return whether the object is new."""
        cdef int32_t number = self.find(iid), at, before = -1
        cdef bint is_new = number < 0
        cdef Chain *chain
        if is_new:
            number = self.append(iid)
            self._chains = <Chain *> grown(self._chains, &self._chain_capacity, self._count, sizeof(Chain))
            self._chains[number] = Chain(-1, -1)
        chain = &self._chains[number]
        at = chain.first
        if chain.last >= 0 and self._word_scores[chain.last].word < word:  # most words come in their order
            before = chain.last
            at = -1
        while at >= 0 and self._word_scores[at].word < word:
            before = at
            at = self._word_scores[at].following
        if at >= 0 and self._word_scores[at].word == word:
            if score < self._word_scores[at].value:
                self._word_scores[at].value = score
                self._word_scores[at].visit = self._visits - 1
            return is_new
        self._word_scores = <Score *> grown(
            self._word_scores, &self._word_score_capacity, self._word_score_count + 1, sizeof(Score)
        )
        self._word_scores[self._word_score_count] = Score(word, score, self._visits - 1, at)
        if before < 0:
            chain.first = <int32_t> self._word_score_count
        else:
            self._word_scores[before].following = <int32_t> self._word_score_count
        if at < 0:
            chain.last = <int32_t> self._word_score_count
        self._word_score_count += 1
        return is_new

    def parts(self, list iids, Py_ssize_t listed_max) -> list:
        """Return the parts of scores in the form of `find.parts`, with the number of the call of `visit`, and a tf of
        0."""
        cdef int32_t number, at
        cdef const Score *score
        cdef Parts parts
        cdef Part *listed = <Part *> malloc((listed_max + 1) * sizeof(Part))
        if listed == NULL:
            raise MemoryError
        out = []
        try:
            for iid in iids:
                memset(&parts, 0, sizeof(parts))
                number = self.find(iid)
                at = -1 if number < 0 else self._chains[number].first
                while at >= 0:
                    score = &self._word_scores[at]
                    add_part(&parts, listed, listed_max, Part(score.visit, 0, score.value / <float> self._words))
                    at = self._word_scores[at].following
                out.append(parts_tuple(&parts, listed))
            return out
        finally:
            free(listed)

    def finish(self, bint all_words) -> None:
        """Score every object: the sum of its scores, divided by the number of words.

        With `all_words`, objects that lack a score are removed one by one; the last object moves into each hole, so
        that the order of equal scores is that of Sonic.
        """
        cdef Py_ssize_t number, remaining = self._count
        cdef int32_t at, words
        cdef float total
        cdef uint32_t *places
        if all_words:
            self.begin_order()
            for number in range(self._count):
                self.pass_filter(number)
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
                    total += self._word_scores[at].value
                    words += 1
                    at = self._word_scores[at].following
                self._scores[number] = <float> (total / <float> self._words)
                if all_words and words < self._words:
                    remaining -= 1
                    self._order[places[number]] = self._order[remaining]
                    places[self._order[remaining]] = places[number]
            if all_words:
                self._ordered = remaining
        finally:
            free(places)


def completion_score(double weight, Py_ssize_t word_bytes, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a completion: weight * 20 / (20 + additional bytes / bytes of the typed word)."""
    cdef float longer = <float> abs(word_bytes - typed_bytes) / <float> typed_bytes
    return <float> (<float> 20.0 / (<float> 20.0 + longer)) * <float> weight


def correction_score(double weight, int distance, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a correction: weight * (1 - distance / bytes of the typed word), at least 0."""
    cdef float share = min(<float> 1.0, <float> distance / <float> typed_bytes)
    return <float> (<float> 1.0 - share) * <float> weight
