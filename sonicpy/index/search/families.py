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

from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import aliases_of, word_of
from sonicpy._native.stem_ends import StemEnds
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

CANDIDATES_MAX = 512
"""Words that begin as a stem does and are compared with it, at most: it bounds the time for short words."""
KIN_CACHED = 10_000
"""Typed words whose stems are remembered, at most; about 1 KB each."""
FAMILY_MAX = 16
"""Maximum of words of a family besides the typed one: each is a list of postings to read."""
WORD_CHARACTERS_MAX = 40
"""Longer words have no family."""
BEGINS_WORD = b"\0\1"
"""In an alias: its word begins with the part."""
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


class _Stem(NamedTuple):
    """The stem of a typed word.

    Attributes:
        algorithm: the name of the Snowball algorithm.
        folded: the stem, folded.
        beginnings: the common beginning of the stem's words and the typed word, as patterns of walks.
        start: the typed word, folded as the beginnings are: with the ends of the stem, where too many words begin so.
        ends: the endings of words of the letters a to z that may have the stem; None: any ending.
    """

    algorithm: str
    folded: str
    beginnings: list[bytes]
    start: str
    ends: StemEnds | None


class _Kin(NamedTuple):
    """The common properties of the words of a family.

    Attributes:
        folded: the typed word, folded.
        own: see `fold`.
        stems: its stems.
        kept: letters that stay as they are in beginnings: those of `own` that no form of a word brings.
        before: the strings that may come before a word of the family: elided words with their apostrophes, or articles.
        spelled: the patterns of words that are the typed one but for accents.
    """

    folded: str
    own: str | None
    stems: tuple[_Stem, ...]
    kept: str | None
    before: tuple[str, ...]
    spelled: list[bytes]

    def patterns(self, beginnings: Iterable[str]) -> list[bytes]:
        """Return some beginnings, and those behind all strings that may come before a word."""
        return _patterns(beginnings, self.before)


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


def _drawn(sources: list[WordSource], kin: _Kin | None) -> set[bytes]:
    """Return the words that differ only in accents, and those that a stemmer draws to the same stem."""
    if kin is None:
        return set()
    return _spelled(sources, kin).union(*[_forms(sources, kin, stem) for stem in kin.stems])


def _agreed(sources: list[WordSource], kin: _Kin | None) -> tuple[set[bytes], set[bytes]]:
    """Return the words that differ only in accents or that the first stemmer and another one draw to the same stem, and
    those that any does."""
    if kin is None:
        return set(), set()
    forms = [_forms(sources, kin, stem) for stem in kin.stems]
    every = set().union(*forms)
    return _spelled(sources, kin) | (forms[0] & set().union(*forms[1:]) if forms else every), every


def _spelled(sources: list[WordSource], kin: _Kin) -> set[bytes]:
    found = find_words(sources, kin.spelled, folding(kin.own))
    return {each for each in map(word_of, found) if is_spelled(each.decode())}


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
    words = set(map(word_of, find_words(among, [kin.folded.encode() + b"\0"], folding(kin.own), begins=True)))
    return words.union(*(_joined_forms(among, list(wholes), kin, stem) for stem in kin.stems))


def _joined_forms(sources: list[WordSource], wholes: list[WordSource], kin: _Kin, stem: _Stem) -> set[bytes]:
    """Return the words with a part that an algorithm draws to a stem.

    Parts that words begin with have to begin as the stem does: all words that begin so are looked through for them.
    """
    patterns = tuple(kin.patterns(_ends(stem.folded)))
    found = _candidates(sources, kin, stem, stem.beginnings)
    candidates = [each for each in found if BEGINS_WORD not in each]
    begun = {each for each in found if BEGINS_WORD in each} if len(candidates) < len(found) else set()
    if wholes:
        words = find_words(wholes, list(patterns), folding(kin.kept), begins=True, joined=True, most=CANDIDATES_MAX)
        for word in words:
            if not (word.isalpha() or word.decode().isalpha()):
                begun.update(each for each in aliases_of(word) if BEGINS_WORD in each)
    for each in begun:
        if (each if each.isascii() else fold(each.decode(), kin.kept).encode()).startswith(patterns):
            candidates.append(each)
    return _of_stem(candidates, kin, stem)


def _has_article(word: str, noun: str) -> bool:
    """Return whether a word is a noun behind an Arabic article: it is another form of the noun."""
    return word.endswith(noun) and word[: -len(noun)] in ARTICLES


@lru_cache(1)
def variant_folding() -> Folding:
    """Return the letters that are the same in other spellings, for walks over words."""
    return Folding(variants.foldings())


def _forms(sources: list[WordSource], kin: _Kin, stem: _Stem) -> set[bytes]:
    """Return the words that an algorithm draws to a stem."""
    found = _candidates(sources, kin, stem, stem.beginnings)
    if len(found) >= CANDIDATES_MAX:
        found |= _candidates(sources, kin, stem, kin.patterns((stem.start, *_ends(stem.folded))))
    return _of_stem(list(found), kin, stem)


def _of_stem(found: list[bytes], kin: _Kin, stem: _Stem) -> set[bytes]:
    """Return the words of some candidates that an algorithm draws to a stem."""
    if not found:
        return set()
    stem_words = _stemmers[stem.algorithm]
    joined = b"\n".join(found).decode()
    texts = joined.split("\n")
    if not kin.before and joined.isascii() and "\0" not in joined:  # most words: they are stemmed as they are
        stems = stem_words(texts)
        return set(compress(found, map(stem.folded.__eq__, stems)))
    cores = [text.partition("\0")[0] for text in texts]
    if kin.before or not joined.isascii():
        cores = [core if not kin.before and core.isascii() else _core(core, kin.before) for core in cores]
        stems = [each if each.isascii() else fold(each, kin.own) for each in stem_words(cores)]
    else:
        stems = stem_words(cores)
    forms = compress(zip(found, cores, strict=True), map(stem.folded.__eq__, stems))
    return {word_of(word) for word, core in forms if is_spelled(core)}


def _candidates(sources: list[WordSource], kin: _Kin, stem: _Stem, patterns: list[bytes]) -> dict[bytes, int]:
    """Return the first words that begin so, some behind the part that leads to them."""
    return find_words(
        sources, patterns, folding(kin.kept), begins=True, spelled=True, most=CANDIDATES_MAX,
        ends=stem.ends, stem=stem.folded.encode() if stem.ends is not None else b"",
    )  # fmt: skip


@lru_cache(KIN_CACHED)
def _kin_of(whole: str, names: tuple[str, ...], own: str | None) -> _Kin | None:
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
    return _Kin(folded, own, stems, kept, before, _patterns([folded], before))


def _before(names: Sequence[str], script: str) -> tuple[str, ...]:
    """Return the strings that may come before a word that some algorithms stem."""
    if script == "ARABIC":
        return ARTICLES
    elided = [ELIDED[name] for name in names if name in ELIDED]
    return elided[0] if len(names) == len(elided) == 1 else ELIDED_ANYWHERE if elided else ()


def _stem(text: str, start: str, own: str | None, algorithm: str, before: tuple[str, ...]) -> _Stem:
    """Return a stem of a word.

    Args:
        start: the word as the beginnings of candidates are folded.
        own: see `fold`.
        before: see `_Kin`.
    """
    stem = fold(_stemmers[algorithm]([text])[0], own)
    ends = stem_ends(algorithm, stem)
    is_plain = start.isascii() and start.isalpha() and stem.isascii() and stem
    if not is_plain or ends is None or not ends.may_have([start], stem):
        ends = None
    return _Stem(algorithm, stem, _patterns(_beginnings(start, stem, algorithm), before), start, ends)


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
