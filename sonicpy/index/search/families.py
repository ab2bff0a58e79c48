"""Families: the words of a bucket that match a typed word, because they have its stem or differ only in accents.

Nothing is stored for it. Walks over the word graph and the pending words find the words that are the typed one but for
accents, and the candidates: those that begin as its stems do, with or without marks on their letters, also behind an
elided word (l'homme). Those that share a stem with it are its family, too. This misses forms that differ from their
stem before its last letter (went, men), and the words behind the first CANDIDATES_MAX candidates.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

from sonicpy._native.bucket_words import FAMILY_MAX
from sonicpy._native.kin import Kin, Stem, drawn, forms_of, joined_words, spelled_words
from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import word_of
from sonicpy._native.word_source import WordSource
from sonicpy._native.word_walks import find_words
from sonicpy.index.search.accents import ZWNJ, fold, folding, is_spelled, respelled, respelling, unmarked
from sonicpy.index.search.matching import (
    ARTICLES,
    BEHIND_MIN,
    ELIDED,
    ELIDED_ANYWHERE,
    ELIDES,
    MARKS_OF_FORMS,
    PREFIXES,
    SCRIPTS_WITH_MARKS,
    VOICED,
    Matching,
    script_of,
)
from sonicpy.index.search.stem_ends import stem_ends
from sonicpy.lexer import variants
from sonicpy.lexer.endings import ENDINGS
from sonicpy.lexer.stemmers import Stemmers

KIN_CACHED = 10_000
"""Typed words whose stems are remembered, at most; about 1 KB each."""
WORD_CHARACTERS_MAX = 40
"""Longer words have no family."""
DOUBLED_LETTERS = 3
"""Of the shortest Dutch stem with two vowels for one."""
FAMILY_LETTERS_MIN = 2
"""Shorter words have no family: stems of one letter draw unrelated words together (o, oe, oing)."""


class Family(NamedTuple):
    """The other words that a typed word finds.

    Attributes:
        words: they surely do.
        doubtful: they do if they are in the language of the stemmer that made them, or if marks do not matter.
    """

    words: tuple[bytes, ...]
    doubtful: tuple[bytes, ...]


def _patterns(beginnings: Iterable[str], before: tuple[str, ...]) -> list[bytes]:
    if not before:
        return [each.encode() for each in beginnings]
    return [(first + each).encode() for each in beginnings for first in ("", *before)]


_stemmers = Stemmers()


def family_of(sources: Sequence[WordSource], word: bytes, matching: Matching) -> tuple[set[bytes], set[bytes]]:
    """Return the words of some sources that a word surely finds, and those that it may find, perhaps itself.
    No object may hold some of the words."""
    text = word.decode()
    if len(text) > WORD_CHARACTERS_MAX or not is_spelled(text):
        return set(), set()
    among = list(sources)
    (sure, doubtful, may_agree), own = matching.stemming(text), matching.own_letters(text)
    if may_agree:
        words, doubtful_words = _agreed(among, _kin_of(text, doubtful, own))
    else:
        words = _drawn(among, _kin_of(text, sure, own))
        doubtful_words = _drawn(among, _kin_of(text, doubtful, own)) if doubtful else set()
    if own != "":
        doubtful_words |= _drawn(among, _kin_of(text, sure, ""))
    return words, (doubtful_words | _respelled(among, text)) - words


def _drawn(sources: list[WordSource], kin: Kin | None) -> set[bytes]:
    """Return the words that differ only in accents, and those that a stemmer draws to the same stem."""
    return set() if kin is None else drawn(sources, kin)


def _agreed(sources: list[WordSource], kin: Kin | None) -> tuple[set[bytes], set[bytes]]:
    """Return the words that differ only in accents or that the first stemmer and another one draw to the same stem, and
    those that any does."""
    if kin is None:
        return set(), set()
    forms = [forms_of(sources, kin, stem) for stem in kin.stems]
    every = set().union(*forms)
    return spelled_words(sources, kin) | (forms[0] & set().union(*forms[1:]) if forms else every), every


def _respelled(sources: list[WordSource], text: str) -> set[bytes]:
    """Return the words that are the same with two letters for one that has a mark."""
    script = script_of(text)
    if script in variants.SCRIPTS:
        return set(find_words(sources, [each.encode() for each in variants.patterns(text)], variant_folding()))
    two = respelled(text) if script == "LATIN" else None
    if two is None:
        return set()
    found = find_words(sources, [two.encode()], respelling())
    return {each for each in map(word_of, found) if is_spelled(each.decode())}


def joined_with(
    sources: Sequence[WordSource], wholes: Sequence[WordSource], word: bytes, matching: Matching | None
) -> set[bytes]:
    """Return the words that have a typed one, or a word of its family, as a part; no object may hold some.

    Args:
        sources: of aliases: see _native/parts.pyx.
        wholes: words, of which `sources` have no aliases for parts that words begin with.
        matching: how the typed word leads to its family; None: it has none.
    """
    among, text = list(sources), word.decode()
    kin = None
    if matching is not None and is_spelled(text):
        kin = _kin_of(text, matching.stemming(text)[0], matching.own_letters(text))
    if kin is None:
        found = set(map(word_of, find_words(among, [word + b"\0"], folding(None), begins=True)))
        return found if matching is not None else {each for each in found if not _has_article(each.decode(), text)}
    return joined_words(among, list(wholes), kin)


def _has_article(word: str, noun: str) -> bool:
    """Return whether a word is a noun behind an Arabic article: it is another form of the noun."""
    return word.endswith(noun) and word[: -len(noun)] in ARTICLES


@lru_cache(1)
def variant_folding() -> Folding:
    """Return the letters that are the same in other spellings, for walks over words."""
    return Folding(variants.foldings())


class _Rules:
    """The rules of a language beyond a comparison of bytes; see `_Rules` in _native/kin.pyi."""

    is_spelled = staticmethod(is_spelled)
    fold = staticmethod(fold)

    @staticmethod
    def patterns(kin: Kin, beginnings: Iterable[str]) -> list[bytes]:
        """Return some beginnings, and those behind all strings that may come before a word."""
        return _patterns(beginnings, kin.before)

    @staticmethod
    def of_stem(found: list[bytes], kin: Kin, stem: Stem) -> set[bytes]:
        """Return the words of some candidates that an algorithm draws to a stem."""
        joined = b"\n".join(found).decode()
        cores = [text.partition("\0")[0] for text in joined.split("\n")]
        if not kin.before and joined.isascii():
            stems = stem.stem_words(cores)
        else:
            cores = [core if not kin.before and core.isascii() else _core(core, kin.before) for core in cores]
            stems = [each if each.isascii() else fold(each, kin.own) for each in stem.stem_words(cores)]
        forms = compress(zip(found, cores, strict=True), map(stem.folded.__eq__, stems))
        return {word_of(word) for word, core in forms if is_spelled(core)}


@lru_cache(KIN_CACHED)
def _kin_of(whole: str, names: tuple[str, ...], own: str | None) -> Kin | None:
    """Return the common properties of the family of a word; None: it has none.

    Args:
        names: of the stemmers.
        own: see `fold`.
    """
    script = script_of(whole)
    if not names and script not in SCRIPTS_WITH_MARKS:
        return None
    before = _before(names, script)
    text = _core(whole, before)
    folded = fold(text, own)
    if len(folded) < (1 if script == "HANGUL" else FAMILY_LETTERS_MIN):
        return None
    if len(folded) < BEHIND_MIN or (before is not ARTICLES and folded[0] not in ELIDES):
        before = ()
    kept = own and "".join(letter for letter in own if not any(letter in _brought(name) for name in names))
    start = fold(text, kept)
    stems = tuple([_stem(text, start, own, name, before) for name in names])
    return Kin(
        folded, own, stems, kept, before, _patterns([folded], before), folding(own), folding(kept), _Rules
    )  # fmt: skip


def _before(names: Sequence[str], script: str) -> tuple[str, ...]:
    """Return the strings that may come before a word that some algorithms stem."""
    if script == "ARABIC":
        return ARTICLES
    elided = [ELIDED[name] for name in names if name in ELIDED]
    return elided[0] if len(names) == len(elided) == 1 else ELIDED_ANYWHERE if elided else ()


def _stem(text: str, start: str, own: str | None, algorithm: str, before: tuple[str, ...]) -> Stem:
    """Return a stem of a word.

    Args:
        start: the word as the beginnings of candidates are folded.
        own: see `fold`.
        before: see `Kin`.
    """
    stem_words = _stemmers[algorithm]
    stem = fold(stem_words([text])[0], own)
    ends = stem_ends(algorithm, stem)
    is_plain = start.isascii() and start.isalpha() and stem.isascii() and stem
    if not is_plain or ends is None or not ends.may_have([start], stem):
        ends = None
    beginnings = _patterns(_beginnings(start, stem, algorithm), before)
    return Stem(algorithm, stem_words, stem, beginnings, start, ends, _patterns(_ends(stem), before))


def _beginnings(start: str, stem: str, algorithm: str) -> tuple[str, ...]:
    """Return the beginnings of words of a stem, as far as the typed word has them, or behind a prefix."""
    beginning, prefixes = _beginning(stem, algorithm), PREFIXES.get(algorithm, ())
    if not prefixes and algorithm != "dutch":
        return (_shared(start, beginning),)
    behind = (start[len(prefix) :] for prefix, _ in prefixes if start.startswith(prefix))
    shared = max((_shared(each, beginning) for each in (start, *behind)), key=beginning.startswith)
    follows = ((prefix, shared[1:] if shared[0] in lost else shared) for prefix, lost in prefixes)
    return (shared, *_ways(stem, algorithm), *(prefix + rest for prefix, rest in follows))


def _ways(stem: str, algorithm: str) -> tuple[str, ...]:
    """Return in which ways a short Dutch stem begins words: with two vowels, or with one (een, enige)."""
    is_short = algorithm == "dutch" and len(stem) == DOUBLED_LETTERS and _is_doubled(stem)
    return (stem, stem[:-2] + stem[-1]) if is_short else ()


def _core(word: str, before: tuple[str, ...]) -> str:
    """Return a word as input of a stemmer: with straight apostrophes, without points and without an elision.

    It keeps the sign that separates the parts of Persian words, by which the stemmer knows them.
    """
    plain = unmarked(word, but=ZWNJ)
    if not before or not plain.startswith(before):
        return plain
    behind = plain[max(len(each) for each in before if plain.startswith(each)) :]
    if len(behind) < BEHIND_MIN or (before is not ARTICLES and fold(behind[0], "")[:1] not in ELIDES):
        return plain
    return behind


def _brought(algorithm: str) -> frozenset[str]:
    return MARKS_OF_FORMS.get(algorithm, frozenset())


def _beginning(stem: str, algorithm: str) -> str:
    """Return the common beginning of the words of a stem.

    The last letter of a stem may differ from that of its words (carri, use; in Dutch huis, huizen), and Dutch writes
    two vowels for one (maan, manen). Light stemmers change it in short words, too.
    """
    if algorithm in ENDINGS and len(stem) > 2:
        return stem[:-1]
    if algorithm == "dutch" and len(stem) > DOUBLED_LETTERS and _is_doubled(stem):
        return stem[:-2]
    if algorithm == "dutch" and len(stem) > 2 and stem[-1] in VOICED:
        return stem[:-1]
    return stem[:-1] if len(stem) > 4 or (len(stem) > 2 and stem[-1] in "eiy") else stem


def _is_doubled(stem: str) -> bool:
    return len(stem) >= DOUBLED_LETTERS and stem[-3] == stem[-2] and stem[-2] in "aeou" and stem[-1] not in "aeiou"


def _ends(stem: str) -> tuple[str, ...]:
    """Return the beginnings of most words of a short stem, whose own beginning is that of too many words."""
    if stem[-1:] in ("i", "y"):
        return (f"{stem[:-1]}i", f"{stem[:-1]}y")
    ends = [stem]
    if _is_doubled(stem):
        ends.append(stem[:-2] + stem[-1])
    return (*ends, *(f"{each[:-1]}{VOICED[each[-1]]}" for each in ends if each[-1:] in VOICED))


def _shared(one: str, other: str) -> str:
    """Return the common beginning of two words, at least the first two letters of `one`."""
    if len(other) > 1 and one.startswith(other):
        return other
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return one[: max(length, 2)]


def nearest_words(word: bytes, words: list[bytes]) -> tuple[bytes, ...]:
    """Return at most FAMILY_MAX words of a family: words closest in length to the typed one, in byte order."""
    if len(words) > FAMILY_MAX:
        words = sorted(words, key=lambda each: (abs(len(each) - len(word)), each))[:FAMILY_MAX]
    return tuple(sorted(words))
