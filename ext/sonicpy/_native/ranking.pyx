"""Which objects answer a query, and in which order: postings in, IIDs out, by BM25 or newest first.

The postings of a query's terms are gathered into a table of objects, scored, and the best are selected. IIDs in a list
need not be sorted (an old object that gains a term stands at that term's head); where those of every list are, as in a
bucket whose objects never change, the best are found by walking the lists, and there is no table. No Python object is
made for a posting.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from sonicpy._native.best cimport Best, begin_best, end_best
from sonicpy._native.bm25 cimport PackedLengths, lengths_of, norms_of, packed_length, part_of_score
from sonicpy._native.object_table cimport (
    COMPLETED,
    CORRECTED,
    EXACT,
    FULL,
    SPARE_OBJECTS_MAX,
    SPARES,
    Kind,
    ObjectTable,
    check_dead,
    grown,
)
from sonicpy._native.plan cimport Plan, PlannedList
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, PostingList, decode
from sonicpy._native.score_parts cimport Part, Parts, take_part, told
from sonicpy._native.walking cimport BEST_MAX, WALKED_MAX, Lists, Run, walk

cdef struct Found:
    double matched  # weight of the terms found in the object
    uint32_t required  # how many required terms were found
    int32_t last_term  # the term that touched it last: a term counts once


cdef struct Hit:
    uint32_t object
    uint32_t tf


cpdef double shown_score(int whole, int kind, double score, double ceiling, double fraction_max) noexcept nogil:
    """Return a score as users see it: `whole` less the kind, and the share of the ceiling, at most `fraction_max`."""
    cdef double share = score / ceiling if ceiling > 0 else 0.0
    return (whole - kind) + (share if share < fraction_max else fraction_max)


cdef struct Notes:  # memory of a ranker, handed on from query to query
    Found *found
    Py_ssize_t found_capacity
    Hit *hits
    Py_ssize_t hit_capacity
    Posting *postings
    Py_ssize_t posting_capacity
    Run *runs
    Py_ssize_t run_capacity


cdef Notes spare_notes[SPARES]
cdef int spare_notes_count = 0


cdef class Ranker(ObjectTable):
    """The objects that hold some of a query's terms, or words that stand for them."""
    cdef Notes _notes
    cdef list _lists  # of each run; None: its postings are too large for one
    cdef Found _first  # of every object of the first list, while it is the only one
    cdef Py_ssize_t _posting_count, _hit_count, _run_count
    cdef Py_ssize_t _copied  # runs whose postings stand beside each other
    cdef Py_ssize_t _gathered  # runs whose objects are in the table
    cdef bint _is_sorted  # every list is, by IID, and no weight is below zero
    cdef bint _is_unscored  # `bm25` was asked for, and what is in the table has no scores yet
    cdef object _lengths
    cdef double _average, _k1, _b
    cdef int32_t _terms
    cdef uint32_t _required
    cdef double _total_weight, _possible_weight
    cdef readonly double ceiling  # no object's score by `bm25` is above it

    def __cinit__(self):
        global spare_notes_count
        if spare_notes_count:
            spare_notes_count -= 1
            self._notes = spare_notes[spare_notes_count]
        self._lists = []
        self._is_sorted = True

    def __dealloc__(self):
        global spare_notes_count
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t largest = max(
            max(notes.found_capacity, notes.hit_capacity), max(notes.posting_capacity, notes.run_capacity)
        )
        if spare_notes_count < SPARES and largest <= SPARE_OBJECTS_MAX:
            spare_notes[spare_notes_count] = notes[0]
            spare_notes_count += 1
            return
        free(notes.found)
        free(notes.hits)
        free(notes.postings)
        free(notes.runs)

    def __len__(self) -> int:
        self.gather_all()
        return self._count if self._order == NULL else self._ordered

    def add(
        self, postings not None, Py_ssize_t dead, double weight, *, bint required=False, bint inserts=True
    ) -> None:
        """Add the postings of the next term.

        Args:
            postings: a PostingList, or its blocks, oldest first; no object stands in them twice.
            dead: how many postings at the head of the first block do not count.
            weight: what the term counts for, for example its inverse document frequency.
            required: objects without this term will not answer.
            inserts: the term brings objects into the table; else it only adds to the score of those already there,
                and an object without it loses nothing.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: `dead` is negative.
        """
        self.add_term(postings, dead, weight, required, inserts)

    def add_alternate(self, postings not None, Py_ssize_t dead, double weight, bint completed) -> None:
        """Add the postings of a word that stands for the term added last; objects that hold the term, or were found
        by an alternate added before, keep that.

        Args:
            weight: as in `add`, already lowered.
            completed: the word begins with the term; else it corrects it.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        self.note_run(postings, dead, weight, COMPLETED if completed else CORRECTED, False, True)

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
                self.note_run(taken, dead, one.weight, one._kind, False, True)

    cdef int add_term(self, postings, Py_ssize_t dead, double weight, bint required, bint inserts) except -1:
        self._terms += 1
        self._required += required
        self._possible_weight += weight
        if inserts:
            self._total_weight += weight
        return self.note_run(postings, dead, weight, EXACT, required, inserts)

    cdef int note_run(
        self, postings, Py_ssize_t dead, double weight, Kind kind, bint required, bint inserts
    ) except -1:
        """Take the postings of a list. Which objects they make is seen to once somebody asks."""
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t begin = self._posting_count, end = begin, number, skipped = 0
        cdef list blocks
        cdef PostingList held = postings if isinstance(postings, PostingList) else PostingList.of(<list?> postings)
        check_dead(dead)
        if self._run_count == notes.run_capacity:
            notes.runs = <Run *> grown(notes.runs, &notes.run_capacity, self._run_count + 16, sizeof(Run))
        self._lists.append(held)
        if held is not None:
            end += held._count
            skipped = min(dead, held._first_count)
            self._is_sorted &= held._is_sorted and weight >= 0
            notes.runs[self._run_count] = Run(
                begin + skipped, end, 0, held._iids + skipped, held._tfs + skipped, held._tf_max, weight, self._terms,
                kind, required, inserts,
            )  # fmt: skip
        else:
            blocks = postings
            self.make_room_for_postings(begin + len(blocks) * BLOCK_POSTINGS)
            for number in range(len(blocks)):
                end += decode(blocks[number], notes.postings + end)
                if number == 0:
                    skipped = min(dead, end - begin)
            self._is_sorted = False
            notes.runs[self._run_count] = Run(
                begin + skipped, end, 0, NULL, NULL, 0, weight, self._terms, kind, required, inserts
            )
        self._run_count += 1
        self._posting_count = end
        return 0

    cdef int make_room_for_postings(self, Py_ssize_t most) except -1:
        cdef Notes *notes = &self._notes
        if most > notes.posting_capacity:
            notes.postings = <Posting *> grown(notes.postings, &notes.posting_capacity, most, sizeof(Posting))
        return 0

    cdef int copy_lists(self) except -1:
        """Put the postings of all lists beside each other, for the table."""
        cdef PostingList held
        self.make_room_for_postings(self._posting_count)
        while self._copied < self._run_count:
            held = self._lists[self._copied]
            if held is not None:
                held.copy(self._notes.postings + self._notes.runs[self._copied].end - held._count)
            self._copied += 1
        return 0

    cdef int gather_all(self) except -1:
        """Put the objects of all runs into the table, and score them if that was asked for."""
        self.copy_lists()
        while self._gathered < self._run_count:
            self.gather(&self._notes.runs[self._gathered])
            self._gathered += 1
        if self._is_unscored:
            self._is_unscored = False
            self.score_all()
        return 0

    cdef int gather(self, Run *run) except -1:
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t place, most = run.end - run.begin
        cdef Py_ssize_t objects = most if run.inserts else 0
        cdef bint is_first = self._count == 0 and run.inserts
        if self._is_unhashed and self._count:
            self.hash_all()
            self.note_first()
        self.make_room(objects)
        if self._count + objects > notes.found_capacity:
            notes.found = <Found *> grown(notes.found, &notes.found_capacity, self._count + objects, sizeof(Found))
        if self._hit_count + most > notes.hit_capacity:
            notes.hits = <Hit *> grown(notes.hits, &notes.hit_capacity, self._hit_count + most, sizeof(Hit))
        for place in range(run.end - 1, run.begin - 1, -1):
            if is_first:
                self.take_first(&notes.postings[place], run.kind)
            else:
                self.take(&notes.postings[place], run)
        if is_first:
            self._is_unhashed = True
            self._first = Found(0.0, run.required, run.term)
        run.end_hit = self._hit_count
        return 0

    cdef void note_first(self) noexcept nogil:
        """Note of the objects of the first list what a second list, or scores over several, have to know."""
        cdef Py_ssize_t number
        for number in range(self._count):
            self._notes.found[number] = self._first

    cdef inline void take_first(self, const Posting *posting, Kind kind) noexcept nogil:
        """Take a posting of the first list: an object stands in a list once, so none of them is there yet."""
        cdef int32_t number = <int32_t> self._count
        self._iids[number] = posting.iid
        self._scores[number] = 0.0
        self._kinds[number] = kind
        self._notes.hits[self._hit_count] = Hit(<uint32_t> number, posting.tf)
        self._hit_count += 1
        self._count += 1

    cdef inline void take(self, const Posting *posting, const Run *run) noexcept nogil:
        cdef int32_t number = self.find(posting.iid)
        cdef Found *found
        if number < 0:
            if not run.inserts:
                return
            number = self.put(posting.iid)
            self._notes.found[number] = Found(0.0, 0, 0)
            self._kinds[number] = run.kind
        found = &self._notes.found[number]
        if found.last_term == run.term:
            return
        found.last_term = run.term
        found.required += run.required
        if run.inserts and run.kind < self._kinds[number]:
            self._kinds[number] = run.kind
        self._notes.hits[self._hit_count] = Hit(<uint32_t> number, posting.tf)
        self._hit_count += 1

    def bm25(self, lengths not None, double average, double k1, double b) -> None:
        """Score by BM25, scaled by the share of the query's weight that the object holds; who holds all of it comes
        before all others.

        Args:
            lengths: of all objects by IID, one byte each (`pack_length`), as bytes or a bytearray that stays as it is
                while this ranker is asked; those beyond its end count as zero.
            average: mean length of the bucket's objects.
            k1, b: the constants of the formula.
        """
        lengths_of(lengths)
        self._lengths, self._average, self._k1, self._b = lengths, average, k1, b
        self.ceiling = self._possible_weight * (k1 + 1.0)
        self._is_unscored = True

    cdef int score_all(self) except -1:
        """Score what is in the table."""
        cdef PackedLengths lengths = lengths_of(self._lengths)
        cdef const double *norms = norms_of(self._average, self._k1, self._b)
        cdef double k1 = self._k1, weight
        cdef Py_ssize_t number, step = 0
        cdef Found *found = self._notes.found
        cdef Run *run
        cdef Hit hit
        if self._run_count == 1:  # every object has the whole weight, and whatever is required
            weight = self._notes.runs[0].weight
            for number in range(self._count):
                self._scores[number] = part_of_score(
                    weight, self._notes.hits[number].tf, norms[packed_length(&lengths, self._iids[number])], k1
                )
            if self._total_weight > 0:
                memset(self._kinds, FULL, self._count)
            return 0
        if self._is_unhashed:
            self.note_first()
        for number in range(self._run_count):
            run = &self._notes.runs[number]
            while step < run.end_hit:
                hit = self._notes.hits[step]
                self._scores[hit.object] += part_of_score(
                    run.weight, hit.tf, norms[packed_length(&lengths, self._iids[hit.object])], k1
                )
                if run.inserts:
                    found[hit.object].matched += run.weight
                step += 1
        if self._total_weight > 0:
            for number in range(self._count):
                # Equal only if the same weights were added in the same order: an alternate weighs less.
                if found[number].matched == self._total_weight:
                    self._kinds[number] = FULL
                else:
                    self._scores[number] *= found[number].matched / self._total_weight
        if self._required:
            self.begin_order()
            for number in range(self._count):
                if found[number].required == self._required:
                    self.keep(number)
        return 0

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of the objects from place `offset` on, at most `limit`: best first, equals as they came."""
        cdef Best best
        cdef list out = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            self.gather_all()
            return ObjectTable.best(self, offset, limit)
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                out.append(best.chosen[place].iid)
        finally:
            end_best(&best)
        return out

    def best_scored(self, uint64_t offset, uint64_t limit) -> list:
        """Return (IID, kind, score) of the same objects.

        The kind, which is compared before the score, is 0 for an object that holds every word as it was typed, 1 for
        some of the words, 2 for completions, 3 for corrections.
        """
        cdef Best best
        cdef list out = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            self.gather_all()
            return ObjectTable.best_scored(self, offset, limit)
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                out.append((best.chosen[place].iid, best.chosen[place].kind, best.chosen[place].score))
        finally:
            end_best(&best)
        return out

    def best_shown(self, uint64_t offset, uint64_t limit, int whole, double fraction_max) -> tuple:
        """Return the IIDs of the same objects, and their scores as users see them: `whole` less the kind, and the share
        of the ceiling as a fraction, `fraction_max` at the most."""
        cdef Best best
        cdef list iids = [], shown = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            for iid, kind, score in self.best_scored(offset, limit):
                iids.append(iid)
                shown.append(shown_score(whole, kind, score, self.ceiling, fraction_max))
            return iids, shown
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                iids.append(best.chosen[place].iid)
                shown.append(shown_score(
                    whole, best.chosen[place].kind, best.chosen[place].score, self.ceiling, fraction_max
                ))
        finally:
            end_best(&best)
        return iids, shown

    cdef bint walks(self, uint64_t offset, uint64_t limit) noexcept nogil:
        """Whether the best are found by walking the lists: these are sorted and few, and nothing is in the table."""
        return (
            self._is_unscored
            and self._is_sorted
            and not self._gathered
            and self._run_count <= WALKED_MAX
            and offset <= BEST_MAX
            and limit <= BEST_MAX
        )

    cdef int walk(self, Best *best) except -1:
        """Put the best of all objects in order, without a table."""
        cdef Lists lists = Lists(
            self._notes.runs, self._run_count, self._total_weight, self._required,
            lengths_of(self._lengths), norms_of(self._average, self._k1, self._b), self._k1,
        )  # fmt: skip
        walk(&lists, best)
        return 0

    def parts(
        self, list iids, Py_ssize_t most, lengths not None, double average, double k1, double b
    ) -> list:
        """Return, for each of some objects, what its score by `bm25` with the same arguments is made of.

        Args:
            most: so many parts of each object, the largest ones, are told one by one.

        Returns:
            ([(number of the list, in the order in which they were added, tf, part of the score)], how many parts more,
            their sum).
        """
        cdef const double *norms = norms_of(average, k1, b)
        cdef PackedLengths held_lengths = lengths_of(lengths)
        cdef double share, norm
        cdef Py_ssize_t number, step = 0, place, count = len(iids)
        cdef int32_t object
        cdef Run *run
        cdef Hit hit
        self.gather_all()
        cdef int32_t *places = <int32_t *> malloc((self._count + 1) * sizeof(int32_t))
        cdef Parts *parts = <Parts *> calloc(count + 1, sizeof(Parts))
        cdef Part *held = <Part *> malloc((count * most + 1) * sizeof(Part))
        try:
            if places == NULL or parts == NULL or held == NULL:
                raise MemoryError
            memset(places, 0xFF, self._count * sizeof(int32_t))
            for place in range(count):
                object = self.find(iids[place])
                if object >= 0:
                    places[object] = <int32_t> place
            for number in range(self._run_count):
                run = &self._notes.runs[number]
                while step < run.end_hit:
                    hit = self._notes.hits[step]
                    step += 1
                    place = places[hit.object]
                    if place < 0:
                        continue
                    share = 1.0
                    if self._total_weight > 0 and self._run_count > 1:
                        share = self._notes.found[hit.object].matched / self._total_weight
                    norm = norms[packed_length(&held_lengths, self._iids[hit.object])]
                    take_part(&parts[place], held + place * most, most, Part(
                        number, hit.tf, share * part_of_score(run.weight, hit.tf, norm, k1)
                    ))
            return [told(&parts[place], held + place * most) for place in range(count)]
        finally:
            free(places)
            free(parts)
            free(held)

    def newest(self) -> None:
        """Keep the objects that hold every term or an alternate of it, in the order in which they came."""
        cdef Py_ssize_t number
        cdef Found *found
        self.gather_all()
        found = self._notes.found
        for number in range(self._count):
            found[number].matched = 0
            self._kinds[number] = EXACT
        for number in range(self._hit_count):
            found[self._notes.hits[number].object].matched += 1
        self.begin_order()
        for number in range(self._count):
            if found[number].matched == self._terms:
                self.keep(number)
