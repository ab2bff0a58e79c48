"""The last word of a query is a word and a beginning: the words that begin so stand for it, too, below itself.

They are few lists, not one for each word: an object gains the same from any of the words of a list, so that the words
can be many. Where all of them find few objects, those join them that begin so but for typing errors.
"""

from collections.abc import Callable, Iterator, Sequence

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import BRINGS, Clause, Plan, Slot, add_expansions
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, Terms
from sonicpy.config import SearchConfig
from sonicpy.index.search.beginnings import edits_of_beginning, likeliest_beginnings
from sonicpy.index.search.expansion import corrections
from sonicpy.index.search.statistics import Statistics

Fills = Callable[[Plan], bool]
"""Returns whether a plan without completions finds enough: as many objects that hold every word as the page has."""
Held = Sequence[tuple[bytes, TermInfo]]

LONGER = (2, 5)
"""How many letters more the words of the first lists of completions have, at most; the last list has all others."""
COMPLETION_SHARE = 0.9
"""Of the weight of the typed word, what a completion counts that is hardly longer."""
LIKELIEST = (4, 16)
"""How many of the likeliest words with typing errors are in the first lists."""
LIKELIEST_SHARES = (0.45, 0.4, 0.35)
"""Of the weight of the typed word, what the words of these lists count with one error; with two, half of it."""


def never(plan: Plan) -> bool:
    """Return that completions have to be added."""
    return False


def is_completed(flags: int) -> bool:
    """Return whether a term that a query ends in is completed."""
    return not flags & (SPECIAL | PART)


def last_of(clauses: list[Clause], terms: Terms) -> Clause | None:
    """Return the clause of the word that the text ends in; None: the text ends in no word that is completed."""
    if terms.last < 0 or not is_completed(terms.flags[terms.last]):
        return None
    return next((each for each in clauses if each.term == terms.last and each.role & BRINGS), None)


def complete(statistics: Statistics, last: Clause, clauses: list[Clause], search: SearchConfig) -> None:
    """Add to the clause of the last word the words that begin so."""
    word = last.slots[0].words[0]
    taken = set(last.slots[0].words)
    found = [(each, row) for each, row, _ in statistics.beginnings(word, 0) if each not in taken]
    others = {each for clause in clauses if clause is not last for each in clause.slots[0].words}
    apart = [each for each in found if each[0] not in others]
    if apart or last.holders:  # john jo: whoever types it looks for another word than john
        found = apart
    last.slots.extend(_completions(word, found, last.weight, statistics.objects))
    if last.is_expandable and last.holders + sum(row.df for _, row in found) < search.alternates_below:
        taken.update(each for each, _ in found)
        _add_corrections(statistics, last, word, taken, search)
    add_expansions(last, (), statistics.objects)


def _completions(word: bytes, found: Held, weight: float, objects: int) -> Iterator[Slot]:
    """Yield completions as lists: words that are hardly longer than the typed one, longer ones, the longest."""
    length = len(word.decode())
    lists: list[list[tuple[bytes, TermInfo]]] = [[] for _ in (*LONGER, None)]
    for each in found:
        more = len(each[0].decode()) - length
        lists[sum(more > most for most in LONGER)].append(each)
    weight = min(weight, _idf_of(found, objects))
    longer = (0, *LONGER)
    for place, held in enumerate(lists):
        if held:
            share = COMPLETION_SHARE * length / (length + longer[place] + 1)
            yield Slot(tuple(each for each, _ in held), share * weight, how="completion")


def _add_corrections(
    statistics: Statistics, clause: Clause, word: bytes, taken: set[bytes], search: SearchConfig
) -> None:
    """Add words that the typed one may be with typing errors, then those that may begin so."""
    add_expansions(clause, corrections(statistics, word, search.query_alternates_try, taken), statistics.objects)
    taken.update(each for slot in clause.slots for each in slot.words)
    near = statistics.beginnings(word, edits_of_beginning(len(word.decode())))
    likeliest = likeliest_beginnings(word, near, taken)
    for edits in sorted({its for _, _, its in likeliest}):
        held = [(each, row) for each, row, its in likeliest if its == edits]
        clause.slots.extend(_misspelt(held, edits, clause.weight, statistics.objects))


def _misspelt(held: Held, edits: int, weight: float, objects: int) -> Iterator[Slot]:
    """Yield words that begin as the typed one but for some errors, as lists: the likeliest ones are the first.

    Args:
        held: the likeliest first.
    """
    weight = min(weight, _idf_of(held, objects))
    start = 0
    for share, end in zip(LIKELIEST_SHARES, (*LIKELIEST, len(held)), strict=True):
        if held[start:end]:
            listed = tuple(each for each, _ in held[start:end])
            yield Slot(listed, share / edits * weight, how="correction", edits=edits)
        start = end


def _idf_of(held: Held, objects: int) -> float:
    """Return the weight of some words as if they were one."""
    return idf(objects, min(sum(row.df for _, row in held), objects))
