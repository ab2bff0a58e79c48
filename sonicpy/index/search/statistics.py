"""Statistics: the input of planners: numbers of the searched objects and of their words, in one bucket or in several.

`Lexicon` implements them for one bucket. For an answer from several buckets, each makes a Sketch of the words of the
query, and SummedStatistics are the sums: a plan made from them is the plan of one bucket with all objects.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sonicpy._native.bucket_words import BEGINNINGS_MAX, shortest_joined
from sonicpy._native.nearest import most_frequent, nearest_held
from sonicpy._native.term_rows import SONIC_BYTES_MAX, TermInfo, held_words
from sonicpy._native.terms import Terms
from sonicpy._native.varint import pack_varints
from sonicpy._native.word_source import WordSource
from sonicpy.index.search.accents import fold
from sonicpy.index.search.begun_words import begins_so
from sonicpy.index.search.families import Family, nearest_words
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.synonym_matches import NO_MATCHES, Match, Matches

if TYPE_CHECKING:
    from typing import Protocol as Described
else:
    Described = object  # each isinstance of a class with a protocol among its bases takes microseconds

CORRECTIONS_EXAMINED = 512
"""The most corrections of a word whose rows are read: it bounds the time for words with very many similar words."""

CORRECTIONS_COMPARED = 60
"""The most corrections of one distance that are compared with the typed word; the frequent ones come first."""
HOLDING_MAX = 2_000
"""The most words that contain some letters; the frequent ones come first."""
LETTER_WORTH = 4.0
"""The weight of a typed letter that a correction keeps, relative to the logarithm of the correction's object frequency.
Values from 3 to 6 give equal results on lists of misspellings.
"""

Sketch = dict[str, Any]
"""The statistics of a bucket, or of a part of one, for JSON: objects, length (the sum of their lengths), words {word:
[objects, hidden]}, families, doubtful, joined, completed, corrected and begun {word: [words]}; words in corrected and
begun come with their distances; together: ways to cut words into pieces that one object holds, each [[the words of a
piece]]; beside: the names of groups for `holds_beside`; columns of vectors [[name, bits]], and ordered, whether the
order of words is kept.
"""

NO_SKETCH: Sketch = {
    "objects": 0,
    "length": 0,
    "words": {},
    "families": {},
    "doubtful": {},
    "joined": {},
    "completed": {},
    "corrected": {},
    "begun": {},
    "together": [],
    "beside": [],
    "columns": [],
    "ordered": False,
}
"""The statistics of a part that does not have the bucket."""


class Statistics(Described):
    """The number of objects, their words, and the words that may replace a typed one."""

    live: bool
    """Whether words are found as soon as they are pushed."""
    swaps: bool = True
    """Whether a word may have errors, so that corrections of short words also swap two neighbouring letters."""

    @property
    def objects(self) -> int:
        """The number of objects."""
        ...

    @property
    def average_length(self) -> float:
        """The mean length of the objects."""
        ...

    def rows(self, words: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each of some words, with its object frequency; None: no object holds it."""
        ...

    def may_hold(self, words: Iterable[bytes]) -> list[bytes]:
        """Return the words that objects may hold; the rows of the others need not be read."""
        return list(words)

    def word_sources(self) -> list[WordSource] | None:
        """Return the words that objects may hold; None: any word may be held."""
        return None

    def family(self, word: bytes, matching: Matching) -> Family:
        """Return the other words of a word's family."""
        ...

    def resolved(self, matching: Matching) -> Matching:
        """Return the matching of a query with the languages of the searched texts."""
        ...

    def joined(self, word: bytes, matching: Matching | None) -> list[bytes]:
        """Return the compounds of which a part is `word` or one of its family; some may be in no object.

        Args:
            matching: leads the word to its family; None: it has no family.
        """
        ...

    def completions(self, prefix: bytes, after: bytes = b"") -> Iterator[bytes]:
        """Return the words that begin with `prefix` in byte order.

        Args:
            after: only words behind this one.
        """
        ...

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions held by objects, with their rows, in byte order."""
        ...

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` of the first `examined` completions: `word` itself, then the most frequent ones."""
        ...

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the words within `distance` edits and their distances: nearest first, then in byte order.

        Args:
            transpositions: a swap of two neighbours is one edit, not two.
            of_long: correct `word` even if it is longer than the words that are corrected.
        """
        ...

    def beginnings(self, word: bytes, distance: int) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words that begin as a word does, accents and errors aside, in no order: each with its row and the
        fewest errors in such a beginning; at most BEGINNINGS_MAX, those that most objects hold.

        Args:
            distance: the most errors that a beginning may have.
        """
        ...

    def variants(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that begin as `word` does only without accents or in another spelling, with their rows."""
        ...

    def inner(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words of which a part after the first begins as `word` does, accents aside, with their rows."""
        ...

    def leading(self, letters: bytes) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words with which some letters, without accents, begin: each with its row and its number of
        letters.
        """
        ...

    def holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that contain some letters, with their rows; of many, the HOLDING_MAX that most objects
        hold.
        """
        ...

    def held(self, words: Iterable[bytes]) -> list[tuple[bytes, TermInfo]]:
        """Return the words held by objects, with their rows, in the order of `words`."""
        asked = words if isinstance(words, list) else list(words)
        if not asked:
            return []
        return held_words(asked, self.rows(asked), live=self.live)

    def holds_together(self, groups: list[list[bytes]]) -> bool:
        """Return whether one object holds a word of each group."""
        return True

    def holds_beside(self, groups: list[list[bytes]]) -> bool:
        """Return whether one object holds a word of each group: numbers of a query, and any other word of it."""
        return self.holds_together(groups)

    def synonyms(self, terms: Terms) -> Matches:
        """Return the substitutes of terms of a query, by the synonyms of the collection."""
        return NO_MATCHES

    def nearest(
        self, typed: bytes, matches: list[tuple[bytes, int]], wanted: int, besides: Container[bytes] = ()
    ) -> list[tuple[bytes, TermInfo, int]]:
        """Return at least the first `wanted` of `matches` that objects hold, with rows and distances.

        The nearest come first; within one distance `likeliest_first` orders them. At most CORRECTIONS_EXAMINED matches
        are read, and of each distance the first CORRECTIONS_COMPARED held by objects are compared.

        Args:
            besides: words to leave out.
        """
        return nearest_held(
            self.rows,
            typed,
            matches,
            wanted,
            besides,
            live=self.live,
            examined=CORRECTIONS_EXAMINED,
            compared=CORRECTIONS_COMPARED,
            letter_worth=LETTER_WORTH,
        )


class SummedStatistics(Statistics):
    """The sums of the statistics in the sketches of several buckets, or of the parts of one."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        self.live = True
        self._objects: int = sum(sketch["objects"] for sketch in sketches)
        self._total_length: int = sum(sketch["length"] for sketch in sketches)
        self._families = _united(sketches, "families")
        self._joined = _united(sketches, "joined")
        self._doubtful = _united(sketches, "doubtful")
        self._completed = _united(sketches, "completed")
        self._corrected = _distances(sketches, "corrected")
        self._begun = _distances(sketches, "begun")
        self._holding = _united(sketches, "holding")
        self._together = _held_together(sketches)
        self._rows = _counted(sketches)
        self._languages = tuple(dict.fromkeys(each for sketch in sketches for each in sketch.get("languages", ())))
        self._plain: list[tuple[bytes, bytes]] | None = None
        self._synonyms = _matched(sketches)
        self._beside = [sketch.get("beside") for sketch in sketches]

    @property
    def objects(self) -> int:
        """The number of objects."""
        return self._objects

    @property
    def average_length(self) -> float:
        """The mean length of the objects."""
        return self._total_length / self._objects if self._objects else 0.0

    def rows(self, words: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each of some words, summed over the sketches; None: no sketch has the word."""
        return [self._rows.get(word) for word in words]

    def family(self, word: bytes, matching: Matching) -> Family:
        """Return the other words of a word's family: at most FAMILY_MAX sure and FAMILY_MAX doubtful ones."""
        words = self._families.get(word, [])
        doubtful = [each for each in self._doubtful.get(word, []) if each not in words]
        return Family(nearest_words(word, words), nearest_words(word, doubtful))

    def resolved(self, matching: Matching) -> Matching:
        """Return the matching of a query with the languages of all parts."""
        return matching if matching.languages else matching._replace(languages=self._languages)

    def joined(self, word: bytes, matching: Matching | None) -> list[bytes]:
        """Return the compounds in the sketches that have a word as a part."""
        return shortest_joined(self._joined.get(word, []))

    def completions(self, prefix: bytes, after: bytes = b"") -> Iterator[bytes]:
        """Return the completions of a word in the sketches, in byte order; `after`: only words behind this one."""
        return iter(sorted(word for word in self._completed.get(prefix, []) if word > after))

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions with their rows, in byte order."""
        return self.held(self.completions(prefix))[:most]

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` of the first `examined` completions: `word` itself, then the most frequent ones."""
        return most_likely(word, self.completed(word, examined), limit)

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the corrections in the sketches within `distance` edits, with their distances: nearest first, then in
        byte order. Other arguments have no effect: the sketches were made with them."""
        found = self._corrected.get(word, {})
        return sorted(
            ((each, its) for each, its in found.items() if its <= distance), key=lambda match: (match[1], match[0])
        )

    def beginnings(self, word: bytes, distance: int) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words in the sketches that begin as a word does, with at most `distance` errors."""
        begun = self._begun.get(word, {})
        near = {each: its for each, its in begun.items() if its <= distance}
        return most_frequent([(each, row, near[each]) for each, row in self.held(sorted(near))], BEGINNINGS_MAX)

    def variants(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words in the sketches that begin as a word does in another spelling."""
        begun = [(each, row) for each, row, _ in self.beginnings(word, 0) if not each.startswith(word)]
        return [(each, row) for each, row in begun if begins_so(each, word)]

    def inner(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words in the sketches with a later part that begins as a word does."""
        return [(each, row) for each, row, _ in self.beginnings(word, 0) if not begins_so(each, word)]

    def leading(self, letters: bytes) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words in the sketches with which some letters begin."""
        if self._plain is None:
            self._plain = [(word, fold(word.decode(), "").encode()) for word in self._rows]
        sizes = {word: len(plain.decode()) for word, plain in self._plain if plain and letters.startswith(plain)}
        return [(word, row, sizes[word]) for word, row in self.held(sorted(sizes))]

    def holds_together(self, groups: list[list[bytes]]) -> bool:
        """Return whether a sketch lists pieces of a word that are in these groups, or begin so. If a sketch lists none,
        as those of older versions, one object is assumed to hold them."""
        if self._together is None or len(groups) < 2:
            return True
        return any(
            len(pieces) >= len(groups) and all(map(frozenset.issubset, pieces, groups)) for pieces in self._together
        )

    def holds_beside(self, groups: list[list[bytes]]) -> bool:
        """Return whether a sketch names the groups, see `groups_name`, or is of an older version."""
        name = groups_name(groups)
        return any(named is None or name in named for named in self._beside)

    def synonyms(self, terms: Terms) -> Matches:
        """Return the substitutes in the sketches of terms of the query."""
        return self._synonyms

    def holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words in the sketches that contain some letters."""
        return most_held(self.held(sorted(self._holding.get(letters, []))))


def groups_name(groups: list[list[bytes]]) -> list[str]:
    """Return the first word of each group, by which sketches name groups of words that one object holds."""
    return [group[0].decode() for group in groups]


def most_held(found: list[tuple[bytes, TermInfo]]) -> list[tuple[bytes, TermInfo]]:
    """Return the first HOLDING_MAX of some words: those that most objects hold, in byte order among equals."""
    if len(found) <= HOLDING_MAX:
        return found
    return sorted(found, key=lambda each: (-each[1].df, each[0]))[:HOLDING_MAX]


def most_likely(word: bytes, completed: list[tuple[bytes, TermInfo]], limit: int) -> list[bytes]:
    """Return at most `limit` of some completions: `word` itself, then the others by object frequency."""
    found = sorted(completed, key=lambda found: (found[0] != word, -found[1].df, len(found[0]), found[0]))
    return [completion for completion, _ in found[:limit]]


def _counted(sketches: Sequence[Sketch]) -> dict[bytes, TermInfo]:
    counts: dict[str, tuple[int, int]] = {}
    for sketch in sketches:
        for word, (df, hidden) in sketch["words"].items():
            before = counts.get(word, (0, 0))
            counts[word] = before[0] + df, before[1] + hidden
    # A letter of any bucket may have several bytes: each part has left out the words that it does not show.
    return {
        word.encode(): TermInfo(pack_varints((0, *both, 0)), min(len(word), SONIC_BYTES_MAX))
        for word, both in counts.items()
    }


def _matched(sketches: Sequence[Sketch]) -> Matches:
    """Return the matches of all sketches, each once; for a moment, parts may have different rules."""
    found = (match for sketch in sketches for match in sketch.get("synonyms", ()))
    return tuple(dict.fromkeys(Match(tuple(numbers), tuple(words)) for numbers, words in found))


def _held_together(sketches: Sequence[Sketch]) -> list[list[frozenset[bytes]]] | None:
    """Return the words of each piece of the ways in all sketches; None: some sketch has no such ways."""
    if not all("together" in sketch for sketch in sketches):
        return None
    ways = (way for sketch in sketches for way in sketch["together"])
    return [[frozenset(map(str.encode, piece)) for piece in way] for way in ways]


def _united(sketches: Sequence[Sketch], key: str) -> dict[bytes, list[bytes]]:
    found: dict[bytes, set[bytes]] = {}
    for sketch in sketches:
        for word, others in sketch.get(key, {}).items():  # a node of version 1.0 has no doubtful forms
            found.setdefault(word.encode(), set()).update(each.encode() for each in others)
    return {word: list(others) for word, others in found.items()}


def _distances(sketches: Sequence[Sketch], key: str) -> dict[bytes, dict[bytes, int]]:
    found: dict[bytes, dict[bytes, int]] = {}
    for sketch in sketches:
        for word, others in sketch.get(key, {}).items():
            known = found.setdefault(word.encode(), {})
            for each, its in others:
                known[each.encode()] = min(its, known.get(each.encode(), its))
    return found
