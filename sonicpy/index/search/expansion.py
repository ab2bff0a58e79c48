"""The corrections of Sonic: the words that an automaton of some edits accepts."""

from collections.abc import Iterator
from functools import lru_cache

from sonicpy._native.edit_automaton import accepted, count_states
from sonicpy._native.expansions import edits_allowed
from sonicpy.index.search.statistics import Statistics

STATES_MAX = 10_000
"""The most states of Sonic's automaton; without this limit, it would find more corrections of long words."""


@lru_cache(maxsize=1024)
def states_of(word: bytes, edits: int) -> int:
    """Return the number of states of Sonic's automaton for words within some edits, or one above STATES_MAX."""
    return count_states(word, edits, STATES_MAX)


def edits_allowed_by_sonic(word: bytes, typed_bytes: int) -> int:
    """Return the most edits in Sonic, which counts bytes and limits its automaton to STATES_MAX states.

    Args:
        word: the word as the automaton reads it.
        typed_bytes: the length of the word as typed, in bytes, on which the number depends.
    """
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
        typed_bytes: as in `edits_allowed_by_sonic`.
        of_long: as in `Lexicon.corrections`.
    """
    allowed = edits_allowed_by_sonic(word, typed_bytes)
    matches = statistics.corrections(word, allowed, transpositions=False, of_long=of_long)
    for distance in range(1, allowed + 1):
        near = sorted(found for found, edits in matches if edits <= distance)
        yield distance, near if word.isascii() else accepted(word, distance, near)
