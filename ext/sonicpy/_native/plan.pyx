"""The plan of a query in values: which lists of postings it gathers, in which order, and what each is there for.

`plan_terms` decides that for the terms of a text, `plan_expansions` for the expansions of one of them.
`Walk` carries a plan out, EXPLAIN reads it.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t

from libc.math cimport sqrt

from sonicpy._native.bm25 cimport idf
from sonicpy._native.characters cimport UNSPACED, properties_at
from sonicpy._native.top_k cimport COMPLETED, CORRECTED, EXACT, Kind
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.terms cimport F_PART, F_SPECIAL, F_STOP, Terms
from sonicpy._native.word_break cimport letter_end

from sonicpy._native.word_break import is_unspaced_letter

cdef enum:
    KEYWORDS_MAX = 4  # a query with more words is a sentence: the object it looks for need not hold its numbers
    FIRST_OF_THREE_BYTES = 0xE0

cdef double STOP_SHARE = 0.4  # of the weight of a word on a list of stop words
cdef double FAMILY_SHARE = 0.75  # of a term's weight that all words of its family have; the typed word has the rest

cdef tuple HOWS = ("whole", "exact", "completion", "correction")  # of each Kind


@cython.final
@cython.no_gc  # it refers to bytes and rows, which refer to nothing
@cython.freelist(64)
cdef class PlannedList:
    """One list of postings that a query gathers.

    Args:
        term: the number of the term in the query.
        word: the word whose list it is: the term, or an expansion of it.
        row: its row; None: no object holds it.
        weight: what the word counts for.
        how: "exact", "form" (a word of the term's family), "completion" or "correction".
        edits: how many edits the word is away from the term, if it corrects it.
        required: objects without the term do not answer.
        inserts: the list brings objects into the answer; else it only adds to the score of those that others bring.
        is_expandable: expansions of the term are looked for.
        family_weight, exact_weight: of the frequencies of a family together, and of its typed word by itself; 0: the
            term has no family. The `weight` of the typed word is then what a holder of any of the words gains in share.
    """

    def __init__(
        self, Py_ssize_t term, bytes word not None, TermInfo row, double weight, str how="exact", int edits=0, *,
        bint required=False, bint inserts=True, bint is_expandable=False, double family_weight=0.0,
        double exact_weight=0.0,
    ):  # fmt: skip
        self.term = term
        self.word = word
        self.row = row
        self.weight = weight
        self._kind = COMPLETED if how == "completion" else CORRECTED if how == "correction" else EXACT
        self.is_form = how == "form"
        self.edits = edits
        self.required = required
        self.inserts = inserts
        self.is_expandable = is_expandable
        self.family_weight = family_weight
        self.exact_weight = exact_weight

    @property
    def how(self) -> str:
        """How the word came: "exact", "form", "completion" or "correction"."""
        return "form" if self.is_form else HOWS[self._kind]


@cython.final
@cython.freelist(4)
cdef class Plan:
    """What a query gathers.

    Args:
        lists: PlannedLists, in the order in which they are gathered.
        left_out: the terms that are not looked for, by number, and why.
        enough: a term that this many objects hold is not expanded; None: this does not decide.
    """
    def __init__(self, list lists not None, left_out, enough):
        self.lists = lists
        self.left_out = left_out
        self.enough = enough

    def rows(self) -> list:
        """Return the rows of the lists, without those that no object holds."""
        return rows_of(self.lists)


cdef bint is_keywords(Terms terms) except -1:
    """Return whether a query is keywords, not a sentence. A run without blanks has a word for every two pairs."""
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef Py_ssize_t number, words = 0, pairs = 0
    cdef bytes term
    for number in range(len(terms.words)):
        term = terms.words[number]
        pairs += flags[number] & (F_PART | F_STOP) == F_PART
        # A single letter of a run is flagged as a stop word; its script tells: code points from U+0800.
        if not flags[number] & (F_SPECIAL | F_PART) and not (
            flags[number] & F_STOP and (<const uint8_t *> <const char *> term)[0] >= FIRST_OF_THREE_BYTES
        ):
            words += 1
    return max(words, pairs // 2) <= KEYWORDS_MAX


cdef double query_factor(bytes word, uint8_t flags, uint8_t count) except -1.0:
    """Return the factor by which the weight of a term differs from its `idf`."""
    cdef const uint8_t *first = <const uint8_t *> <const char *> word
    if not flags & F_STOP:
        return sqrt(count) if count > 1 and not flags & F_PART else 1.0
    if flags & F_PART:
        return STOP_SHARE
    if properties_at(first, len(word), 0) & UNSPACED and letter_end(first, len(word), 0) == len(word):
        return 1.0  # a single letter of a run
    return STOP_SHARE * sqrt(count)


def content_size(list lists not None, bytes flags not None) -> float:
    """Return how many terms bring objects; a pair of letters of a run without blanks is half a term.

    Args:
        lists: of a plan.
        flags: of the query's terms.
    """
    cdef const uint8_t *flag_bytes = <const uint8_t *> <const char *> flags
    cdef PlannedList one
    cdef double size = 0.0
    for one in lists:
        if one._kind == EXACT and not one.is_form and one.inserts:
            if not 0 <= one.term < len(flags):
                raise ValueError(f"term {one.term} has no flags")
            size += 0.5 if flag_bytes[one.term] & F_PART else 1.0
    return size


cdef list plan_family(
    PlannedList exact, list family, uint64_t objects, double factor, uint64_t *holders, uint64_t *sure
):
    """Return the lists of the family of a term, and weigh the term as one with them.

    Args:
        family: (word, row) of the other words, each held by some object.
        factor: of the weight of the term.
        holders: becomes the number of objects that hold one of the words, or somewhat more.
        sure: becomes the same, or somewhat less.
    """
    cdef list lists = []
    cdef PlannedList one
    cdef TermInfo row
    cdef uint64_t df = 0 if exact.row is None else exact.row._word.df, united = df
    sure[0] = df
    for word, row in family:
        one = PlannedList.__new__(PlannedList)
        one.term, one.word, one.row = exact.term, word, row
        one._kind = EXACT
        one.is_form = True
        one.inserts = exact.inserts
        united += row._word.df
        sure[0] = max(sure[0], row._word.df)
        lists.append(one)
    holders[0] = min(united, objects)
    exact.weight = factor * idf(objects, holders[0])
    exact.family_weight = FAMILY_SHARE * exact.weight
    exact.exact_weight = 0.0 if df == 0 else (1.0 - FAMILY_SHARE) * factor * idf(objects, df)
    for one in lists:
        one.weight = exact.family_weight
    return lists


def plan_terms(
    Terms terms not None, list rows not None, uint64_t objects, wanted, Py_ssize_t expandable_max, dict families=None
) -> list:
    """Return the lists of the terms of a query, stop words last.

    A term weighs its `idf` times the root of the number of times it stands in the query; a word on a list of stop words,
    a fraction of that. Pairs and single letters of a run without blanks weigh their `idf`: a run repeats them by chance.

    Special words are required, except in a sentence. Beside other words, stop words only add to what others find, and
    are not expandable. Single letters of a run without blanks, which are flagged as stop words, never are.

    Args:
        rows: of the terms.
        objects: how many the bucket holds.
        wanted: a term that this many objects hold finds enough, and is not expandable. Of a family, the word that
            most objects hold decides: several of its words may stand in the same objects.
        expandable_max: at most this many terms are expandable.
        families: (word, row) of the other words that a term stands for, by the number of the term.

    Raises:
        ValueError: there is another number of rows.
    """
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef const uint8_t *counts = <const uint8_t *> <const char *> terms.counts
    cdef Py_ssize_t number, count = len(terms.words), expandable = 0
    cdef uint64_t holders, sure
    cdef double factor
    cdef list forms, family
    cdef int64_t enough = min(wanted, INT64_MAX)
    cdef bint has_words = False, has_stops = False, has_special = False, beside, keywords
    cdef list lists = []
    cdef PlannedList one
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
            one = PlannedList.__new__(PlannedList)
            one.term = number
            one.word = terms.words[number]
            one.row = rows[number]
            one._kind = EXACT
            one.required = keywords and flags[number] & F_SPECIAL != 0
            one.inserts = not beside
            # By holders, not by postings: the window hides how common a word is.
            holders = sure = 0 if one.row is None else one.row._word.df
            factor = query_factor(one.word, flags[number], counts[number])
            one.weight = idf(objects, holders) * factor
            family = None if families is None else families.get(number)
            forms = None if family is None else plan_family(one, family, objects, factor, &holders, &sure)
            if (
                not flags[number] & (F_SPECIAL | F_PART)
                and not (flags[number] & F_STOP and (has_words or is_unspaced_letter(one.word)))
                and expandable < expandable_max
                and <int64_t> sure < enough
            ):
                one.is_expandable = True
                expandable += 1
            lists.append(one)
            if forms is not None:
                lists += forms
    return lists


def are_expandable(list lists not None) -> bool:
    """Return whether expansions of a term of these lists are looked for."""
    cdef PlannedList one
    for one in lists:
        if one.is_expandable:
            return True
    return False


def rows_of(list lists not None) -> list:
    """Return the rows of lists, without those that no object holds."""
    cdef PlannedList one
    return [one.row for one in lists if one.row is not None]


def plan_expansions(PlannedList exact not None, others, uint64_t objects) -> list:
    """Return the lists of the expansions of a term.

    A correction has a share of the lower one of its own `idf` and the term's weight. Completions have shares of one
    weight, the lowest of them, because they are one word that is not finished: else the rarest would come first.

    Args:
        others: tuples (word, row, share, how, edits).
        objects: how many the bucket holds.
    """
    cdef list lists = []
    cdef PlannedList one
    cdef TermInfo row
    cdef tuple fields
    cdef double completed = exact.weight
    cdef list found = list(others)
    for other in found:
        if not isinstance(other, tuple):
            raise TypeError(f"an expansion is a {type(other).__name__}, not a tuple")
        fields = <tuple> other
        row = fields[1]
        if row is not None and fields[3] == "completion":
            completed = min(completed, idf(objects, row._word.df))
    for other in found:
        fields = <tuple> other
        word, row, share, how, edits = fields[0], fields[1], fields[2], fields[3], fields[4]
        if row is None:
            raise TypeError("an expansion has no row")
        one = PlannedList.__new__(PlannedList)
        one.term = exact.term
        one.word = word
        one.row = row
        one._kind = COMPLETED if how == "completion" else CORRECTED
        one.weight = <double> share * (
            completed if one._kind == COMPLETED else min(idf(objects, row._word.df), exact.weight)
        )
        one.edits = edits
        one.inserts = True
        lists.append(one)
    return lists


def let_stop_words_search(list lists not None) -> list:
    """Return the lists of a query in which stop words, which come last, bring objects if no other word does."""
    cdef PlannedList one, searched
    cdef list out = []
    if not lists or (<PlannedList?> lists[len(lists) - 1]).inserts:
        return lists
    for one in lists:
        if one.inserts and one.row is not None and one.row._word.df > 0:
            return lists
    for one in lists:
        searched = PlannedList.__new__(PlannedList)
        searched.term, searched.word, searched.row, searched.weight = one.term, one.word, one.row, one.weight
        searched._kind, searched.edits, searched.required = one._kind, one.edits, one.required
        searched.is_form, searched.family_weight, searched.exact_weight = (
            one.is_form, one.family_weight, one.exact_weight
        )
        searched.is_expandable = one.is_expandable
        searched.inserts = True
        out.append(searched)
    return out
