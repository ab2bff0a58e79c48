"""Judges corrections: the place of the right word among suggestions, and whether a query with the wrong word finds
it."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from sonicpy.evaluation.inputs import Typos
from sonicpy.evaluation.searched import Searched, fill

SUGGESTED = 5
FOUND_WITHIN = 10
"""The number of first results of a query among which the object of the right word must be."""

EDITS_BY_LENGTH = ((4, 0), (7, 1), (10, 2))
"""Pairs (length, edits): the most edits of a typed word shorter than `length` letters; longer words may have three."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """The figures of one list of misspelt words; the shares are of the judged pairs."""

    name: str
    words: int
    """The number of words that were indexed."""
    pairs: int
    """The number of judged pairs: the right word is indexed, the wrong one is not, and their distance is allowed."""
    first: float
    """The share of the pairs whose right word is suggested first."""
    suggested: float
    """The share of the pairs whose right word is among the first five suggestions."""
    found: float
    """The share of the pairs whose wrong word, as a query, finds the object of the right word among the first ten."""
    suggest_us: float
    query_us: float


def edits_allowed(word: str) -> int:
    """Return the most edits that a typed word may have."""
    return next((edits for length, edits in EDITS_BY_LENGTH if len(word) < length), 3)


def within_reach(pairs: Iterable[tuple[str, str]], words: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the pairs whose distance is allowed for their length; a transposition counts as one edit."""
    return [
        (wrong, right)
        for wrong, right in dict.fromkeys(pairs)
        if right in words and wrong not in words and 0 < OSA.distance(wrong, right) <= edits_allowed(wrong)
    ]


def evaluate(searched: Searched, scope: str, given: Typos, words: Mapping[str, int] | None = None) -> Corrected:
    """Push the words, ask for suggestions and hits for each misspelt word, and return the figures. A pair is judged if
    its distance is allowed for the length of the misspelt word, and only the right word is pushed.

    Args:
        scope: name of a collection that only this evaluation uses.
        words: the words to index, each with its number of objects; None: the right words of the pairs, one object each.
        searched: the judged system.
        given: the misspelt words with the right ones.
    """
    single = [pair for pair in given.pairs if (pair[0] + pair[1]).isalnum()]  # SUGGEST takes one word
    held = words or dict.fromkeys((right for _, right in single), 1)
    pairs = within_reach(single, held)
    objects: defaultdict[str, set[str]] = defaultdict(set)
    rows: list[tuple[str, str]] = []
    for word, count in held.items():
        for _ in range(count):
            objects[word].add(str(len(rows)))
            rows.append((str(len(rows)), word))
    fill(searched, scope, "words", rows, lang="none")
    first = suggested = found = 0
    suggest_s = query_s = 0.0
    for wrong, right in pairs:
        began = time.perf_counter()
        shown = list(searched.suggest(scope, "words", wrong, limit=SUGGESTED))
        suggest_s += time.perf_counter() - began
        began = time.perf_counter()
        answers = searched.query(scope, "words", wrong, limit=FOUND_WITHIN, lang="none")
        query_s += time.perf_counter() - began
        first += shown[:1] == [right]
        suggested += right in shown
        found += not objects[right].isdisjoint(answers)
    count = max(len(pairs), 1)
    return Corrected(
        given.name,
        len(held),
        len(pairs),
        first / count,
        suggested / count,
        found / count,
        suggest_s / count * 1e6,
        query_s / count * 1e6,
    )
