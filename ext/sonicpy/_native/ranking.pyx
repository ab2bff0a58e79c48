"""Which objects answer a query, and in which order: postings in, IIDs out, by BM25 or newest first.

A query is a row of term scorers: a postings list each, of a term or of an expansion of it, with the weight of its
postings. The lists are evaluated one after the other (term at a time): every posting goes to the accumulator of its
object in a table, the objects are scored, and the top k are selected. IIDs in a list need not be sorted (an old object
that gains a term is at the head of that term's list). Where all lists are sorted, as in a bucket whose objects never
change, the lists are walked instead, and no table is filled. No Python object is made for a posting.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from sonicpy._native.bm25 cimport PackedLengths, lengths_of, norms_of, packed_length, part_of_score
from sonicpy._native.memory cimport grown
from sonicpy._native.object_table cimport SPARE_OBJECTS_MAX, SPARES, ObjectTable, check_dead
from sonicpy._native.plan cimport Plan, PlannedList
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, PostingList, decode
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple
from sonicpy._native.top_k cimport (
    COMPLETED,
    CORRECTED,
    EXACT,
    FULL,
    Kind,
    ScoredObject,
    TopK,
    begin_top,
    end_top,
    page_start,
)
from sonicpy._native.walking cimport K_MAX, LISTS_MAX, PostingsLists, TermScorer, walk


cdef struct Accumulator:  # of an object
    double matched  # weight of its terms
    uint32_t required  # number of its required terms
    int32_t last_term  # the term that matched last: a term counts once, also if an expansion of it matches


cdef struct Match:  # a posting that counts
    uint32_t object  # number in the table
    uint32_t tf


cpdef double shown_score(int whole, int kind, double score, double ceiling, double fraction_max) noexcept nogil:
    """Return a score as users see it: `whole` minus the kind, plus the share of the ceiling, at most `fraction_max`."""
    cdef double share = score / ceiling if ceiling > 0 else 0.0
    return (whole - kind) + (share if share < fraction_max else fraction_max)


cdef struct Buffers:  # of a ranker, passed on from query to query
    Accumulator *accumulators
    Py_ssize_t accumulator_capacity
    Match *matches
    Py_ssize_t match_capacity
    Posting *postings
    Py_ssize_t posting_capacity
    TermScorer *scorers
    Py_ssize_t scorer_capacity


cdef Buffers spares[SPARES]
cdef int spare_count = 0


cdef class Ranker(ObjectTable):
    """The objects that hold some terms of a query, or expansions of them."""
    cdef Buffers _buffers
    cdef list _lists  # a PostingList for each scorer; None: its IIDs or tfs are too large for one
    cdef Accumulator _first  # the accumulator of every object, while only the first list is in the table
    cdef Py_ssize_t _posting_count, _match_count, _scorer_count
    cdef Py_ssize_t _copied  # number of scorers whose postings were copied to the buffer
    cdef Py_ssize_t _accumulated  # number of scorers whose objects are in the table
    cdef bint _is_sorted  # every list is sorted by IID, and no weight is below zero
    cdef bint _is_unscored  # `bm25` was called, and the objects of the table have no scores yet
    cdef object _lengths
    cdef double _average, _k1, _b
    cdef int32_t _terms
    cdef uint32_t _required
    cdef double _total_weight, _possible_weight
    cdef readonly double ceiling  # no object's score by `bm25` is above it

    def __cinit__(self):
        global spare_count
        if spare_count:
            spare_count -= 1
            self._buffers = spares[spare_count]
        self._lists = []
        self._is_sorted = True

    def __dealloc__(self):
        global spare_count
        cdef Buffers *buffers = &self._buffers
        cdef Py_ssize_t largest = max(
            max(buffers.accumulator_capacity, buffers.match_capacity),
            max(buffers.posting_capacity, buffers.scorer_capacity),
        )
        if spare_count < SPARES and largest <= SPARE_OBJECTS_MAX:
            spares[spare_count] = buffers[0]
            spare_count += 1
            return
        free(buffers.accumulators)
        free(buffers.matches)
        free(buffers.postings)
        free(buffers.scorers)

    def __len__(self) -> int:
        self.accumulate_all()
        return self._count if self._order == NULL else self._ordered

    def add(
        self, postings not None, Py_ssize_t dead, double weight, *, bint required=False, bint inserts=True
    ) -> None:
        """Add the postings of the next term.

        Args:
            postings: a PostingList, or its blocks, oldest first; no object has two postings in them.
            dead: number of postings at the head of the first block that do not count.
            weight: of the term, for example its inverse document frequency.
            required: objects without this term do not answer.
            inserts: the term brings objects into the table; else it only adds to the scores of the objects there, and
                an object without it loses nothing.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: `dead` is negative.
        """
        self.add_term(postings, dead, weight, required, inserts)

    def add_expansion(self, postings not None, Py_ssize_t dead, double weight, bint completed) -> None:
        """Add the postings of an expansion of the term added last. An object that holds the term, or an expansion added
        earlier, counts only the first of them.

        Args:
            weight: as in `add`, already lowered.
            completed: the expansion completes the term; else it corrects it.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        self.add_postings(postings, dead, weight, COMPLETED if completed else CORRECTED, False, True)

    def add_lists(self, Plan plan not None, list postings not None) -> None:
        """Add the lists of a plan, in its order.

        Args:
            postings: of each of `plan.rows()`, a PostingList or its blocks, oldest first.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: there are more or fewer postings than rows.
        """
        cdef Py_ssize_t number = 0, dead
        cdef PlannedList one
        cdef list none = []
        for one in plan.lists:
            number += one.row is not None
        if number != len(postings):
            raise ValueError(f"{number} rows need as many postings, not {len(postings)}")
        number = 0
        for one in plan.lists:
            dead, taken = 0, none
            if one.row is not None:
                dead, taken = <Py_ssize_t> one.row._word.dead, postings[number]
                number += 1
            if one._kind == EXACT:
                self.add_term(taken, dead, one.weight, one.required, one.inserts)
            else:
                self.add_postings(taken, dead, one.weight, one._kind, False, True)

    cdef int add_term(self, postings, Py_ssize_t dead, double weight, bint required, bint inserts) except -1:
        self._terms += 1
        self._required += required
        self._possible_weight += weight
        if inserts:
            self._total_weight += weight
        return self.add_postings(postings, dead, weight, EXACT, required, inserts)

    cdef int add_postings(
        self, postings, Py_ssize_t dead, double weight, Kind kind, bint required, bint inserts
    ) except -1:
        """Add a scorer. Its objects go into the table only when they are needed."""
        cdef Buffers *buffers = &self._buffers
        cdef Py_ssize_t begin = self._posting_count, end = begin, number, skipped = 0
        cdef list blocks
        cdef PostingList decoded = postings if isinstance(postings, PostingList) else PostingList.of(<list?> postings)
        check_dead(dead)
        if self._scorer_count == buffers.scorer_capacity:
            buffers.scorers = <TermScorer *> grown(
                buffers.scorers, &buffers.scorer_capacity, self._scorer_count + 16, sizeof(TermScorer)
            )
        self._lists.append(decoded)
        if decoded is not None:
            end += decoded._count
            skipped = min(dead, decoded._first_count)
            self._is_sorted &= decoded._is_sorted and weight >= 0
            buffers.scorers[self._scorer_count] = TermScorer(
                begin + skipped, end, 0, decoded._iids + skipped, decoded._tfs + skipped, decoded._tf_max, weight,
                self._terms, kind, required, inserts,
            )  # fmt: skip
        else:
            blocks = postings
            self.reserve_postings(begin + len(blocks) * BLOCK_POSTINGS)
            for number in range(len(blocks)):
                end += decode(blocks[number], buffers.postings + end)
                if number == 0:
                    skipped = min(dead, end - begin)
            self._is_sorted = False
            buffers.scorers[self._scorer_count] = TermScorer(
                begin + skipped, end, 0, NULL, NULL, 0, weight, self._terms, kind, required, inserts
            )
        self._scorer_count += 1
        self._posting_count = end
        return 0

    cdef int reserve_postings(self, Py_ssize_t count) except -1:
        cdef Buffers *buffers = &self._buffers
        buffers.postings = <Posting *> grown(buffers.postings, &buffers.posting_capacity, count, sizeof(Posting))
        return 0

    cdef int copy_lists(self) except -1:
        """Copy the postings of all lists to the buffer, which fills the table."""
        cdef PostingList decoded
        self.reserve_postings(self._posting_count)
        while self._copied < self._scorer_count:
            decoded = self._lists[self._copied]
            if decoded is not None:
                decoded.copy(self._buffers.postings + self._buffers.scorers[self._copied].end - decoded._count)
            self._copied += 1
        return 0

    cdef int accumulate_all(self) except -1:
        """Put the objects of all lists into the table, and score them if `bm25` was called."""
        self.copy_lists()
        while self._accumulated < self._scorer_count:
            self.accumulate_list(&self._buffers.scorers[self._accumulated])
            self._accumulated += 1
        if self._is_unscored:
            self._is_unscored = False
            self.score_all()
        return 0

    cdef int accumulate_list(self, TermScorer *scorer) except -1:
        cdef Buffers *buffers = &self._buffers
        cdef Py_ssize_t place, count = scorer.end - scorer.begin
        cdef Py_ssize_t objects = count if scorer.inserts else 0
        cdef bint is_first = self._count == 0 and scorer.inserts
        if self._is_unhashed and self._count:
            self.hash_all()
            self.fill_accumulators()
        self.reserve(objects)
        buffers.accumulators = <Accumulator *> grown(
            buffers.accumulators, &buffers.accumulator_capacity, self._count + objects, sizeof(Accumulator)
        )
        buffers.matches = <Match *> grown(
            buffers.matches, &buffers.match_capacity, self._match_count + count, sizeof(Match)
        )
        for place in range(scorer.end - 1, scorer.begin - 1, -1):
            if is_first:
                self.accumulate_first(&buffers.postings[place], scorer.kind)
            else:
                self.accumulate(&buffers.postings[place], scorer)
        if is_first:
            self._is_unhashed = True
            self._first = Accumulator(0.0, scorer.required, scorer.term)
        scorer.end_match = self._match_count
        return 0

    cdef void fill_accumulators(self) noexcept nogil:
        """Fill in the accumulators of the first list, which are needed only with a second list."""
        cdef Py_ssize_t number
        for number in range(self._count):
            self._buffers.accumulators[number] = self._first

    cdef inline void accumulate_first(self, const Posting *posting, Kind kind) noexcept nogil:
        """Accumulate a posting of the first list: its object is not in the table, since a list has no object twice."""
        cdef int32_t number = <int32_t> self._count
        self._iids[number] = posting.iid
        self._scores[number] = 0.0
        self._kinds[number] = kind
        self._buffers.matches[self._match_count] = Match(<uint32_t> number, posting.tf)
        self._match_count += 1
        self._count += 1

    cdef inline void accumulate(self, const Posting *posting, const TermScorer *scorer) noexcept nogil:
        cdef int32_t number = self.find(posting.iid)
        cdef Accumulator *found
        if number < 0:
            if not scorer.inserts:
                return
            number = self.append_reserved(posting.iid)
            self._buffers.accumulators[number] = Accumulator(0.0, 0, 0)
            self._kinds[number] = scorer.kind
        found = &self._buffers.accumulators[number]
        if found.last_term == scorer.term:
            return
        found.last_term = scorer.term
        found.required += scorer.required
        if scorer.inserts and scorer.kind < self._kinds[number]:
            self._kinds[number] = scorer.kind
        self._buffers.matches[self._match_count] = Match(<uint32_t> number, posting.tf)
        self._match_count += 1

    def bm25(self, lengths not None, double average, double k1, double b) -> None:
        """Score by BM25, times the share of the query's weight that the object holds; an object that holds all of it
        comes before all others.

        Args:
            lengths: of all objects by IID, one byte each (`pack_length`), as bytes or a bytearray that does not change
                while this ranker is used; an object beyond its end has length 0.
            average: mean length of the bucket's objects, in tokens.
            k1, b: the constants of the formula.
        """
        lengths_of(lengths)
        self._lengths, self._average, self._k1, self._b = lengths, average, k1, b
        self.ceiling = self._possible_weight * (k1 + 1.0)
        self._is_unscored = True

    cdef int score_all(self) except -1:
        """Score the objects of the table."""
        cdef PackedLengths lengths = lengths_of(self._lengths)
        cdef const double *norms = norms_of(self._average, self._k1, self._b)
        cdef double k1 = self._k1, weight
        cdef Py_ssize_t number, step = 0
        cdef Accumulator *found = self._buffers.accumulators
        cdef TermScorer *scorer
        cdef Match match
        if self._scorer_count == 1:  # every object has the whole weight and all required terms
            weight = self._buffers.scorers[0].weight
            for number in range(self._count):
                self._scores[number] = part_of_score(
                    weight, self._buffers.matches[number].tf, norms[packed_length(&lengths, self._iids[number])], k1
                )
            if self._total_weight > 0:
                memset(self._kinds, FULL, self._count)
            return 0
        if self._is_unhashed:
            self.fill_accumulators()
        for number in range(self._scorer_count):
            scorer = &self._buffers.scorers[number]
            while step < scorer.end_match:
                match = self._buffers.matches[step]
                self._scores[match.object] += part_of_score(
                    scorer.weight, match.tf, norms[packed_length(&lengths, self._iids[match.object])], k1
                )
                if scorer.inserts:
                    found[match.object].matched += scorer.weight
                step += 1
        if self._total_weight > 0:
            for number in range(self._count):
                # Equal only if the same weights were added in the same order: an expansion weighs less.
                if found[number].matched == self._total_weight:
                    self._kinds[number] = FULL
                else:
                    self._scores[number] *= found[number].matched / self._total_weight
        if self._required:
            self.begin_order()
            for number in range(self._count):
                if found[number].required == self._required:
                    self.pass_filter(number)
        return 0

    def best_shown(self, uint64_t offset, uint64_t limit, int whole, double fraction_max) -> tuple:
        """Return the IIDs of the same objects as `best`, and for each its `shown_score`."""
        cdef TopK top
        cdef ScoredObject *object
        cdef list iids = [], shown = []
        cdef Py_ssize_t place
        self.select(offset, limit, &top)
        try:
            for place in range(page_start(&top, offset), top.size):
                object = &top.objects[place]
                iids.append(object.iid)
                shown.append(shown_score(whole, object.kind, object.score, self.ceiling, fraction_max))
            return iids, shown
        finally:
            end_top(&top)

    cdef int select(self, uint64_t offset, uint64_t limit, TopK *top) except -1:
        cdef PostingsLists lists
        if not self.can_walk(offset, limit):
            self.accumulate_all()
            return ObjectTable.select(self, offset, limit, top)
        lists = PostingsLists(
            self._buffers.scorers, self._scorer_count, self._total_weight, self._required,
            lengths_of(self._lengths), norms_of(self._average, self._k1, self._b), self._k1,
        )  # fmt: skip
        begin_top(top, <Py_ssize_t> (offset + limit))
        walk(&lists, top)
        return 0

    cdef bint can_walk(self, uint64_t offset, uint64_t limit) noexcept nogil:
        """Return whether the lists can be walked: they are sorted and few, and nothing is in the table yet."""
        return (
            self._is_unscored
            and self._is_sorted
            and not self._accumulated
            and self._scorer_count <= LISTS_MAX
            and offset <= K_MAX
            and limit <= K_MAX
        )

    def parts(
        self, list iids, Py_ssize_t listed_max, lengths not None, double average, double k1, double b
    ) -> list:
        """Return, for each of some objects, what its score by `bm25` with the same arguments is made of.

        Args:
            iids: of the objects.
            listed_max: at most `listed_max` parts of each object are listed one by one, the largest ones.

        Returns:
            ([(number of the list, in the order in which they were added, tf, part of the score)], number of other
            parts, their sum).
        """
        cdef const double *norms = norms_of(average, k1, b)
        cdef PackedLengths packed = lengths_of(lengths)
        cdef double share, norm
        cdef Py_ssize_t number, step = 0, place, count = len(iids)
        cdef int32_t object
        cdef TermScorer *scorer
        cdef Match match
        self.accumulate_all()
        cdef int32_t *places = <int32_t *> malloc((self._count + 1) * sizeof(int32_t))
        cdef Parts *parts = <Parts *> calloc(count + 1, sizeof(Parts))
        cdef Part *listed = <Part *> malloc((count * listed_max + 1) * sizeof(Part))
        try:
            if places == NULL or parts == NULL or listed == NULL:
                raise MemoryError
            memset(places, 0xFF, self._count * sizeof(int32_t))
            for place in range(count):
                object = self.find(iids[place])
                if object >= 0:
                    places[object] = <int32_t> place
            for number in range(self._scorer_count):
                scorer = &self._buffers.scorers[number]
                while step < scorer.end_match:
                    match = self._buffers.matches[step]
                    step += 1
                    place = places[match.object]
                    if place < 0:
                        continue
                    share = 1.0
                    if self._total_weight > 0 and self._scorer_count > 1:
                        share = self._buffers.accumulators[match.object].matched / self._total_weight
                    norm = norms[packed_length(&packed, self._iids[match.object])]
                    add_part(&parts[place], listed + place * listed_max, listed_max, Part(
                        number, match.tf, share * part_of_score(scorer.weight, match.tf, norm, k1)
                    ))
            return [parts_tuple(&parts[place], listed + place * listed_max) for place in range(count)]
        finally:
            free(places)
            free(parts)
            free(listed)

    def newest(self) -> None:
        """Select the objects that hold every term or an expansion of it, in the order in which they were found."""
        cdef Py_ssize_t number
        cdef Accumulator *found
        self.accumulate_all()
        found = self._buffers.accumulators
        for number in range(self._count):
            found[number].matched = 0
            self._kinds[number] = EXACT
        for number in range(self._match_count):
            found[self._buffers.matches[number].object].matched += 1
        self.begin_order()
        for number in range(self._count):
            if found[number].matched == self._terms:
                self.pass_filter(number)
