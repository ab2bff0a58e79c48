"""Completions of the last word of a query: it counts as a whole word, and, with less weight, as a beginning.

Completions form a few lists, and every word of a list adds the same to a score: so there can be many words. Where all
of them find few objects, words that begin with the typed one except for errors are added.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonicpy._native.bm25 import idf
from sonicpy._native.clauses import add_misspelt
from sonicpy._native.expansions import corrections
from sonicpy._native.plan import Clause, Plan, Slot, add_expansions
from sonicpy._native.planner import COMPLETION_SHARES
from sonicpy._native.terms import Terms
from sonicpy.index.search.beginnings import edits_of_beginning, likeliest_beginnings
from sonicpy.index.search.begun_words import folded
from sonicpy.index.search.statistics import Statistics

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig

Fills = Callable[[Plan], bool]
"""Returns whether a plan without completions fills the page with objects that hold every word."""

WHOLE_LETTERS_MAX = 6
"""The most letters of a word, held by an object, that is not completed as if its last letter were an error: very many
words begin with all letters of a short word but the last.
"""
TOGETHER_MIN = 5
"""The fewest digits of the numbers at the end of a query that may be the beginning of a longer one."""
LIKELIEST = (4, 16)
"""The most words of the first and of the second list of misspelt words: the likeliest ones."""
LIKELIEST_SHARES = (0.45, 0.4, 0.35)
"""The shares of the typed word's weight that the words of each list have with one error; with two errors, they have
half.
"""


def never(plan: Plan) -> bool:
    """Return False: completions are always added."""
    return False


def complete_numbers(statistics: Statistics, clauses: list[Clause], terms: Terms) -> None:
    """Add the words that begin with the numbers at the end of a query to the clauses of these numbers: addresses and
    versions (`10.0` is two words, and `10.0.0.1` is one), and numbers that are written together (`555 12`: 5551234).
    """
    for numbers, beginning in numbers_together(terms):
        found = statistics.beginnings(beginning, 0)
        words = tuple(sorted(word for word, _, _ in found))
        for clause in clauses if words else ():
            if clause.term in numbers:
                holders = min(sum(row.df for _, row, _ in found), statistics.objects)
                weight = COMPLETION_SHARES[-1] * min(clause.weight, idf(statistics.objects, holders))
                clause.slots.append(Slot(words, weight, how="completion"))
                clause.holders = max(clause.holders, 1)


def numbers_together(terms: Terms) -> list[tuple[list[int], bytes]]:
    """Return the beginnings of words that the numbers at the end of a query make, if there are two or more, with the
    places of these numbers: with points between them, and without signs, also behind a word with digits.
    """
    first = terms.last
    while first >= 0 and terms.words[first].isdigit():
        first -= 1
    numbers = list(range(first + 1, terms.last + 1))
    if len(numbers) < 2:
        return []
    repeated = [terms.words[number] for number in numbers for _ in range(terms.counts[number])]
    found = [(numbers, b".".join(repeated))]
    if first >= 0 and terms.words[first].isalnum() and not terms.words[first].isalpha():
        numbers, repeated = [first, *numbers], [terms.words[first], *repeated]
    together = b"".join(repeated)
    return [*found, (numbers, together)] if len(together) >= TOGETHER_MIN else found


def add_corrections(
    statistics: Statistics, clause: Clause, word: bytes, taken: set[bytes], search: "SearchConfig"
) -> None:
    """Add corrections of the typed word, then words that begin with a correction of it.

    Args:
        taken: words to leave out; the words of the clause are added.
    """
    most = edits_of_beginning(len(word.decode()))
    if clause.holders:  # a word that is held has seldom two errors, and looking for them takes long
        most = min(most, 1)
    whole = corrections(statistics, word, search.query_alternates_try, taken, is_unknown=not clause.holders)
    add_expansions(clause, whole, statistics.objects)
    weight = min([clause.weight, *[idf(statistics.objects, row.df) for _, row, _, _, _ in whole]])
    taken.update(each for slot in clause.slots for each in slot.words)
    likeliest = likeliest_beginnings(statistics, word, most, taken)
    almost = folded(word).decode()[:-1]
    if len(almost) < WHOLE_LETTERS_MAX and statistics.held([word]):  # `tests` is no beginning of testament
        begun = almost.encode()
        likeliest = [
            each for each in likeliest if not (each[0] if each[0].isascii() else folded(each[0])).startswith(begun)
        ]
    add_misspelt(clause, likeliest, weight, statistics.objects, LIKELIEST, LIKELIEST_SHARES)
