"""Expansions: words that replace a typed word held by few objects. Completions, then corrections, within a budget."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

from sonicpy._native.edit_automaton import accepted, count_states
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.statistics import Statistics

EXAMINED = 256
"""Maximum of completions, in byte order, among which the most frequent ones are chosen. A prefix of three letters
seldom has more."""

STATES_MAX = 10_000
"""Maximum of states of Sonic's automaton; without this limit, it would find more corrections of long words."""


EDITED_LETTERS_MIN = 4
"""Shorter words have no corrections, but for the next ones."""
SWAPPED_LETTERS = 3
"""A word of this number of letters that no object holds may have two neighbours swapped: `teh`."""

CORRECTION_SHARES = (0.8, 0.6, 0.5, 0.4)
"""The share of the typed word's weight that the likeliest correction has, the next ones, and all others; with two
edits, half of it."""


class Expansion(NamedTuple):
    """A word that replaces the typed word.

    Attributes:
        row: its row.
        share: its weight is at most this share of the typed word's.
        how: "completion" (it begins with the typed word) or "correction".
        edits: the number of edits between a correction and the typed word.
    """

    word: bytes
    row: TermInfo
    share: float
    how: str
    edits: int = 0


def edits_allowed(length: int) -> int:
    """Return the maximum of edits for a correction of a word with `length` characters."""
    if length < EDITED_LETTERS_MIN:
        return 0
    return 1 if length < 7 else 2 if length < 10 else 3


def matches_of(statistics: Statistics, word: bytes) -> list[tuple[bytes, int]]:
    """Return the corrections of a word, with their distances: nearest first, then in byte order."""
    swapped = swapped_words(word)
    if swapped and statistics.swaps:
        return [] if statistics.held([word]) else [(each, 1) for each in swapped]
    return statistics.corrections(word, edits_allowed(len(word.decode())), transpositions=True)


def swapped_words(word: bytes) -> list[bytes]:
    """Return the words that differ from a short one in two neighbours that are swapped; none for other words."""
    text = word.decode()
    if len(text) != SWAPPED_LETTERS or not text.isalpha():
        return []
    found = {text[1] + text[0] + text[2], text[0] + text[2] + text[1]} - {text}
    return sorted(map(str.encode, found))


@lru_cache(maxsize=1024)
def states_of(word: bytes, edits: int) -> int:
    """Return the number of states of Sonic's automaton for words within some edits, or one above STATES_MAX."""
    return count_states(word, edits, STATES_MAX)


def edits_allowed_by_sonic(word: bytes, typed_bytes: int) -> int:
    """Return the maximum of edits in Sonic, which counts bytes, and limits its automaton to STATES_MAX states."""
    allowed = edits_allowed(typed_bytes)
    while allowed > 0 and states_of(word, allowed) > STATES_MAX:
        allowed -= 1
    return allowed


def corrections_by_sonic(
    statistics: Statistics, word: bytes, typed_bytes: int, *, of_long: bool = False
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield each distance that Sonic tries, and the words that its automaton of this distance accepts, in byte order.

    A word that is accepted at one distance may be missing at the next one.

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
        found: the number of objects that hold the term itself or its family.
        wanted: the number of objects that is enough.
        family: the other words of the term's family.
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
    matches = matches_of(statistics, term)
    nearest = statistics.nearest(term, matches, budget, besides=taken)[:budget]
    shares = chain(CORRECTION_SHARES, repeat(CORRECTION_SHARES[-1]))
    for word, row, distance in nearest:
        yield Expansion(word, row, next(shares) / distance, "correction", distance)
