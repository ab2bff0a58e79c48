"""SUGGEST of several words: words that complete the last one and come together with those before it.

A completion is ranked by the number of objects that hold it together with the words before, each of which represents
its family, too. If no object holds a completion together with all of them, the first word is left out, and so on. Words
that no object holds are left out from the beginning.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from sonicpy._native.together import count_together
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics
from sonicpy.index.search.suggest import completed, suggest_likely

COMPLETIONS_COUNTED = 256
"""The most completions that are counted together with the words before; the frequent ones come first."""
OTHERS_COUNTED = 20
"""The most corrections that are counted, and the most compounds of which the last word completes a part."""
BEFORE_MAX = 4
"""The most words before the typed one that are considered: the last ones."""


class Typed(NamedTuple):
    """A text for SUGGEST.

    Attributes:
        before: the words before the last one, as typed, each with the Matching that leads to its family; None: it has
            no family.
        word: the last word.
        length: the length of the last word as typed, in bytes.
        joined: the letters in front of the last word behind the last blank, as typed, such as "wi-" of "wi-f".
    """

    before: list[tuple[bytes, Matching | None]]
    word: bytes
    length: int
    joined: str = ""

    @property
    def whole(self) -> bytes:
        """The text behind the last blank, if it has several words that may be the beginning of one, such as an address;
        else empty."""
        return (self.joined + self.word.decode()).lower().encode() if self.joined else b""

    def shown(self, words: Iterable[bytes]) -> list[str]:
        """Return the suggestions, each as a replacement of the text behind the last blank."""
        found = list(map(bytes.decode, words))
        return [self.joined + word for word in found] if self.joined else found


Fitting = Generator[tuple[list[list[bytes]], list[bytes]], list[int], list[bytes]]
"""Yields groups of words, and words; is sent how many objects hold each of these words together with one word of each
group; returns suggestions.
"""

CountTogether = Callable[[list[list[bytes]], list[bytes]], list[int]]
"""Returns how many objects of a bucket hold each of some words together with one word of each group."""


def suggest_fitting(statistics: Statistics, typed: Typed, limit: int, *, filtered: bool = False) -> Fitting:
    """Find at most `limit` words that complete or correct the last word: first those that most objects hold together
    with the words before, then the most frequent ones. A word that no object holds together with them is left out,
    unless this is true of all words.

    Args:
        filtered: only objects that pass a filter are counted, and a word that none of them holds is never found.
    """
    groups, word = _groups(statistics, typed), typed.word
    found = completed(statistics, word, max(COMPLETIONS_COUNTED, limit))
    others: list[bytes] | None = None
    for first in range(len(groups)):
        fitting = yield from _fitting(found, groups[first:])
        if len(fitting) >= limit or (fitting and len(found) >= limit):
            return fitting[:limit]
        if others is None:
            wanted = len(found) + OTHERS_COUNTED
            others = [each for each in suggest_likely(statistics, word, wanted) if each not in found]
        fitting += yield from _fitting(others, groups[first:])
        if fitting:
            return fitting[:limit]
    return [] if filtered else suggest_likely(statistics, word, limit)


def counted_in(lexicons: Sequence[Lexicon], steps: Fitting, window: int) -> list[bytes]:
    """Return the suggestions of `suggest_fitting`, counted in the objects of some buckets.

    Args:
        window: only this many objects of each word are read, the newest ones; 0: all.
    """
    return counted_by(steps, [partial(count_in, each, window=window) for each in lexicons])


def counted_by(steps: Fitting, counters: Sequence[CountTogether]) -> list[bytes]:
    """Return the suggestions of `suggest_fitting`, counted by functions.

    Args:
        counters: one for each bucket or part.
    """
    counts: list[int] | None = None
    while True:
        try:
            groups, words = next(steps) if counts is None else steps.send(counts)
        except StopIteration as end:
            found: list[bytes] = end.value
            return found
        counts = [sum(each) for each in zip(*(count(groups, words) for count in counters), strict=True)]


def count_in(lexicon: Lexicon, groups: list[list[bytes]], words: list[bytes], window: int) -> list[int]:
    """Return how many objects of a bucket hold each of some words together with one word of each group.

    Args:
        window: only this many objects of each word are read, the newest ones; 0: all.
    """
    rows = lexicon.rows(words)
    before = [[row for row in lexicon.rows(group) if row is not None] for group in groups]
    counts = iter(count_together(lexicon.reader, before, [row for row in rows if row is not None], window))
    return [0 if row is None else next(counts) for row in rows]


def _groups(statistics: Statistics, typed: Typed) -> list[list[bytes]]:
    """Return the last of the words before that some object holds, each with its family."""
    groups = [
        [word, *statistics.family(word, matching).words] if matching else [word] for word, matching in typed.before
    ]
    return [group for group in groups if any(row is not None for row in statistics.rows(group))][-BEFORE_MAX:]


def _fitting(words: list[bytes], groups: list[list[bytes]]) -> Fitting:
    """Find the words that some object holds together with the groups; those that most objects hold come first."""
    if not words:
        return []
    counts = dict(zip(words, (yield groups, words), strict=True))
    return sorted((word for word in words if counts[word]), key=lambda word: -counts[word])
