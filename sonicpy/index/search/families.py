"""Families: the words of a bucket that a typed word stands for, because they have its stem or differ only in accents.

Nothing is stored for it. The candidates are the words that begin as the typed word's stems do, with or without marks on
their letters; those that share a stem or the folded form with it are its family. What this misses: forms that differ
from their stem before its last letter (went, men), and what stands behind the first CANDIDATES_MAX candidates.

A family is cached. As words are pushed, only the new ones are compared with it.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from sonicpy.lexer.languages import by_code
from sonicpy.store.bucket_reader import BucketReader

CANDIDATES_MAX = 512
"""Candidates of one word that are compared with it, at most: it bounds the time for short words."""
NEW_WORDS_MAX = 256
"""A cached family is looked up afresh where more words than this are new."""
FAMILIES_MAX = 10_000
"""Families in the cache, at most; about 500 bytes each."""
FAMILY_MAX = 16
"""Words of a family, at most, beside the typed one: each is a list of postings to walk."""
WORD_CHARACTERS_MAX = 40
"""Longer words have no family."""
LETTER_BYTES_MAX = 4
"""Bytes of a letter in UTF-8, at most."""

ANY_LATIN = ("english", "french", "german", "italian", "portuguese", "spanish")
"""The algorithms, together, for Latin words of a query whose language is not known: few pairs of words that one of them
draws together would be kept apart by the right one."""

OWN_LETTERS = {
    **dict.fromkeys(("swe", "fin", "est"), "åäö"),
    **dict.fromkeys(("dan", "nob"), "æøå"),
    **dict.fromkeys(("deu", "hun"), "äöü"),
    **dict.fromkeys(("tur", "aze"), "çşğıöü"),
    **dict.fromkeys(("spa", "glg"), "ñ"),
    "ron": "ăâîșț",
}
"""Letters with marks that a language counts as its own: they are not the same as the letters without."""

MARKS_OF_FORMS = {"german": frozenset("äöü")}
"""By algorithm, letters with marks that inflection brings (Haus, Häuser); the algorithm takes them off for the stem."""

MARKS_MATTER = frozenset(("pol", "ces", "slk", "hrv", "lit", "vie"))
"""Languages in which a word that is typed with marks is meant with them."""

_MARKS = frozenset(map(chr, (*range(0x300, 0x305), *range(0x306, 0x309), 0x30A, 0x30B, 0x30C, 0x327, 0x328)))
_LIGATURES = {"ß": "ss", "œ": "oe", "æ": "ae"}


class Matching(NamedTuple):
    """How the words of one query lead to families.

    Attributes:
        code: the language of the query; None: unknown.
        is_ascii: the query is ASCII, which makes a guessed language other than English doubtful.
    """

    code: str | None
    is_ascii: bool

    def algorithms(self, word: str) -> tuple[str, ...]:
        """Return the Snowball algorithms that stem a word of the query."""
        known = None if self.code is None else by_code[self.code].stemmer
        if known is not None:
            return (known,)
        script = _script(word)
        if self.code is None and script in ("CYRILLIC", "GREEK"):
            return ("russian" if script == "CYRILLIC" else "greek",)
        return ANY_LATIN if script == "LATIN" and (self.code is None or self.is_ascii) else ()

    def own_letters(self, word: str) -> str | None:
        """Return the letters that keep their marks; None: all do."""
        if self.code in MARKS_MATTER and not word.isascii():
            return None
        return OWN_LETTERS.get(self.code or "", "")


def _script(word: str) -> str:
    return "LATIN" if word[0] < "\u0250" else unicodedata.name(word[0], "").partition(" ")[0]


@lru_cache(4096)
def _folded_letter(letter: str) -> str:
    if letter in _LIGATURES:
        return _LIGATURES[letter]
    if letter == "ё":
        return "е"
    if letter < "\xc0" or not (
        "\xc0" <= letter < "\u0250" or "\u0370" <= letter < "\u0400" or "\u1e00" <= letter < "\u1fff"
    ):
        return letter
    apart = unicodedata.normalize("NFD", letter)
    return apart[0] + "".join(mark for mark in apart[1:] if mark not in _MARKS)


def fold(word: str, own: str | None) -> str:
    """Return a word in NFC without the marks on its Latin and Greek letters.

    Args:
        own: letters that stay as they are; None: all.
    """
    if own is None or word.isascii():
        return word
    return "".join(letter if letter in own else _folded_letter(letter) for letter in word)


@dataclass(frozen=True, slots=True)
class _Kin:
    """What the words of a family share.

    Attributes:
        folded: the typed word, folded.
        own: see `fold`.
        stems: by algorithm, its stem, folded.
        start: the typed word as the beginnings of candidates are folded.
        kept: letters that stay as they are in beginnings: those of `own` that no form of a word brings.
        prefixes: the beginnings of candidates.
    """

    folded: str
    own: str | None
    stems: tuple[tuple[str, str], ...]
    start: str
    kept: str | None
    prefixes: tuple[str, ...]

    def holds(self, stemmers: "Stemmers", words: Sequence[str]) -> list[bytes]:
        """Return the words of the family among some words."""
        found = {word for word in words if fold(word, self.own) == self.folded}
        for algorithm, stem in self.stems:
            rest = [word for word in words if word not in found]
            stems = stemmers[algorithm].stemWords(rest)
            found.update(word for word, its in zip(rest, stems, strict=True) if fold(its, self.own) == stem)
        return sorted(word.encode() for word in found)


_NO_KIN = _Kin("", None, (), "", None, ())


class Stemmers(dict[str, Stemmer.Stemmer]):
    """Snowball's algorithms by name, each made when it is needed first."""

    def __missing__(self, algorithm: str) -> Stemmer.Stemmer:
        # Without PyStemmer's own cache: where words seldom come again, it takes longer than stemming.
        stemmer = self[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return stemmer


class _Family(NamedTuple):
    words: list[bytes]
    kin: _Kin
    moment: tuple[int, int, int]
    source: list[bytes] | None
    taken: int


class Families:
    """The families of words that queries asked for, of all buckets of an index.

    Args:
        recoveries: returns how often the store has undone changes.
    """

    def __init__(self, recoveries: Callable[[], int] = int) -> None:
        self._recoveries = recoveries
        self._stemmers = Stemmers()
        self._cached: dict[tuple[int, bytes, Matching], _Family] = {}

    def of(
        self, reader: BucketReader, word: bytes, matching: Matching, pending: Callable[[], list[bytes] | None]
    ) -> list[bytes]:
        """Return the other words of a bucket that a word stands for, at most FAMILY_MAX; no object may hold some.

        Args:
            pending: see `View.growing_pending_words`.
        """
        state = reader.state
        moment = (state.pending_seq, state.graph_seq, self._recoveries())
        key = (state.bucket, word, matching)
        cached = self._cached.get(key)
        if cached is not None and cached.moment == moment:
            return cached.words
        source = pending()
        family = None if cached is None else self._refreshed(cached, word, source, moment)
        if family is None:
            kin = self._kin(word, matching)
            taken = 0 if source is None else len(source)
            words = [] if kin is None else kin.holds(self._stemmers, list(_candidates(reader, kin)))
            words = [each for each in words if each != word]
            family = _Family(_nearest(word, words), kin or _NO_KIN, moment, source, taken)
        if len(self._cached) >= FAMILIES_MAX:
            self._cached.clear()
        self._cached[key] = family
        return family.words

    def _refreshed(
        self, family: _Family, word: bytes, source: list[bytes] | None, moment: tuple[int, int, int]
    ) -> _Family | None:
        """Return a cached family with the words that are new; None: it has to be looked up."""
        if (
            source is None
            or source is not family.source
            or moment[1:] != family.moment[1:]
            or len(source) < family.taken
        ):
            return None
        taken = len(source)
        if taken - family.taken > NEW_WORDS_MAX:
            return None
        kin = family.kin
        new = [each for each in map(bytes.decode, source[family.taken : taken]) if _begins(each, kin)]
        words = family.words
        if new:
            found = kin.holds(self._stemmers, new)
            words = _nearest(word, [*words, *(each for each in found if each != word and each not in words)])
        return _Family(words, kin, moment, source, taken)

    def _kin(self, word: bytes, matching: Matching) -> _Kin | None:
        """Return what the family of a word shares; None: it has none."""
        text = word.decode()
        if len(text) > WORD_CHARACTERS_MAX or not text.isalpha():
            return None
        own = matching.own_letters(text)
        algorithms = matching.algorithms(text)
        if not algorithms and _script(text) not in ("LATIN", "GREEK", "CYRILLIC"):
            return None
        folded = fold(text, own)
        stems = tuple((name, fold(self._stemmers[name].stemWord(text), own)) for name in algorithms)
        kept = own and "".join(letter for letter in own if not any(letter in _brought(name) for name in algorithms))
        start = fold(text, kept)
        beginnings = {start[: _common(start, _beginning(stem))] for _, stem in stems} or {start}
        prefixes = [
            one for one in beginnings if not any(one != other and one.startswith(other) for other in beginnings)
        ]
        return _Kin(folded, own, stems, start, kept, tuple(sorted(prefixes)))


def _brought(algorithm: str) -> frozenset[str]:
    return MARKS_OF_FORMS.get(algorithm, frozenset())


def _begins(word: str, kin: _Kin) -> bool:
    return fold(word, kin.kept).startswith(kin.prefixes) and not any(map(str.isdigit, word))


def _beginning(stem: str) -> str:
    """Return with what words of a stem begin: the last letter of a stem may stand for another one (carri, use)."""
    return stem[:-1] if len(stem) > 4 or (len(stem) > 2 and stem[-1] in "eiy") else stem


def _common(one: str, other: str) -> int:
    """Return how many letters two words begin with alike, at least two."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return max(length, 2)


def _nearest(word: bytes, words: list[bytes]) -> list[bytes]:
    """Return at most FAMILY_MAX words of a family, those as long as the typed one first, in byte order."""
    if len(words) > FAMILY_MAX:
        words = sorted(words, key=lambda each: (abs(len(each) - len(word)), each))[:FAMILY_MAX]
    return sorted(words)


def _candidates(reader: BucketReader, kin: _Kin) -> Iterator[str]:
    """Yield words that begin as a family does, with or without marks."""
    left = CANDIDATES_MAX
    longest = 4 * WORD_CHARACTERS_MAX
    for prefix in kin.prefixes:
        for beginning in _spelled(reader, kin.start, len(prefix), kin.kept):
            for word in reader.words_with(beginning, left)[:left]:
                left -= 1
                if len(word) <= longest and (text := word.decode()).isalpha():
                    yield text
            if left <= 0:
                return


def _spelled(reader: BucketReader, folded: str, size: int, own: str | None) -> list[bytes]:
    """Return the ways in which the first letters of a folded word are spelled in a bucket, with and without marks.

    Marked letters are found by leaping: one look-up for each letter tells whether any follows there.
    """
    found: list[bytes] = []
    branches = [("", 0)]
    while branches:
        spelled, at = branches.pop()
        while at < size:
            if own is not None:
                for letter in _marked(reader, spelled, folded[at]):
                    if letter not in own and folded.startswith(plain := _folded_letter(letter), at):
                        branches.append((spelled + letter, at + len(plain)))
            spelled += folded[at]
            at += 1
        found.append(spelled.encode())
        if len(found) == 16:
            break
    return found


def _marked(reader: BucketReader, spelled: str, letter: str) -> Iterator[str]:
    """Yield the letters with marks that follow the beginning of a word in a bucket and may stand for a letter."""
    if not letter.isascii():
        yield from _VARIANTS.get(letter, "")
        return
    start, passed = spelled.encode(), ""
    for variant in _VARIANTS.get(letter, ""):
        if variant < passed:
            continue
        word = reader.word_from(start + variant.encode())
        if word is None or not word.startswith(start):
            return
        # No letter between follows. Of a very long word the store has the beginning and a hash, which is no UTF-8.
        passed = word[len(start) : len(start) + LETTER_BYTES_MAX].decode(errors="ignore")[0]
        if passed == variant:
            yield variant


def _variants() -> dict[str, str]:
    """Return the letters, in their order, that fold to each letter or begin to: é to e, œ to oe."""
    found: dict[str, str] = {"е": "ё"}
    for point in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        letter = chr(point)
        base = _folded_letter(letter)[0]
        if base.isascii():
            found[base] = found.get(base, "") + letter
    for point in range(0x370, 0x400):
        letter = chr(point)
        base = _folded_letter(letter)
        if letter.islower() and base != letter:
            found[base] = found.get(base, "") + letter
    return found


_VARIANTS = _variants()
