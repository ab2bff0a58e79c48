"""Quick checks of the clauses of a query. The result of most checks is empty for most queries.

So a planner takes the steps for words of other spellings, of scripts without blanks, and of unknown pieces only if a
query has such a word.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.bm25 cimport idf
from sonicpy._native.characters cimport UNSPACED, properties_at
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, R_REQUIRED, Clause, Plan, Slot, like, new_slot
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.terms cimport F_PART, F_SPECIAL, F_STOP, Terms
from sonicpy._native.top_k cimport COMPLETED, CORRECTED, EXACT
from sonicpy._native.word_break cimport letter_end
from sonicpy._native.word_source cimport are_two

from sonicpy._native.plan import by_length

cdef enum:
    HAN_OR_KANA = 0xE3  # the first byte of a letter of Han or kana in UTF-8, at least
    PIECE = 4  # letters of each of the two words that a word is cut into although objects hold it, at least

HELD_PIECE_LETTERS_MIN = PIECE


cdef uint8_t flags_without(Terms terms) noexcept:
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef Py_ssize_t number
    for number in range(PyBytes_GET_SIZE(terms.flags)):
        if not flags[number] & (F_STOP | F_PART):
            return F_SPECIAL | F_PART | F_STOP
    return F_SPECIAL | F_PART


def without_family(Terms terms not None) -> int:
    """Return the flags of the terms that have no family in a query.

    These are special words, parts of runs without blanks, and stop words unless the query has no other words.
    """
    return flags_without(terms)


def other_words(Terms terms not None, matching, family not None, same_numbers not None, spelled not None) -> tuple:
    """Return two dicts, number of a term -> other words: the words that the terms of a query surely find, and those
    that they may find.

    Args:
        matching: the matching of families; None: no word has a family.
        family: a function that returns, as two tuples, the words that a word surely finds, and those that it may find.
        same_numbers: a function that returns the other ways to write a number.
        spelled: a function that returns the other spellings of letters of Han or kana.
    """
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef uint8_t without = flags_without(terms), first
    cdef Py_ssize_t number
    cdef dict surely = {}, perhaps = {}
    cdef bytes word
    for number in range(len(terms.words)):
        word = terms.words[number]
        first = <uint8_t> PyBytes_AS_STRING(word)[0]
        if c'0' <= first <= c'9':
            words, doubtful = tuple(same_numbers(word)), ()
        elif matching is None or flags[number] & without:
            words = doubtful = ()
        else:
            words, doubtful = family(word, matching)
        if matching is not None and first >= HAN_OR_KANA:
            doubtful = spelled(word) or doubtful
        if words:
            surely[number] = words
        if doubtful:
            perhaps[number] = doubtful
    return surely, perhaps


cdef inline bint is_whole(Clause clause, const uint8_t *flags) noexcept:
    """Return whether a clause brings objects, and its term is no part of a run without blanks."""
    return clause.role & R_BRINGS and not flags[clause.term] & F_PART


cdef const uint8_t *flags_of(list clauses, Terms terms) except NULL:
    cdef Clause clause
    for clause in clauses:
        if not 0 <= clause.term < PyBytes_GET_SIZE(terms.flags):
            raise ValueError(f"term {clause.term} has no flags")
    return <const uint8_t *> PyBytes_AS_STRING(terms.flags)


cdef inline bytes typed_word(Clause clause):
    return (<Slot?> clause.slots[0]).words[0]


cdef bint has_only_letters(bytes word) noexcept:
    cdef const uint8_t *text = <const uint8_t *> PyBytes_AS_STRING(word)
    cdef Py_ssize_t at
    for at in range(PyBytes_GET_SIZE(word)):
        if not c'a' <= (text[at] | 0x20) <= c'z':
            return False
    return PyBytes_GET_SIZE(word) > 0


def whole_clauses(list clauses not None, Terms terms not None) -> list:
    """Return the clauses that bring objects, and whose terms are no parts of runs without blanks.

    Raises:
        ValueError: a term has no flags.
    """
    cdef const uint8_t *flags = flags_of(clauses, terms)
    cdef Clause clause
    return [clause for clause in clauses if is_whole(clause, flags)]


def cuttable_clauses(list clauses not None, Terms terms not None, list sources=None) -> list:
    """Return the `whole_clauses` whose words may be written apart: words with other characters than a to z, words that
    no object holds, and words that are expanded and consist of two others. Raises the errors of `whole_clauses`.

    Args:
        sources: the words that objects may hold; None: any word may be held.
    """
    cdef const uint8_t *flags = flags_of(clauses, terms)
    cdef Clause clause
    return [
        clause
        for clause in clauses
        if is_whole(clause, flags)
        and not (clause.holders and has_only_letters(typed_word(clause)) and not may_be_two(clause, sources))
    ]


cdef bint may_be_two(Clause clause, list sources) except -1:
    """Return whether the word of a clause, which few objects hold, may consist of two words that objects hold."""
    cdef bytes word = typed_word(clause)
    if not clause.is_expandable or len(word) < 2 * PIECE:
        return False
    return sources is None or are_two(sources, <const uint8_t *> PyBytes_AS_STRING(word), len(word), PIECE)


def run_clauses(list clauses not None, Terms terms not None) -> list:
    """Return the `whole_clauses` whose words begin with a letter of a script without blanks, and have at least two
    letters. Raises the errors of `whole_clauses`."""
    cdef const uint8_t *flags = flags_of(clauses, terms)
    cdef const uint8_t *text
    cdef Clause clause
    cdef bytes word
    cdef list found = []
    for clause in clauses:
        if is_whole(clause, flags):
            word = typed_word(clause)
            text = <const uint8_t *> PyBytes_AS_STRING(word)
            if properties_at(text, PyBytes_GET_SIZE(word), 0) & UNSPACED and (
                letter_end(text, PyBytes_GET_SIZE(word), 0) < PyBytes_GET_SIZE(word)
            ):
                found.append(clause)
    return found


def bringing_clause(list clauses not None, Py_ssize_t term):
    """Return the first clause of a term that brings objects; None: no clause does."""
    cdef Clause clause
    for clause in clauses:
        if clause.term == term and clause.role & R_BRINGS:
            return clause
    return None


def add_misspelt(
    Clause clause not None, list likeliest not None, double weight, uint64_t objects, tuple ends not None,
    tuple shares not None,
) -> None:
    """Add to the clause of a typed word the words that begin with it, but for errors, as slots for each number of
    errors.

    Args:
        likeliest: the words as (word, row, errors), by rising number of errors; of each number, the likeliest first.
        weight: the largest weight of a word of the clause: that of the typed word.
        objects: the number of objects of the bucket.
        ends: for each slot but the last, the number of likeliest words up to its end.
        shares: for each slot, the share of the weight that its words have with one error; with two errors, they have
            half of it.
    """
    cdef Py_ssize_t start = 0, end, first, last, number, count = len(likeliest)
    cdef uint64_t holders
    cdef int edits, its
    cdef double most
    cdef list words
    cdef bytes word
    cdef TermInfo row
    while start < count:
        edits = likeliest[start][2]
        words, holders, end = [], 0, start
        while end < count:
            word, row, its = likeliest[end]
            if its != edits:
                break
            words.append(word)
            holders += row._word.df
            end += 1
        most, first = min(weight, idf(objects, min(holders, objects))), 0
        for number in range(len(shares)):
            last = ends[number] if number < len(ends) else len(words)
            if words[first:last]:
                clause.slots.append(
                    new_slot(tuple(words[first:last]), <double> shares[number] / edits * most, 0.0, CORRECTED, edits)
                )
            first = last
        start = end


def require_held(list clauses not None) -> bool:
    """Make terms that no object holds, such as an unknown identifier, not required; return whether one still is."""
    cdef Clause clause
    cdef bint is_any = False
    for clause in clauses:
        if clause.role & R_REQUIRED:
            if clause.holders:
                is_any = True
            else:
                clause.role &= ~R_REQUIRED
    return is_any


def set_match(list clauses not None, Terms terms not None, str match not None, rarely) -> None:
    """Set whether objects have to hold the typed words that bring them.

    Args:
        match: "all": every word is required; "any": none is; "auto": the words that are required stay so.
        rarely: see `Rarely` in planner.pyi; of a run without blanks, only the pairs of letters are required.
    """
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef Clause clause
    cdef bint all_words = match == "all", has_parts = False
    cdef Py_ssize_t number
    cdef set needed = None
    if match == "auto":
        return
    if all_words:
        for number in range(PyBytes_GET_SIZE(terms.flags)):
            has_parts |= flags[number] & F_PART != 0
        if has_parts:
            needed = rarely.needed(terms)
    for clause in clauses:
        if not is_typed(clause):
            continue
        if not all_words:
            clause.role &= ~R_REQUIRED
        elif clause.role & R_BRINGS and (needed is None or clause.term in needed):
            clause.role |= R_REQUIRED


cdef inline bint is_typed(Clause clause):
    """Return whether a clause represents its own term, and does not only add to the scores of other words."""
    cdef Slot first = clause.slots[0]
    return not clause.role & R_FORBIDDEN and first.kind == EXACT and not (first.is_form or first.is_synonym)


def may_fill(Plan plan not None, uint64_t wanted, uint64_t objects, double together) -> bool:
    """Return whether it is likely that at least `wanted` objects hold every word of a plan.

    Args:
        objects: the number of all objects.
        together: the factor by which words are together in an object more often than by chance.
    """
    cdef Clause clause
    cdef double expected = objects
    cdef uint64_t holders
    if not plan.full_first or not objects:
        return False
    for clause in plan.clauses:
        if clause.role & R_BRINGS:
            holders = clause.holders * <uint64_t> len((<Slot?> clause.slots[0]).words)
            if holders < wanted:
                return False
            expected *= <double> holders / <double> objects
    return expected * together >= <double> wanted


def add_completions(
    Clause last not None, list clauses not None, list begun not None, Py_ssize_t long_from, Py_ssize_t longest_from,
    tuple shares not None, uint64_t objects,
) -> tuple:
    """Add to the clause of the last word the words that begin with it, as one slot for each list of `by_length`.

    A word of another clause is no completion if there are others: in `john jo`, the second word is hardly the first one
    again.

    Args:
        clauses: the clauses of the query.
        begun: the words that begin with the last one, as (word, row, errors).
        long_from, longest_from: see `by_length`.
        shares: for each list, the share of the typed word's weight that its words have.
        objects: the number of all objects.

    Returns:
        The set of the words of the clause, and the sum of the numbers of objects that hold each completion.
    """
    cdef set taken = set(), others = set(), held
    cdef Clause clause
    cdef Slot slot
    cdef tuple lists
    cdef list words, slots
    cdef uint64_t holders
    cdef Py_ssize_t letters = len(typed_word(last).decode()), number
    cdef double weight
    for slot in last.slots:
        taken.update(slot.words)
    for clause in clauses:
        if clause is not last:
            others.update((<Slot?> clause.slots[0]).words)
    lists, holders = by_length(begun, letters, long_from, longest_from, taken | others)
    if holders or last.holders:
        slots = [last.slots[0]]
        for number in range(1, len(last.slots)):
            slot = without(last.slots[number], others)
            if slot is not None:
                slots.append(slot)
        last.slots[:] = slots
    else:
        lists, holders = by_length(begun, letters, long_from, longest_from, taken)
    weight = min(last.weight, idf(objects, min(holders, objects)))
    for number, words in enumerate(lists):
        if words:
            last.slots.append(new_slot(tuple(words), <double> shares[number] * weight, 0.0, COMPLETED, 0))
            taken.update(words)
    return taken, holders


cdef Slot without(Slot slot, set words):
    """Return a slot without the given words; None: nothing is left.

    Words of groups stay, because an object has to hold all words of a group. Exact words stay: `éb é` written together
    is also a form of `éb`, and an object with this word holds every word of the query.
    """
    cdef tuple left
    if slot.kind == EXACT and not slot.is_synonym or slot.together or words.isdisjoint(slot.words):
        return slot
    left = tuple([word for word in slot.words if word not in words])
    if not left:
        return None
    return like(slot, left, 1.0)
