"""The steps of a plan that every query takes: the rows and families of its words, their expansions and completions.

A step that few queries need is only checked for here, and carried out by the layer above: see `Rarely` in the stub.
"""

from types import MappingProxyType

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t

from sonicpy._native.expansions cimport put_expanded
from sonicpy._native.inner_words cimport add_parted, add_same
from sonicpy._native.plan cimport R_BRINGS, Clause, Plan, Slot, clauses_of, like, size_of
from sonicpy._native.terms cimport F_PART, Terms


from sonicpy._native.clauses import (
    add_completions,
    bringing_clause,
    cuttable_clauses,
    other_words,
    require_held,
    run_clauses,
    set_match,
)
from sonicpy._native.neighbours import words_together as made_together
from sonicpy._native.plan import add_forms, let_stop_words_search
from sonicpy._native.term_rows import held_forms, held_words

cdef enum:
    EXPANDED = 16
    LIKE = 3  # a short form of a word that no object holds surely begins with this number of its letters
    SHORT_FORM = 4  # letters of such a form, at most
    SENTENCE = 8  # more terms than this make no words together: TERMS_MAX of neighbours.pyx
    LONG_FROM = 2
    LONGEST_FROM = 5
    FULL_FIRST = 4  # in queries of at most this many content terms, objects that hold all of them come first

EXPANDED_WORDS = EXPANDED
"""The most words of a query that are expanded: each is compared with all pending words, and a line holds
thousands."""
SHARE_STRENGTH = 2.5
SHARE_EXPONENT_MAX = 3.0
"""The largest exponent of the share of the query that an object holds, which scales its score. The exponent is
SHARE_STRENGTH divided by the number of content terms: both words of a short query matter, while some words of a long
question are enough."""
COMPLETION_SHARES = (0.9, 0.8, 0.7)
"""For each list of completions, their share of the typed word's weight: an object that holds all words, one of them as
a completion, comes before objects that lack a word. The words of the first two lists have at most LONG_FROM and
LONGEST_FROM letters more than the typed one; the last list has all others."""

cdef double strength = SHARE_STRENGTH, exponent_max = SHARE_EXPONENT_MAX
cdef tuple shares = COMPLETION_SHARES
cdef double LETTER_SHARE = 0.5  # weight of a last word of one character, at most: share of the least of other words
cdef tuple SIGNED = (b"+", b"++", b"#")
cdef object nothing_left_out = MappingProxyType({})
NOTHING_LEFT_OUT = nothing_left_out
"""The words that a plan leaves out, if it leaves out none."""


# -- words ---------------------------------------------------------------------------------------------------------


def words_together(Terms terms not None, bint folds, rarely, list sources=None) -> dict:
    """Return the words that neighbours make together, each with the numbers of its terms; {} for a sentence.

    Args:
        folds: whether to add the words without accents, and those with the sign between parts of Persian words.
        sources: see `made_together`.
    """
    cdef bint is_folded = folds and not are_ascii(terms.words)
    cdef dict places = made_together(terms, None if is_folded else sources)
    if places:
        if is_folded:
            rarely.add_folded(places, terms.words)
        for word in terms.words:
            places.pop(word, None)
    return places


cdef bint are_ascii(list words) except -1:
    cdef bytes word
    for word in words:
        if not word.isascii():
            return False
    return True


def families_of(statistics, Terms terms not None, matching, besides, rarely) -> tuple:
    """Return the rows of the terms of a query, the other words that they surely find, and those that they may find.

    Special words, and parts of runs without blanks, have no family, except numbers with another spelling; stop
    words have one if a query holds nothing else.

    Args:
        matching: the matching of families; None: no word has a family.
        besides: other words whose rows are needed, so that one call reads all rows of a query from the disk.

    Returns:
        The rows of the terms; for both kinds, number of a term -> the words that objects hold, each with its row; those
        of `besides` that objects hold, each with its row.
    """
    cdef dict words, doubtful
    cdef list asked = terms.words, rows
    cdef Py_ssize_t sure = len(asked), perhaps, end
    words, doubtful = other_words(terms, matching, statistics.family, rarely.same_numbers, rarely.spelled)
    if not words and not doubtful and not besides:
        return statistics.rows(asked), words, doubtful, []
    asked = list(asked)
    for found in words.values():
        asked += found
    perhaps = len(asked)
    for found in doubtful.values():
        asked += found
    end = len(asked)
    asked += besides
    rows = statistics.rows(asked)
    if words:
        words = held_forms(words, rows, sure)
    if doubtful:
        doubtful = held_forms(doubtful, rows, perhaps)
    for number in list(words):
        if rows[number] is None:
            doubt(<Py_ssize_t?> number, terms.words[number], words, doubtful)
    return rows[:sure], words, doubtful, held_words(list(besides), rows[end:], statistics.live) if besides else []


cdef int doubt(Py_ssize_t number, bytes typed, dict forms, dict doubtful) except -1:
    """Make short forms of a word that no object holds doubtful, if they share only one or two letters with it: the
    typed word is as likely another one with a typing error (`seing` is no form of `se`)."""
    cdef list alike = [], unlike = []
    for form in forms[number]:
        (unlike if is_unlike(typed, form[0]) else alike).append(form)
    if not unlike:
        return 0
    if alike:
        forms[number] = alike
    else:
        del forms[number]
    doubtful[number] = [*doubtful.get(number, ()), *unlike]
    return 0


cdef bint is_unlike(bytes typed, bytes form):
    if len(form) > SHORT_FORM or not (typed.isalpha() and form.isascii()):
        return False
    return typed[:LIKE] != form[:LIKE]


def add_doubtful(list clauses not None, dict doubtful not None, uint64_t objects) -> None:
    """Add doubtful forms to the clauses of their terms, except those of stop words that only add to scores."""
    cdef Clause clause
    if doubtful:
        for clause in clauses:
            if clause.role & R_BRINGS and clause.term in doubtful:
                add_forms(clause, doubtful[clause.term], objects)


def find_pieces(
    statistics, list clauses not None, Terms terms not None, bint folds, rarely, list sources=None, bint partly=True
) -> dict:
    """Return number of a term -> the pieces of its word, if objects hold them as separate words; {} for a sentence.

    Args:
        folds: whether words that differ by accents count as these pieces, too.
        sources: the words that objects may hold; None: any word may be held.
        partly: whether objects with one piece of a word that no object holds answer, too, if other words bring objects.
    """
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef Py_ssize_t number, words = 0, bringing = 0
    cdef list cuttable
    cdef Clause clause
    for number in range(PyBytes_GET_SIZE(terms.flags)):
        words += flags[number] != F_PART
    if words > SENTENCE:
        return {}
    cuttable = cuttable_clauses(clauses, terms, sources)
    if not cuttable:
        return {}
    for clause in clauses:
        bringing += clause.role & R_BRINGS != 0
    return rarely.pieces(statistics, cuttable, folds=folds, partly=partly and bringing > 1)


# -- completions ---------------------------------------------------------------------------------------------------


def last_of(list clauses not None, Terms terms not None):
    """Return the clause of the word at the end of the text; None: the text does not end in a word that is completed."""
    if terms.last < 0 or (<const uint8_t *> PyBytes_AS_STRING(terms.flags))[terms.last] & F_PART:
        return None
    return bringing_clause(clauses, terms.last)


def complete(statistics, Clause last not None, list clauses not None, search, rarely) -> None:
    """Add to the clause of the last word the words that begin with it, and perhaps words with errors in their
    beginnings."""
    cdef bytes word = (<Slot?> last.slots[0]).words[0]
    cdef set taken
    cdef uint64_t holders
    taken, holders = add_completions(
        last, clauses, statistics.beginnings(word, 0), LONG_FROM, LONGEST_FROM, shares, statistics.objects
    )
    if last.is_expandable and <int64_t> (last.holders + holders) < <int64_t> min(search.alternates_below, INT64_MAX):
        rarely.corrections(statistics, last, word, taken, search)


def may_go_on(bytes word not None) -> bool:
    """Return whether a word may be the beginning of longer words at any place in a query."""
    return is_joined(word)


cdef bint is_joined(bytes word) noexcept:
    """Return whether a word has signs inside it, or digits beside letters."""
    cdef const uint8_t *text = <const uint8_t *> PyBytes_AS_STRING(word)
    cdef bint has_digit = False, has_sign = False, has_other = False
    cdef Py_ssize_t at, last = PyBytes_GET_SIZE(word) - 1
    for at in range(last + 1):
        if c"0" <= text[at] <= c"9":
            has_digit = True
        elif text[at] == c"." or text[at] == c"_" or text[at] == c":":
            has_sign = has_sign or 0 < at < last
        else:
            has_other = True
    return has_sign or (has_digit and has_other)


def complete_last(statistics, Clause last, list clauses not None, Terms terms not None, search, rarely) -> None:
    """Add the completions of the last word of a query, and the words that go on behind a word with digits or signs.
    `last` is None if the last word is whole."""
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef Clause clause
    cdef bytes word
    cdef int continued = 0
    for clause in clauses:
        if clause.role & R_BRINGS and not flags[clause.term] & F_PART:
            word = (<Slot?> clause.slots[0]).words[0]
            if is_joined(word) and not (clause is last and word.isascii()) and continued < EXPANDED:
                continued += 1
                rarely.continued(statistics, clause, is_last=clause is last)
    if last is None:
        return
    if terms.last > 0 and is_number(terms, terms.last) and is_number(terms, terms.last - 1):
        rarely.numbers(statistics, clauses, terms)
    complete(statistics, last, clauses, search, rarely)


def read_unknown(
    statistics, list clauses not None, Terms terms not None, dict pieces not None, Clause last, matching, search, rarely
) -> None:
    """Add words to the clauses of words that lead to no other word: those that end with the typed one, then those
    that are found if it is read again.

    Args:
        pieces: the words written apart, by the number of the term.
        last: the clause of the last word; None: it is not completed.
        matching: the matching of families; None: no word has a family.
        search: the settings of searches.
    """
    cdef bint may_correct = search.alternates_below > 0 and search.query_alternates_try > 0
    cdef Clause clause
    for clause in clauses:
        if clause.holders or len(clause.slots) > 1 or not clause.role & R_BRINGS or clause.term in pieces:
            continue
        if clause.is_expandable:
            rarely.heads(statistics, clause)
        if not clause.holders and may_be_read_again(terms, clause.term):
            rarely.again(
                statistics, clause, matching, is_last=clause is last, may_correct=may_correct
            )


cdef inline bint may_be_read_again(Terms terms, Py_ssize_t number) except -1:
    return len(terms.words) <= SENTENCE and not (<const uint8_t *> PyBytes_AS_STRING(terms.flags))[number] & F_PART


cdef bint is_signed(Terms terms, Py_ssize_t number) except -1:
    """Return whether a word is that of C++, C# or A+, which is no beginning of `create`."""
    cdef bytes word, other
    if number + 1 >= len(terms.words):
        return False
    word, other = terms.words[number], terms.words[number + 1]
    if PyBytes_AS_STRING(word)[0] != PyBytes_AS_STRING(other)[0] or len(word) >= len(other):
        return False
    return other.startswith(word) and other[len(word):] in SIGNED


cdef int weigh_as_beginning(Clause last, list clauses) except -1:
    """Weigh a last word of one character less than each other word that brings objects, because it may be the beginning
    of any word: `xerox 1` is seldom about the number 1, and an object with Xerox 1905 comes before one with only the 1.
    """
    cdef Clause clause
    cdef Slot slot
    cdef double most = 0.0, share
    cdef Py_ssize_t place
    if last is None or len(clauses) < 2 or PyBytes_GET_SIZE(<bytes?> (<Slot?> last.slots[0]).words[0]) != 1:
        return 0
    for clause in clauses:
        if clause is not last and clause.role & R_BRINGS and clause.weight > 0.0:
            most = min(most, LETTER_SHARE * clause.weight) if most else LETTER_SHARE * clause.weight
    if not 0.0 < most < last.weight:
        return 0
    share = most / last.weight
    last.weight = most
    for place, slot in enumerate(last.slots):  # none may weigh more than its clause: bounds count with that
        last.slots[place] = like(slot, slot.words, share)
    return 0


cdef inline bint is_number(Terms terms, Py_ssize_t place):
    return (<bytes?> terms.words[place]).isdigit()


# -- the plan of words ---------------------------------------------------------------------------------------------


def plan_words(
    statistics, Terms terms not None, matching, search, fills, rarely, str match="auto", demanded=None
) -> Plan:
    """Return the plan of a query, with weights by idf and frequencies.

    Special words are required, except in a sentence; stop words add to the scores of objects found by other words, and
    are searched if other words find nothing.

    Args:
        statistics: see `Statistics`.
        matching: the matching of families; None: no word has a family.
        search: the settings of searches.
        fills: a function that returns whether a plan without completions finds enough; None: completions are always
            added.
        match: see `set_match`; if it is "any", objects that hold every term do not come first.
        demanded: a function that returns the clauses with all demands of the query, given those without them and the
            clause of the last word; None: the query has no demands but `match`.
    """
    cdef bint folds = matching is not None
    cdef list sources = statistics.word_sources()
    cdef dict together = words_together(terms, folds, rarely, sources), words, doubtful, pieces
    cdef list clauses, rows, besides, begun = [], apart, joined
    cdef object enough = search.alternates_below, others = (), runs, held = ()
    cdef uint64_t objects = statistics.objects
    cdef double average = statistics.average_length, size
    cdef bint full_first
    cdef Clause clause, last
    cdef Plan plan
    rows, words, doubtful, besides = families_of(
        statistics, terms, matching, statistics.may_hold(together) if together else (), rarely
    )
    clauses = clauses_of(terms, rows, objects, enough, EXPANDED, words or None)
    size = size_of(clauses, terms.flags)
    full_first = size <= FULL_FIRST
    if besides:
        rarely.write_together(clauses, together, besides, objects)
    pieces = find_pieces(statistics, clauses, terms, folds, rarely, sources)
    if full_first:
        runs = run_clauses(clauses, terms)
        if runs:
            begun = rarely.first_letters(statistics, runs)
    add_doubtful(clauses, doubtful, objects)
    found = statistics.synonyms(terms)
    if found:
        others = rarely.stand_ins(statistics, found, matching, clauses)
    last = last_of(clauses, terms)
    for clause in clauses:
        if clause.is_expandable and clause is not last and not is_signed(terms, clause.term):
            put_expanded(statistics, clause, clause.holders, search)
    if full_first:
        weigh_as_beginning(last, clauses)
    joined = add_same(statistics, clauses, terms, matching)
    if pieces:
        held = {clause.term for clause in clauses if clause.holders}
    if fills is not None:
        apart = rarely.apart(statistics, clauses, pieces, held, last, others) if pieces or others else clauses
        plan = plan_of(apart + begun, average, size, full_first, enough)
        if fills(plan):
            return plan
    add_parted(statistics, joined, matching)
    complete_last(statistics, last, clauses, terms, search, rarely)
    read_unknown(statistics, clauses, terms, pieces, last, matching, search, rarely)
    if pieces or others:
        clauses = rarely.apart(statistics, clauses, pieces, held, last, others)
    clauses = clauses + begun
    if require_held(clauses) and match == "auto":
        rarely.needed_together(statistics, clauses)
    let_stop_words_search(clauses)
    if demanded is None:
        set_match(clauses, terms, match, rarely)
    else:
        clauses = demanded(clauses, last)
    return plan_of(clauses, average, size, full_first and match != "any", enough)


cdef Plan plan_of(list clauses, double average, double size, bint full_first, enough):
    cdef Plan plan = Plan.__new__(Plan)
    plan.clauses, plan.average, plan.full_first = clauses, average, full_first
    plan.exponent = min(exponent_max, strength / size) if size else 0.0
    plan.left_out, plan.enough, plan.phrases = nothing_left_out, enough, ()
    return plan
