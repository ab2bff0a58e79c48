"""Expansions: words that stand for a typed one that few objects hold. Completions, then corrections, in a budget."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from sonicpy._native.edit_automaton import accepted, count_states
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.statistics import Statistics

EXAMINED = 256
"""Completions compared before the budget is spent on those that most objects hold, at most; the first in byte order.
A prefix of three letters seldom has more."""

STATES_MAX = 10_000
"""States of an automaton of Sonic, at most; without that, it would find more corrections of long words."""


class Expansion(NamedTuple):
    """A word that stands for the typed one.

    Attributes:
        row: its row.
        share: it counts for at most this share of the typed word's weight.
        how: "completion" (it begins with the typed word) or "correction".
        edits: how many edits a correction is away from the typed word.
    """

    word: bytes
    row: TermInfo
    share: float
    how: str
    edits: int = 0


def edits_allowed(length: int) -> int:
    """Return how many edits a correction of a word with `length` characters may be away."""
    if length < 4:
        return 0
    return 1 if length < 7 else 2 if length < 10 else 3


@lru_cache(maxsize=1024)
def states_of(word: bytes, edits: int) -> int:
    """Return how many states Sonic's automaton of the words within some edits has, or any number above STATES_MAX."""
    return count_states(word, edits, STATES_MAX)


def edits_allowed_by_sonic(word: bytes, typed_bytes: int) -> int:
    """Return how many edits Sonic allows: it counts bytes, and builds no automaton of more than STATES_MAX states."""
    allowed = edits_allowed(typed_bytes)
    while allowed > 0 and states_of(word, allowed) > STATES_MAX:
        allowed -= 1
    return allowed


def corrections_by_sonic(
    statistics: Statistics, word: bytes, typed_bytes: int, *, of_long: bool = False
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield each distance that Sonic tries, and the words that its automaton of this distance reads, in byte order.

    A word that is read at one distance may be lost at the next one.

    Args:
        of_long: as in `Lexicon.corrections`.
    """
    allowed = edits_allowed_by_sonic(word, typed_bytes)
    matches = statistics.corrections(word, allowed, transpositions=False, of_long=of_long)
    for distance in range(1, allowed + 1):
        near = sorted(found for found, edits in matches if edits <= distance)
        yield distance, near if word.isascii() else accepted(word, distance, near)


def expansions(
    statistics: Statistics, term: bytes, found: int, wanted: int, budget: int, family: Collection[bytes] = ()
) -> Iterator[Expansion]:
    """Yield at most `budget` expansions of `term`, best first, until about `wanted` objects are found.

    Args:
        found: how many objects hold the term itself or its family.
        wanted: how many objects are enough.
        family: other words that the term stands for.
    """
    if found >= wanted or budget == 0:
        return
    length = len(term.decode())
    taken = {term, *family}
    likely = statistics.likely(term, budget + len(taken), EXAMINED)
    for word, row in statistics.held([each for each in likely if each not in taken][:budget]):
        yield Expansion(word, row, 0.9 * length / len(word.decode()), "completion")
        taken.add(word)
        found += row.df
    if found < wanted:
        yield from corrections(statistics, term, budget - (len(taken) - 1 - len(family)), taken)


def corrections(statistics: Statistics, term: bytes, budget: int, taken: Collection[bytes]) -> Iterator[Expansion]:
    """Yield at most `budget` corrections of `term`, best first, but for those that are taken."""
    if budget <= 0:
        return
    matches = statistics.corrections(term, edits_allowed(len(term.decode())), transpositions=True)
    for word, row, distance in statistics.nearest(term, matches, budget, besides=taken)[:budget]:
        yield Expansion(word, row, 0.5 / distance, "correction", distance)
