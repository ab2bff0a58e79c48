"""Words that may stand for a typed one when it finds too little: completions, then corrections, within a budget."""

from collections.abc import Iterator
from typing import NamedTuple

from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.lexicon import Lexicon, by_frequency

EXAMINED = 16
"""Completions whose frequencies are compared before the budget is spent on the best of them."""


class Expansion(NamedTuple):
    """A word in place of the typed one.

    Attributes:
        word: itself.
        share: of the typed word's weight that it counts for at the most.
        completed: it begins with the typed word; else it corrects it.
        edits: how many edits it is away, where it corrects.
    """

    word: bytes
    row: TermInfo
    share: float
    completed: bool
    edits: int = 0


def edits_allowed(length: int) -> int:
    """Return how many edits a word of so many characters may be away."""
    if length < 4:
        return 0
    return 1 if length < 7 else 2 if length < 10 else 3


def edits_allowed_by_sonic(word: bytes, typed_bytes: int) -> int:
    """Return how many edits Sonic allows: by bytes, and no third one with twelve different letters, where its
    automaton would need more than 10,000 states."""
    allowed = edits_allowed(typed_bytes)
    return min(allowed, 2) if len(set(word.decode())) >= 12 else allowed


def alternates(lexicon: Lexicon, term: bytes, found: int, wanted: int, budget: int) -> Iterator[Expansion]:
    """Yield at most `budget` words for `term`, best first, until about `wanted` objects are found.

    Args:
        found: objects that hold the term itself.
        wanted: the end of the page that was asked for.
    """
    if found >= wanted or budget == 0:
        return
    length = len(term.decode())
    completed = [found for found in lexicon.completed(term, EXAMINED + 1) if found[0] != term][:EXAMINED]
    taken = {term}
    for word, row in by_frequency(completed)[:budget]:
        yield Expansion(word, row, 0.9 * length / len(word.decode()), completed=True)
        taken.add(word)
        found += row.df
    budget -= len(taken) - 1
    if found >= wanted or budget == 0:
        return
    matches = lexicon.corrections(term, edits_allowed(length), transpositions=True)
    others = (match for match in matches if match[0] not in taken)
    for word, row, distance in lexicon.nearest(term, others, budget)[:budget]:
        yield Expansion(word, row, 0.5 / distance, completed=False, edits=distance)
