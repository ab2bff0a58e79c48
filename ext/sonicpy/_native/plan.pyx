"""The plan of a query: clauses of slots of words, as plain values without rows of a bucket.

A clause represents a term of the query. Its first slot has the typed word and the words of its family, each further
slot one expansion. An object counts for the first slot of a clause of which it holds a word. `plan_terms` makes the
clauses of a text, `add_expansions` adds slots to a clause. `bind` (find.pyx) binds a plan to a bucket, and EXPLAIN
reads it.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t

from libc.math cimport sqrt

from sonicpy._native.bm25 cimport K1, idf
from sonicpy._native.characters cimport UNSPACED, properties_at
from sonicpy._native.top_k cimport COMPLETED, CORRECTED, EXACT, Kind
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.terms cimport F_PART, F_SPECIAL, F_STOP, Terms
from sonicpy._native.utf8 cimport letters_in
from sonicpy._native.word_break cimport letter_end

from sonicpy._native.word_break import is_unspaced_letter

# Bits of a role. An object answers a query if it holds some clause that brings, all clauses that are required, and no
# clause that is forbidden. Where all clauses are forbidden and bring, the objects answer that hold none of them.
ADDS = R_ADDS  # none of the bits: the clause adds to the scores of objects that others bring
BRINGS = R_BRINGS
REQUIRED = R_REQUIRED
FORBIDDEN = R_FORBIDDEN

cdef enum:
    KEYWORDS_MAX = 4  # a query with more words is a sentence: the object it looks for need not hold its numbers
    FIRST_OF_THREE_BYTES = 0xE0

cdef double STOP_SHARE = 0.4  # of the weight of a word on a list of stop words
cdef double FAMILY_SHARE = 0.75  # of a term's weight that all words of its family have; the typed word has the rest

cdef double DOUBTFUL_SHARE = 0.5  # of a term's weight that its doubtful forms have

PART_SHARE = 0.8

cdef tuple HOWS = ("whole", "exact", "completion", "correction")  # of each Kind


@cython.final
@cython.no_gc  # it refers to bytes, which refer to nothing
@cython.freelist(64)
cdef class Slot:
    """Words that represent a term together, with one weight.

    Args:
        words: the typed word and its family, or one expansion.
        weight: the weight of the frequencies of all words together.
        exact_weight: the additional weight of the frequency of the first word.
        how: "exact", "completion", "form" (a doubtful form, which ranks as completions do), "correction", or "synonym"
            (which ranks as the typed word does).
        edits: the number of edits between a correction and the term.
        together: the numbers of `words` in each of several groups: an object holds the slot if it holds a word of each
            group. (): any word is enough.
        term: in a clause of alternatives, the number of the term that the words represent; -1: that of the clause.

    Raises:
        ValueError: there is no word, `how` has another value, or the groups have another number of words.
    """

    def __init__(
        self, tuple words not None, double weight, double exact_weight=0.0, str how="exact", int edits=0,
        tuple together=(), Py_ssize_t term=-1,
    ):  # fmt: skip
        self.is_form = how == "form"
        self.is_synonym = how == "synonym"
        if not words or how not in HOWS[EXACT:] and not (self.is_form or self.is_synonym):
            raise ValueError(f"a slot of {len(words)} words is {how!r}; allowed are 1 or more words, and {HOWS[EXACT:]}")
        if together and (sum(together) != len(words) or min(together) < 1):
            raise ValueError(f"groups of {together} words of {len(words)}")
        self.words = words
        self.together = together
        self.term = term
        self.weight = weight
        self.exact_weight = exact_weight
        self.kind = COMPLETED if self.is_form else EXACT if self.is_synonym else <Kind> HOWS.index(how)
        self.edits = edits

    @property
    def how(self) -> str:
        """The relation to the typed word: "exact", "completion", "form", "correction" or "synonym"."""
        return "form" if self.is_form else "synonym" if self.is_synonym else HOWS[self.kind]


@cython.final
@cython.no_gc  # its slots do not refer to it
@cython.freelist(16)
cdef class Clause:
    """A term of a query, or a condition, with its words.

    Args:
        term: the number of the term in the query.
        role: bits BRINGS, REQUIRED and FORBIDDEN; none: ADDS.
        weight: the weight of the first slot in the share of the query that an object holds.
        slots: the slots of words, the best slot first.
        is_expandable: whether the term is expanded.
        holders: a lower bound of the number of objects that hold the term.
    """

    def __init__(
        self, Py_ssize_t term, int role, double weight, list slots not None, *, bint is_expandable=False,
        uint64_t holders=0,
    ):  # fmt: skip
        self.term = term
        self.role = role
        self.weight = weight
        self.slots = slots
        self.is_expandable = is_expandable
        self.holders = holders


@cython.final
@cython.no_gc  # its clauses do not refer to it
@cython.freelist(4)
cdef class Plan:
    """The plan of a query, which any part of a bucket can carry out.

    Args:
        clauses: the clauses, in the order in which their scores are added up.
        average: the mean length of the searched objects.
        exponent: the exponent of the share of the query that an object holds.
        full_first: whether objects that hold every term that brings objects come first.
        left_out: the number of a term that is left out -> the reason.
        enough: the number of objects from which on a term that they hold is not expanded; None: no such limit.

    Attributes:
        phrases: for each phrase, whether it is needed even if no order is kept, and for each of its places the words
            that may be there.
    """

    def __init__(
        self, list clauses not None, double average, double exponent, *, bint full_first, left_out, enough
    ):  # fmt: skip
        self.clauses = clauses
        self.average = average
        self.exponent = exponent
        self.full_first = full_first
        self.left_out = left_out
        self.enough = enough
        self.phrases = ()

    @property
    def ceiling(self) -> float:
        """An upper bound of the scores of all objects."""
        cdef Clause clause
        cdef Slot slot
        cdef double possible = 0.0
        for clause in self.clauses:
            if clause.role & R_FORBIDDEN:
                continue
            possible += clause.weight
            for slot in clause.slots:
                if slot.kind == EXACT:  # the typed word is rarer than its family
                    possible += max(0.0, slot.weight + slot.exact_weight - clause.weight)
        return possible * (K1 + 1.0)

    def words(self) -> list:
        """Return the words of all slots of all clauses, in their order."""
        return words_of(self)


cdef list words_of(Plan plan):
    cdef Clause clause
    cdef Slot slot
    cdef list words = []
    for clause in plan.clauses:
        for slot in clause.slots:
            words.extend(slot.words)
    return words


cdef bint is_keywords(Terms terms) except -1:
    """Return whether a query consists of keywords, as opposed to a sentence. A run without blanks counts as one word
    for every two pairs."""
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef Py_ssize_t number, words = 0, pairs = 0
    cdef bytes term
    for number in range(len(terms.words)):
        term = terms.words[number]
        pairs += flags[number] & (F_PART | F_STOP) == F_PART
        # A single letter of a run is flagged as a stop word; it is recognised by its script: code points from U+0800.
        if not flags[number] & (F_SPECIAL | F_PART) and not (
            flags[number] & F_STOP and (<const uint8_t *> <const char *> term)[0] >= FIRST_OF_THREE_BYTES
        ):
            words += 1
    return max(words, pairs // 2) <= KEYWORDS_MAX


cdef double query_factor(bytes word, uint8_t flags, uint8_t count) except -1.0:
    """Return the weight of a term divided by its `idf`."""
    cdef const uint8_t *first = <const uint8_t *> <const char *> word
    if not flags & F_STOP:
        return sqrt(count) if count > 1 and not flags & F_PART else 1.0
    if flags & F_PART:
        return STOP_SHARE
    if properties_at(first, len(word), 0) & UNSPACED and letter_end(first, len(word), 0) == len(word):
        return 1.0  # a single letter of a run
    return STOP_SHARE * sqrt(count)


def content_size(list clauses not None, bytes flags not None) -> float:
    """Return the number of clauses that bring objects; a pair of letters of a run without blanks is half a term.

    Args:
        clauses: the clauses of a plan.
        flags: the flags of the query's terms.
    """
    return size_of(clauses, flags)


cdef double size_of(list clauses, bytes flags) except -1.0:
    cdef const uint8_t *flag_bytes = <const uint8_t *> <const char *> flags
    cdef Clause one
    cdef double size = 0.0
    for one in clauses:
        if one.role & R_BRINGS:
            if not 0 <= one.term < len(flags):
                raise ValueError(f"term {one.term} has no flags")
            size += 0.5 if flag_bytes[one.term] & F_PART else 1.0
    return size


cdef Slot new_slot(tuple words, double weight, double exact_weight, Kind kind, int edits):
    cdef Slot slot = Slot.__new__(Slot)
    slot.words, slot.weight, slot.exact_weight, slot.kind, slot.edits = words, weight, exact_weight, kind, edits
    slot.is_form = slot.is_synonym = False
    slot.together = ()
    slot.term = -1
    return slot


cdef Slot like(Slot slot, tuple words, double share):
    """Return a slot like another one with other words, as many for each group, and weights multiplied by `share`."""
    cdef Slot found = new_slot(words, share * slot.weight, share * slot.exact_weight, slot.kind, slot.edits)
    found.is_form, found.is_synonym, found.together, found.term = (
        slot.is_form, slot.is_synonym, slot.together, slot.term
    )
    return found


cdef Slot family_slot(Clause clause, bytes typed, uint64_t df, list family, uint64_t objects, double factor):
    """Return a slot with the word of a term and its family, and set the weight of the clause.

    Args:
        typed: the word of the term, which `df` objects hold.
        family: the (word, row) of each other word; objects hold all of them.
        factor: the factor that multiplies the weight of the term.
    """
    cdef list words = [typed]
    cdef TermInfo row
    cdef bytes word
    cdef uint64_t united = df
    cdef double exact_weight
    clause.holders = df
    for word, row in family:
        words.append(word)
        united += row._word.df
        clause.holders = max(clause.holders, row._word.df)
    clause.weight = factor * idf(objects, min(united, objects))
    exact_weight = 0.0 if df == 0 else (1.0 - FAMILY_SHARE) * factor * idf(objects, df)
    return new_slot(tuple(words), FAMILY_SHARE * clause.weight, exact_weight, EXACT, 0)


def plan_terms(
    Terms terms not None, list rows not None, uint64_t objects, wanted, Py_ssize_t expandable_max, dict families=None
) -> list:
    """Return the clauses of the terms of a query, stop words last.

    The weight of a term is its `idf` times the square root of its frequency in the query; that of a stop word is a
    fraction of this. For pairs and single letters of a run without blanks it is their `idf`, because a run repeats them
    by chance. Special words are required, except in a sentence. Beside other words, stop words only add to scores, and
    are not expandable. Single letters of a run without blanks, which are flagged as stop words, are never expandable.

    Args:
        rows: the rows of the terms, None for a term that no object holds.
        objects: the number of objects.
        wanted: the number of objects from which on a term is not expandable. In a family, the most frequent word
            counts, because one object may hold several of its words.
        expandable_max: the most expandable terms.
        families: the number of a term -> the (word, row) of the other words of its family.

    Raises:
        ValueError: the numbers of terms and rows differ.
    """
    return clauses_of(terms, rows, objects, wanted, expandable_max, families)


cdef list clauses_of(
    Terms terms, list rows, uint64_t objects, wanted, Py_ssize_t expandable_max, dict families
):
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef const uint8_t *counts = <const uint8_t *> <const char *> terms.counts
    cdef Py_ssize_t number, count = len(terms.words), expandable = 0
    cdef uint64_t df
    cdef double factor
    cdef TermInfo row
    cdef bytes word
    cdef list family
    cdef int64_t enough = min(wanted, INT64_MAX)
    cdef bint has_words = False, has_stops = False, has_special = False, beside, keywords
    cdef list clauses = []
    cdef Clause one
    cdef Slot slot
    if len(rows) != count:
        raise ValueError(f"{count} terms need as many rows, not {len(rows)}")
    for number in range(count):
        has_special |= flags[number] & F_SPECIAL != 0
        if flags[number] & F_STOP:
            has_stops = True
        else:
            has_words = True
    keywords = has_special and is_keywords(terms)
    for beside in range(2 if has_words and has_stops else 1):
        for number in range(count):
            if beside != (has_words and flags[number] & F_STOP != 0):
                continue
            word, row = terms.words[number], rows[number]
            one = Clause.__new__(Clause)
            one.term = number
            one.role = R_ADDS if beside else R_BRINGS
            if keywords and flags[number] & F_SPECIAL:
                one.role |= R_REQUIRED
            # By holders, not by postings: the window hides how common a word is.
            one.holders = df = 0 if row is None else row._word.df
            factor = query_factor(word, flags[number], counts[number])
            family = None if families is None else families.get(number)
            if family is None:
                one.weight = idf(objects, df) * factor
                slot = new_slot((word,), one.weight, 0.0, EXACT, 0)
            else:
                slot = family_slot(one, word, df, family, objects, factor)
            one.slots = [slot]
            if (
                not flags[number] & (F_SPECIAL | F_PART)
                and not (flags[number] & F_STOP and (has_words or is_unspaced_letter(word)))
                and expandable < expandable_max
                and <int64_t> one.holders < enough
            ):
                one.is_expandable = True
                expandable += 1
            clauses.append(one)
    return clauses


def add_expansions(Clause clause not None, others, uint64_t objects) -> None:
    """Add the expansions of a term to its clause.

    All completions get shares of one weight, the lowest of their `idf` and the term's weight, because they complete one
    unfinished word; so do all corrections, of another weight. Otherwise the rarest word would come first.

    Args:
        others: tuples (word, row, share, how, edits).
        objects: the number of objects.

    Raises:
        TypeError: an expansion is no tuple, or its row is None.
    """
    put_expansions(clause, list(others), objects)


cdef int put_expansions(Clause clause, list found, uint64_t objects) except -1:
    cdef TermInfo row
    cdef tuple fields
    cdef double completed = clause.weight, corrected = clause.weight
    cdef Kind kind
    for other in found:
        if not isinstance(other, tuple):
            raise TypeError(f"an expansion is a {type(other).__name__}, not a tuple")
        fields = <tuple> other
        row = fields[1]
        if row is None:
            raise TypeError("an expansion has no row")
        if fields[3] == "completion":
            completed = min(completed, idf(objects, row._word.df))
        else:
            corrected = min(corrected, idf(objects, row._word.df))
    for other in found:
        fields = <tuple> other
        row = fields[1]
        kind = COMPLETED if fields[3] == "completion" else CORRECTED
        clause.slots.append(
            new_slot(
                (fields[0],), <double> fields[2] * (completed if kind == COMPLETED else corrected), 0.0, kind, fields[4]
            )
        )
        if row._word.df:
            clause.holders = max(clause.holders, 1)
    return 0


def by_length(list begun not None, Py_ssize_t letters, Py_ssize_t long_from, Py_ssize_t longest_from, set but not None) -> tuple:
    """Return completions as three lists: hardly longer than the typed word, longer, and longest ones; and the sum of
    the numbers of objects that hold each word.

    Args:
        begun: the (word, row, errors) of each word.
        letters: the number of letters of the typed word.
        long_from, longest_from: a word with more letters than this behind the typed ones is longer, or longest.
        but: the set of words to leave out.

    Raises:
        TypeError: a row is None.
    """
    cdef list short = [], longer = [], longest = []
    cdef Py_ssize_t most = letters + long_from, most_of_all = letters + longest_from, size
    cdef uint64_t holders = 0
    cdef TermInfo row
    cdef bytes word
    for word, row, _ in begun:
        if row is None:
            raise TypeError("a completion has no row")
        if word not in but:
            size = letters_in(<const uint8_t *> <const char *> word, len(word))
            (short if size <= most else longer if size <= most_of_all else longest).append(word)
            holders += row._word.df
    return (short, longer, longest), holders


def add_joined(Clause clause not None, list words not None, dict held not None, uint64_t objects) -> None:
    """Add to the clause of a term the words that have it as a part, as one slot behind those of the word itself.

    Args:
        words: the words that objects may hold; words of the first slot are left out.
        held: word -> row, for the words that objects hold.
        objects: the number of all objects.
    """
    put_joined(clause, words, held, objects, PART_SHARE, COMPLETED)


cdef int put_joined(Clause clause, list words, dict held, uint64_t objects, double share, Kind kind) except -1:
    cdef tuple typed = (<Slot?> clause.slots[0]).words
    cdef list found = []
    cdef uint64_t holders = 0
    cdef Py_ssize_t place = 0
    cdef TermInfo row
    cdef Slot slot
    for word in words:
        row = held.get(word)
        if row is not None and word not in typed:
            found.append(word)
            holders += row._word.df
    if not found:
        return 0
    for slot in clause.slots:
        if slot.kind != EXACT or slot.is_form:
            break
        place += 1
    slot = new_slot(tuple(found), share * min(clause.weight, idf(objects, min(holders, objects))), 0.0, kind, 0)
    clause.slots.insert(place, slot)
    clause.holders = max(clause.holders, 1)
    return 0


def add_forms(Clause clause not None, list forms not None, uint64_t objects) -> None:
    """Add the doubtful forms of a term to its clause, together as one word, with less weight than its sure forms.

    Args:
        forms: the (word, row) of each form; objects hold all of them.
        objects: the number of all objects.
    """
    cdef TermInfo row
    cdef bytes word
    cdef uint64_t united = 0
    cdef Slot slot
    cdef list words = []
    for word, row in forms:
        words.append(word)
        united += row._word.df
    if not words:
        return
    slot = new_slot(
        tuple(words), DOUBTFUL_SHARE * min(clause.weight, idf(objects, min(united, objects))), 0.0, COMPLETED, 0
    )
    slot.is_form = True
    clause.slots.append(slot)
    clause.holders = max(clause.holders, 1)


def let_stop_words_search(list clauses not None) -> None:
    """Make the stop words of a query, which come last, bring objects if no other word does."""
    cdef Clause one
    if not clauses or (<Clause?> clauses[len(clauses) - 1]).role & R_BRINGS:
        return
    for one in clauses:
        if one.role & R_BRINGS and one.holders:
            return
    for one in clauses:
        one.role |= R_BRINGS
