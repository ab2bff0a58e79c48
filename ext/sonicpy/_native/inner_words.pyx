"""The words that have a word of a query as a part: which of them a plan adds to its clauses, and when.

Words that count as the typed one are added before a plan is tried, because objects with them hold the typed word. The
others are looked for only if the plan does not fill a page.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from sonicpy._native.plan cimport PART_SHARE, Clause, Slot, put_joined
from sonicpy._native.terms cimport Terms
from sonicpy._native.top_k cimport COMPLETED, EXACT

from sonicpy._native.clauses import whole_clauses
from sonicpy._native.parts import tokens_of

cdef enum:
    LOW_LINE = 95
    WITH_SEVERAL = 16  # words that have several words of a query as parts, at most, to count as these words together
    LOOKED_UP = 64  # words whose rows are read at once to count them

cdef double TOGETHER_SHARE = 0.5  # of a term's weight that a word has that has other words of the query as parts, too


def core_of(bytes word not None) -> bytes:
    """Return a word without the signs at its ends; a word of several tokens is returned as it is."""
    cdef list tokens
    if word.isalnum():
        return word
    tokens = tokens_of(word)
    return tokens[0] if len(tokens) == 1 else word


def add_inner(statistics, list clauses not None, Terms terms not None, matching) -> None:
    """Add to the clauses that bring objects the words that have the typed word, or a form of it, as a part.

    A word that has several words of the query as parts is these words, written together: `get_user_by_id` for `get user`.

    Args:
        matching: the matching of families; None: no word has a family.
    """
    add_parted(statistics, add_same(statistics, clauses, terms, matching), matching)


cdef list add_same(statistics, list clauses, Terms terms, matching):
    """Add to the clauses those words with the typed word as a part that count as the word itself: they make an object
    hold every word of the query.

    Returns:
        The clauses with other such words, and these words; None for the words if they have not been looked up.
    """
    cdef list joined = [], words, same, few
    cdef set several
    cdef Clause clause
    cdef Py_ssize_t place
    cdef list whole = whole_clauses(clauses, terms)
    if len(whole) == 1:  # no word has several words of the query as parts, and those with a form as a part are no cores
        clause = whole[0]
        words = []
        for typed in typed_by(clause):
            words += statistics.joined(core_of(typed), None)
        same = cores(words, typed_by(clause))
        put_counted(statistics, clause, list(dict.fromkeys(same)), PART_SHARE)
        return [(clause, None)]
    for clause in whole:
        words = joined_with(statistics, clause, matching)
        if words:
            joined.append((clause, words))
    several = with_several(statistics, joined) if len(joined) > 1 else None
    for place, (clause, words) in enumerate(joined):
        same = cores(words, typed_by(clause))
        few = [word for word in words if word in several and word not in same] if several else []
        put_counted(statistics, clause, same, PART_SHARE)  # first, so that it comes behind the word itself
        put_counted(statistics, clause, few, TOGETHER_SHARE)
        if same or few:
            joined[place] = clause, [word for word in words if word not in same and word not in few]
    return joined


cdef inline tuple typed_by(Clause clause):
    return (<Slot?> clause.slots[0]).words


cdef list joined_with(statistics, Clause clause, matching):
    return statistics.joined(core_of(typed_by(clause)[0]), matching)


cdef int put_counted(statistics, Clause clause, list words, double share) except -1:
    """Add words that count as the typed one to a clause."""
    if words:
        put_joined(clause, words, dict(statistics.held(words)), statistics.objects, share, EXACT)
    return 0


cdef int add_parted(statistics, list joined, matching) except -1:
    """Add the other words that have the typed word as a part.

    Args:
        joined: the result of `add_same`.
        matching: the matching of families; None: no word has a family.
    """
    cdef list asked = [], words, same
    cdef dict held
    cdef Clause clause
    cdef Py_ssize_t place
    for place, (clause, words) in enumerate(joined):
        if words is None:
            words = joined_with(statistics, clause, matching)
            same = cores(words, typed_by(clause))
            joined[place] = clause, [word for word in words if word not in same] if same else words
        asked += joined[place][1]
    if asked:
        held = dict(statistics.held(asked))
        for clause, words in joined:
            put_joined(clause, words, held, statistics.objects, PART_SHARE, COMPLETED)
    return 0


cdef set with_several(statistics, list joined):
    """Return the words that objects hold and that have several words of a query as parts; None: there are none. If
    there are very many, as of `www` and `com`, they are none.

    Args:
        joined: for each word of the query, its clause and the words that have it as a part.
    """
    cdef set once = set(), several = set(), found = set()
    cdef list words, asked
    cdef Py_ssize_t at
    for words in sorted([words for _, words in joined], key=len):
        several.update(once.intersection(words))
        once.update(words)
    asked = list(several)
    for at in range(0, len(asked), LOOKED_UP):  # so that of very many, few rows are read
        found.update([word for word, _ in statistics.held(asked[at:at + LOOKED_UP])])
        if len(found) > WITH_SEVERAL:
            return None
    return found or None


cdef list cores(list words, tuple typed):
    """Return the words that are typed ones with low lines at their ends: `__main__`, or `_so_` in Markdown."""
    cdef list found = []
    cdef bytes word
    cdef const char *text
    for word in words:
        text = PyBytes_AS_STRING(word)
        if (text[0] == LOW_LINE or text[PyBytes_GET_SIZE(word) - 1] == LOW_LINE) and word.strip(b"_") in typed:
            found.append(word)
    return found
