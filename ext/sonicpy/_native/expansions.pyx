"""Expansions: words that replace a typed word which few objects hold. Completions come first, then corrections, within
a budget."""

from libc.stdint cimport INT64_MAX, int64_t, uint64_t

from sonicpy._native.nearest cimport kept_letters
from sonicpy._native.plan cimport Clause, Slot, put_expansions
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.utf8 cimport letters_in

cdef enum:
    AMONG = 256
    LETTERS_MIN = 4
    SWAPPED = 3
    OF_SEVEN = 7  # letters: a word has two edits from here on,
    OF_TEN = 10  # and three

EXAMINED = AMONG
"""The most completions, in byte order, among which the most frequent ones are chosen. A prefix of three letters
seldom has more."""
EDITED_LETTERS_MIN = LETTERS_MIN
"""The least number of letters of a word with corrections. A word of three letters that no object holds has those with
two neighbours swapped."""

cdef double COMPLETED_SHARE = 0.9  # of the typed word's weight: that of a completion, by the letters that it shares
cdef double[4] SHARES = [0.8, 0.6, 0.5, 0.4]
# The share of the typed word's weight that the likeliest correction has, the next ones, and all others; with two edits,
# half of it. If no object holds the typed word, a correction that keeps as many letters as the one before and has at
# least half as many holders has the same share.


def edits_allowed(Py_ssize_t length) -> int:
    """Return the greatest number of edits for a correction of a word with `length` characters."""
    return edits_of(length)


cdef inline int edits_of(Py_ssize_t length) noexcept:
    if length < LETTERS_MIN:
        return 0
    return 1 if length < OF_SEVEN else 2 if length < OF_TEN else 3


def matches_of(statistics, bytes word not None) -> list:
    """Return the corrections of a word, with their distances: nearest first, then in byte order.

    Args:
        statistics: see `Statistics`.
    """
    return matches(statistics, word, letters_in(word, len(word)))


cdef list matches(statistics, bytes word, Py_ssize_t letters):
    cdef list swapped
    if letters == SWAPPED:
        swapped = swaps_of(word)
        if swapped and statistics.swaps:
            return [] if statistics.held([word]) else [(each, 1) for each in swapped]
    if letters < LETTERS_MIN:
        return []
    return statistics.corrections(word, edits_of(letters), transpositions=True)


def swapped_words(bytes word not None) -> list:
    """Return the words that a swap of two neighbours makes of a short word; an empty list for words that are not
    short."""
    return swaps_of(word) if letters_in(word, len(word)) == SWAPPED else []


cdef list swaps_of(bytes word):
    cdef str text = word.decode()
    cdef str first = text[0], second = text[1], third = text[2]
    if not text.isalpha():
        return []
    return sorted([each.encode() for each in {second + first + third, first + third + second} if each != text])


def corrections(
    statistics, bytes term not None, Py_ssize_t budget, taken, *, bint is_unknown=False
) -> list:
    """Return at most `budget` corrections of `term`, best first, without words in `taken`, in the form of `expansions`.

    Args:
        statistics: see `Statistics`.
        is_unknown: no object holds the term; see SHARES.
    """
    return corrections_of(statistics, term, budget, taken, is_unknown)


cdef list corrections_of(statistics, bytes term, Py_ssize_t budget, taken, bint is_unknown):
    cdef list found = [], near, nearest
    cdef Py_ssize_t at, place = 0
    cdef int edits, kept, before_edits = 0, before_kept = 0
    cdef uint64_t before_holders = 0
    cdef bytes word
    cdef TermInfo row
    if budget <= 0:
        return found
    near = matches(statistics, term, letters_in(term, len(term)))
    if not near:
        return found
    nearest = statistics.nearest(term, near, budget, taken)
    budget = min(len(nearest), budget)
    for at in range(budget):
        word, row, edits = nearest[at]
        kept = kept_letters(term, word) if is_unknown and budget > 1 else 0
        if not is_unknown or edits != before_edits or kept != before_kept or 2 * row._word.df < before_holders:
            place, before_edits, before_kept, before_holders = at, edits, kept, row._word.df
        found.append((word, row, SHARES[min(place, 3)] / edits, "correction", edits))
    return found


cdef list expansions_of(statistics, bytes term, uint64_t found, wanted, Py_ssize_t budget, tuple family):
    cdef int64_t enough = min(wanted, INT64_MAX)
    cdef list expanded = [], likely, others = []
    cdef bint is_unknown = found == 0
    cdef set taken
    cdef double length
    cdef bytes word
    cdef TermInfo row
    if <int64_t> found >= enough or budget == 0:
        return expanded
    length = letters_in(term, len(term))
    taken = set(family)
    taken.add(term)
    likely = statistics.likely(term, budget + len(taken), AMONG)
    for word in likely:
        if word not in taken and len(others) < budget:
            others.append(word)
    if others:
        for word, row in statistics.held(others):
            expanded.append((word, row, COMPLETED_SHARE * length / <double> letters_in(word, len(word)), "completion", 0))
            taken.add(word)
            found += row._word.df
    if <int64_t> found < enough:
        expanded += corrections_of(statistics, term, budget - len(expanded), taken, is_unknown)
    return expanded


def expansions(statistics, bytes term not None, uint64_t found, wanted, Py_ssize_t budget, tuple family=()) -> list:
    """Return at most `budget` expansions of `term`, best first, until about `wanted` objects are found.

    Args:
        statistics: see `Statistics`.
        found: the number of objects that hold the term itself or its family.
        wanted: the number of objects that are enough.
        family: the other words of the term's family.

    Returns:
        A list of (word, row, share, how, edits): the weight of the word is at most this share of the typed word's; `how`
        is "completion" (it begins with the typed word) or "correction"; `edits` are those of a correction.
    """
    return expansions_of(statistics, term, found, wanted, budget, family)


def expand(statistics, Clause clause not None, uint64_t found, search) -> None:
    """Add the expansions of a word to its clause, unless enough objects hold it or another word of its family.

    Args:
        statistics: see `Statistics`.
        found: the number of objects that hold the word or its family.
        search: the settings of searches.
    """
    put_expanded(statistics, clause, found, search)


cdef int put_expanded(statistics, Clause clause, uint64_t found, search) except -1:
    cdef tuple words = (<Slot?> clause.slots[0]).words
    cdef list others = expansions_of(
        statistics, words[0], found, search.alternates_below, search.query_alternates_try, words[1:]
    )
    if others:
        put_expansions(clause, others, statistics.objects)
    return 0
