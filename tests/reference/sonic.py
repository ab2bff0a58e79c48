"""One bucket of Sonic with dicts and lists, as Sonic 1.10 behaves: the reference implementation of compat mode.

Texts consist of words of ASCII letters and digits, separated by single blanks; no word begins with a digit. So they
need no other analysis than `words_of`. Objects have only OIDs, no IIDs.
"""

import math
import struct
from functools import cache
from typing import NamedTuple

WORD_BYTES_MAX = 40
STATES_MAX = 10_000
"""The most states of an automaton that Sonic builds; it does not try edits that need more."""
STATES_INSIDE_ANY = 18
"""The number of states inside characters of two to four bytes, for the edge that any character may take."""


def single(number: float) -> float:
    """Return `number` rounded to 32 bits."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


class Word(NamedTuple):
    """A word of a query."""

    text: str
    typed_bytes: int
    special: bool


def words_of(text: str) -> list[Word]:
    """Return the distinct words; words with a digit are special and keep their case, others are folded."""
    found: dict[str, Word] = {}
    for piece in text.split():
        special = any(char.isdigit() for char in piece)
        word = piece if special else piece.lower()
        found.setdefault(word, Word(word, len(piece), special))
    return list(found.values())


def edits_allowed(size: int) -> int:
    """Return the most edits of a word of this many bytes: 0 up to 3, 1 up to 6, 2 up to 9, else 3."""
    return 0 if size <= 3 else 1 if size <= 6 else 2 if size <= 9 else 3


@cache
def automaton_states(word: str, edits: int) -> int:
    """Return the number of states of an automaton over bytes that accepts the words within `edits` edits of a word.

    Its main states are the rows of the table of edit distances, in which only the first value, the number of characters
    read, may be above `edits` + 1.
    """
    above = edits + 1
    first = tuple(range(len(word) + 1))
    rows, inside, waiting = {first}, 0, [first]
    while waiting:
        row = waiting.pop()
        inside += sum(len(char.encode()) - 1 for char, value in zip(word, row, strict=False) if value <= edits)
        for char in (None, *sorted(set(word))):
            following = [row[0] + 1]
            for place, wanted in enumerate(word):
                replaced = row[place] + (wanted != char)
                following.append(min(above, row[place + 1] + 1, following[place] + 1, replaced))
            if min(following) <= edits:
                inside += STATES_INSIDE_ANY if char is None else 0
                if tuple(following) not in rows:
                    rows.add(tuple(following))
                    waiting.append(tuple(following))
    return len(rows) + inside


def automaton_reads(word: str, edits: int, other: str) -> bool:
    """Return whether the automaton of the words within some edits of a word accepts another word.

    If several characters that begin with the same byte are possible after a row, that byte leads only to the last of
    them.
    """
    row = list(range(len(word) + 1))
    for char in other:
        first = char.encode()[0]
        leading = [wanted for wanted, value in zip(word, row, strict=False) if value <= edits]
        same = [wanted for wanted in leading if wanted.encode()[0] == first]
        if same and same[-1] != char:
            return False
        above, row = row, [row[0] + 1]
        for place, wanted in enumerate(word):
            row.append(min(above[place + 1] + 1, row[place] + 1, above[place] + (wanted != char)))
    return row[-1] <= edits


@cache
def distance(one: str, other: str) -> int:
    """Return the Levenshtein distance: the number of insertions, deletions and replacements; a swap counts two."""
    row = list(range(len(other) + 1))
    for i, char in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            row.append(min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (char != wanted)))
    return row[-1]


class SonicBucket:
    """The objects and words of a bucket.

    Args:
        window: the setting store.kv.retain_word_objects.
        budget: the setting search.query_alternates_try.
        minimum_idf, minimum_objects: the smallest IDF of a word, and the number of objects from which on it applies.
    """

    def __init__(self, window: int, budget: int, minimum_idf: float, minimum_objects: int) -> None:
        self.window = window
        self.budget = budget
        self._minimum = (single(minimum_idf), minimum_objects)
        self.objects: dict[str, set[str]] = {}
        self.holders: dict[str, list[str]] = {}
        self.graph: list[str] = []
        self._added: set[str] = set()
        self._removed: set[str] = set()

    # -- changes ------------------------------------------------------------------------------------------------------

    def push(self, oid: str, text: str) -> None:
        held = self.objects.setdefault(oid, set())
        for word in (word.text for word in words_of(text)):
            if word not in held:
                held.add(word)
                self.holders[word] = [oid, *self.holders.get(word, [])]
            if len(word) <= WORD_BYTES_MAX:
                self._removed.discard(word)
                self._added.add(word)

    def pop(self, oid: str, text: str) -> int:
        held = self.objects.get(oid, set())
        gone = held & {word.text for word in words_of(text)}
        held -= gone
        self._unlink(oid, gone)
        if gone and not held:
            del self.objects[oid]
        else:
            self._removed |= {word for word in gone if not self.holders[word]}
            self._added -= self._removed
        return len(gone)

    def flush_object(self, oid: str) -> int:
        held = self.objects.pop(oid, set())
        self._unlink(oid, held)
        return len(held)

    def consolidate(self) -> None:
        self.graph = sorted((set(self.graph) | self._added) - self._removed)
        self._added, self._removed = set(), set()

    def _unlink(self, oid: str, words: set[str]) -> None:
        for word in words:
            self.holders[word] = [holder for holder in self.holders[word] if holder != oid]

    # -- answers ------------------------------------------------------------------------------------------------------

    def query(self, text: str, limit: int, offset: int) -> list[str]:
        words = words_of(text)
        return Search(self, words).ranked()[offset : offset + limit] if words else []

    def suggest(self, text: str, limit: int) -> list[str]:
        word = words_of(text)[0]
        if len(word.text) > WORD_BYTES_MAX:
            return []
        found = dict.fromkeys(self.completions(word.text))
        for edits in range(1, edits_allowed(word.typed_bytes) + 1):
            if automaton_states(word.text, edits) > STATES_MAX:
                break
            found.update(dict.fromkeys(self.corrections(word.text, edits)))
        return list(found)[:limit]

    def list_words(self, limit: int, offset: int) -> list[str]:
        return self.graph[offset : offset + limit]

    def completions(self, word: str) -> list[str]:
        """Return the words with this prefix; all words are in Latin script, so the rule about scripts excludes none."""
        return [longer for longer in self.graph if longer.startswith(word)]

    def corrections(self, word: str, edits: int) -> list[str]:
        return [other for other in self.graph if distance(word, other) <= edits]

    def weight(self, df: int) -> float:
        total = max(len(self.objects), df)
        return single(math.log(1 + (total - df + 0.5) / (df + 0.5)))

    def is_cut(self, df: int) -> bool:
        minimum, from_objects = self._minimum
        if minimum <= 0 or len(self.objects) < from_objects or df == 0:
            return False
        return single(math.log(single(len(self.objects) / df))) < minimum


class Search:
    """One QUERY: a table of objects in insertion order, each with an optional score per word."""

    def __init__(self, bucket: SonicBucket, words: list[Word]) -> None:
        self.bucket = bucket
        self.words = words
        self.budget = bucket.budget
        self.table: dict[str, list[float | None]] = {}
        self._exact()
        if len(self.table) < bucket.window and self.budget > 0:
            self._prefixes()
        if len(self.table) < bucket.window and self.budget > 0:
            self._typos()

    def ranked(self) -> list[str]:
        left = self._with_every_word() if any(word.special for word in self.words) else list(self.table)
        return sorted(left, key=lambda oid: -self._score(oid))

    def _exact(self) -> None:
        for number, word in enumerate(self.words):
            holders = self.bucket.holders.get(word.text, [])
            if self.bucket.is_cut(len(holders)):
                continue
            for oid in holders[: self.bucket.window]:
                if self._set(oid, number, self.bucket.weight(len(holders))):
                    return

    def _prefixes(self) -> None:
        for number, word in enumerate(self.words):
            if len(word.text) > WORD_BYTES_MAX:
                continue
            for longer in self.bucket.completions(word.text):
                rest = single(abs(len(longer) - word.typed_bytes) / word.typed_bytes)
                base = single(20 / single(20 + rest))
                if longer != word.text and self._visit(number, longer, base):
                    break

    def _typos(self) -> None:
        for number, word in enumerate(self.words):
            if word.special:
                continue
            for edits in range(1, edits_allowed(word.typed_bytes) + 1):
                if self.budget == 0:
                    return
                if automaton_states(word.text, edits) > STATES_MAX:
                    break
                base = single(1 - min(1.0, single(edits / word.typed_bytes)))
                for other in self.bucket.corrections(word.text, edits):
                    if other != word.text and self._visit(number, other, base):
                        break

    def _visit(self, number: int, word: str, base: float) -> bool:
        """Visit the objects of a candidate; return whether the table is full now."""
        holders = self.bucket.holders.get(word, [])
        if not holders or self.bucket.is_cut(len(holders)):
            return False
        score = single(base * self.bucket.weight(len(holders)))
        for oid in holders[: self.budget]:
            self.budget -= 1
            if self._set(oid, number, score):
                return True
        return False

    def _set(self, oid: str, number: int, score: float) -> bool:
        """Set one score; return whether the object was new and the table holds `window` objects now."""
        if oid in self.table:
            old = self.table[oid][number]
            self.table[oid][number] = score if old is None else min(old, score)
            return False
        self.table[oid] = [score if place == number else None for place in range(len(self.words))]
        return len(self.table) >= self.bucket.window

    def _with_every_word(self) -> list[str]:
        """Remove objects with a missing score one by one, in table order; the last entry moves to the free place.
        Return the rest.
        """
        left = list(self.table)
        for oid in self.table:
            if None in self.table[oid]:
                place = left.index(oid)
                left[place] = left[-1]
                left.pop()
        return left

    def _score(self, oid: str) -> float:
        total = 0.0
        for score in self.table[oid]:
            total = single(total + (score or 0.0))
        return single(total / len(self.words))
