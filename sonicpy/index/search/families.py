"""Families: the words of a bucket that match a typed word, because they have its stem or differ only in accents.

Families are not stored. Walks over the word graph and the pending words find the words that differ from the typed one
only in accents, and candidates: words that begin as its stems do, with or without marks on their letters, also behind
an elided word (l'homme). Candidates that share a stem with the typed word belong to its family. This misses forms that
differ from their stem before its last letter (went, men), and the words behind the first CANDIDATES_MAX candidates.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

from sonicpy._native.bucket_words import FAMILY_MAX
from sonicpy._native.kin import CANDIDATES_MAX, Kin, Stem, drawn, forms_of, joined_words, spelled_words
from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import word_of
from sonicpy._native.stems import KinMaker, patterns
from sonicpy._native.word_source import WordSource, words_in
from sonicpy._native.word_walks import find_words
from sonicpy.index.search.accents import (
    QUOTE,
    ZWNJ,
    fold,
    folding,
    has_pair,
    is_spelled,
    loosened,
    loosening,
    respelled,
    respelling,
    unmarked,
)
from sonicpy.index.search.matching import (
    ARTICLES,
    BEHIND_MIN,
    ELIDED,
    ELIDED_ANYWHERE,
    ELIDES,
    JOINED_BEFORE,
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
from sonicpy.lexer.irregular import FindForms, irregular_forms
from sonicpy.lexer.stemmers import STEMMERS

WORD_CHARACTERS_MAX = 40
"""The most letters of a word that has a family."""
HEBREW = range(0x5D0, 0x5EB)
"""The letters of Hebrew."""
ENGLISH = "english"
"""The stemmer whose irregular forms are looked for even where the language of a word is not known."""
Way = tuple[tuple[str, ...], tuple[str, ...], bool, str | None, tuple[FindForms, ...]]
"""The way from a word to its family: its stemmers (the fields of WordStemmers), the letters that keep their marks, and
finders of forms that the stemmers miss."""
WAYS_CACHED = 64
"""The most languages of queries and buckets whose rules for words of ASCII letters are remembered."""


class Family(NamedTuple):
    """The other words that a typed word finds.

    Attributes:
        words: those that it finds in any case.
        doubtful: those that it finds only if they are in the language of the stemmer that led to them, or if marks do
            not matter.
    """

    words: tuple[bytes, ...]
    doubtful: tuple[bytes, ...]


def family_of(sources: list[WordSource], word: bytes, matching: Matching) -> tuple[set[bytes], set[bytes]]:
    """Return the words of some sources that a word surely finds, and those that it may find. These may include the word
    itself, and words that no object holds any more.
    """
    text = word.decode()
    is_plain = word.isalpha()  # letters of ASCII alone
    if len(text) > WORD_CHARACTERS_MAX or not (is_plain or is_spelled(text)):
        return set(), set()
    sure, doubtful, may_agree, own, other_forms = _plain_way(matching) if is_plain else _way(text, matching)
    if may_agree:
        words, doubtful_words = _agreed(sources, _kin_of(text, doubtful, own))
    else:
        kin = _kin_of(text, sure, own)
        words = set() if kin is None else drawn(sources, kin)
        doubtful_words = _drawn(sources, _kin_of(text, doubtful, own)) if doubtful else set()
    for forms in other_forms:
        if others := forms(text):
            doubtful_words.update(words_in(sources, map(str.encode, others)))
    if own != "":
        doubtful_words |= _drawn(sources, _kin_of(text, sure, ""))
    if not is_plain or len(text) < BEHIND_MIN or has_pair(text):
        doubtful_words |= _respelled(sources, text)
        if particles := JOINED_BEFORE.get(script_of(text)):
            doubtful_words |= _forms_with_particles(sources, text, particles, sure or doubtful, own)
    return words, doubtful_words - words if doubtful_words else doubtful_words


def _way(text: str, matching: Matching) -> Way:
    """Return the way from a word to its family."""
    sure, doubtful, may_agree = matching.stemming(text)
    names = (*sure, *(name for name in doubtful if name == ENGLISH))
    return sure, doubtful, may_agree, matching.own_letters(text), _finders(names)


def _finders(names: tuple[str, ...]) -> tuple[FindForms, ...]:
    """Return finders of the forms that some stemmers miss."""
    if names in ((), (ENGLISH,)):
        return (irregular_forms,) if names else ()
    from sonicpy.lexer.other_forms import OTHER_FORMS  # noqa: PLC0415  loaded when it is needed

    return tuple(OTHER_FORMS[name] for name in names if name in OTHER_FORMS)


@lru_cache(WAYS_CACHED)
def _plain_way(matching: Matching) -> Way:
    """Return the result of `_way` for words of ASCII letters, which is the same for all of them."""
    return _way("a", matching)


def _drawn(sources: list[WordSource], kin: Kin | None) -> set[bytes]:
    """Return the words of the sources that differ from a word only in accents, and those with the same stem by a
    stemmer.
    """
    return set() if kin is None else drawn(sources, kin)


def _agreed(sources: list[WordSource], kin: Kin | None) -> tuple[set[bytes], set[bytes]]:
    """Return the words that differ only in accents, or that the first stemmer and another one reduce to the same stem;
    and the words that any stemmer reduces to the same stem.
    """
    if kin is None:
        return set(), set()
    forms = [forms_of(sources, kin, stem) for stem in kin.stems]
    every = set().union(*forms)
    return spelled_words(sources, kin) | (forms[0] & set().union(*forms[1:]) if forms else every), every


def _respelled(sources: list[WordSource], text: str) -> set[bytes]:
    """Return the words that may be another spelling: with two letters for one that has a mark, with letters that are
    often confused, or with another particle before them.
    """
    if text.isascii() and len(text) >= BEHIND_MIN and "'" not in text and respelled(text) is None:
        return set()  # as most words
    script = script_of(text)
    if script in variants.SCRIPTS:
        return set(find_words(sources, [each.encode() for each in variants.patterns(text)], variant_folding()))
    if script in JOINED_BEFORE:
        before = (*JOINED_BEFORE[script], *(ARTICLES if script == "ARABIC" else ()))
        patterns = [each.encode() for each in _loose_spellings(loosened(text), before)]
        return _spelled_among(find_words(sources, patterns, loosening()))
    two = respelled(text) if script == "LATIN" else None
    found = {} if two is None else find_words(sources, [two.encode()], respelling())
    elided = [fold(each, "").encode() for each in _elided(text)] if script == "LATIN" else []
    if elided:
        found |= find_words(sources, elided, folding(""))
    return _spelled_among(found)


def _forms_with_particles(
    sources: list[WordSource], text: str, particles: tuple[str, ...], names: tuple[str, ...], own: str | None
) -> set[bytes]:
    """Return the forms of a word behind a particle, and those of the word behind its own particle.

    Args:
        names: the stemmers of the word.
    """
    found: set[bytes] = set()
    kin = _kin_of(text, names, own)
    if kin is not None:
        found.update(*(_behind(sources, kin, stem, particles) for stem in kin.stems))
    joined = max((each for each in particles if text.startswith(each)), key=len, default="")
    if joined and len(text) - len(joined) >= BEHIND_MIN:
        found |= _drawn(sources, _kin_of(text[len(joined) :], names, own))
    return found


def _behind(sources: list[WordSource], kin: Kin, stem: Stem, particles: tuple[str, ...]) -> set[bytes]:
    """Return the words that consist of a particle and a word with a stem (ha-sfarim by sefer)."""
    patterns = [each.encode() + beginning for each in particles for beginning in stem.beginnings]
    found = find_words(sources, patterns, folding(kin.kept), begins=True, spelled=True, most=CANDIDATES_MAX)
    cores = [
        (word, text[len(each) :])
        for word in found
        for text in (_makers.core(word.decode(), ()),)
        for each in particles
        if text.startswith(each) and len(text) - len(each) >= BEHIND_MIN
    ]
    stems = stem.stem_words([_makers.core(core, kin.before) for _, core in cores])
    return {word for (word, _), each in zip(cores, stems, strict=True) if fold(each, kin.own) == stem.folded}


def _spelled_among(found: Iterable[bytes]) -> set[bytes]:
    return {each for each in map(word_of, found) if is_spelled(each.decode())}


def _loose_spellings(word: str, particles: tuple[str, ...]) -> Iterator[str]:
    """Yield the loose spellings of a word: with and without the sign of an abbreviation, each without a particle and
    behind each particle.
    """
    if len(word) < BEHIND_MIN:
        yield word
        return
    ways = [word]
    if QUOTE in word:
        ways.append(word.replace(QUOTE, ""))
    elif ord(word[0]) in HEBREW:
        ways.append(word[:-1] + QUOTE + word[-1])
    for way in ways:
        yield way
        for each in particles:
            yield each + way
            if way.startswith(each) and len(way) - len(each) >= BEHIND_MIN:
                yield way[len(each) :]


def _elided(text: str) -> Iterator[str]:
    """Yield a Latin word without an elided word before it, in any language, or a short word behind elided words."""
    if "'" in text or not text.isascii():
        behind = _makers.core(text, ELIDED_ANYWHERE)
        if behind != unmarked(text):
            yield behind
    if len(text) < BEHIND_MIN and fold(text[0], "") in ELIDES:
        yield from (each + text for each in ELIDED_ANYWHERE)


def joined_with(
    sources: list[WordSource], wholes: list[WordSource], word: bytes, matching: Matching | None
) -> set[bytes]:
    """Return the compounds of which a part is `word` or one of its family; some may be in no object. Those in `wholes`
    that begin with exactly `word` may be left out.

    Args:
        sources: the sources of aliases, see _native/parts.pyx.
        wholes: the sources of words; parts at the beginning of words have no aliases in `sources`.
        matching: leads the typed word to its family; None: it has no family.
    """
    text = word.decode()
    kin = None
    is_plain = word.isalpha()
    if matching is not None and len(text) <= WORD_CHARACTERS_MAX and (is_plain or is_spelled(text)):
        way = _plain_way(matching) if is_plain else _way(text, matching)
        kin = _kin_of(text, way[0], way[3])
    if kin is None:
        found = set(map(word_of, find_words(sources, [word + b"\0"], folding(None), begins=True)))
        return _without_articles(found, text) if found and matching is None else found
    return joined_words(sources, wholes, kin, word)


def _without_articles(words: set[bytes], noun: str) -> set[bytes]:
    return {each for each in words if not _has_article(each.decode(), noun)}


def _has_article(word: str, noun: str) -> bool:
    """Return whether a word is a noun behind an Arabic article, and so another form of this noun."""
    return word.endswith(noun) and word[: -len(noun)] in ARTICLES


@lru_cache(1)
def variant_folding() -> Folding:
    """Return the letters that count as equal in other spellings, for walks over words."""
    return Folding(variants.foldings())


class _Rules:
    """The rules of a language that need more than a comparison of bytes; see `_Rules` in _native/kin.pyi."""

    is_spelled = staticmethod(is_spelled)
    fold = staticmethod(fold)

    @staticmethod
    def patterns(kin: Kin, beginnings: Iterable[str]) -> list[bytes]:
        """Return beginnings of words: some, and each of them behind every string that may come before a word."""
        return patterns(beginnings, kin.before)

    @staticmethod
    def of_stem(found: list[bytes], kin: Kin, stem: Stem) -> set[bytes]:
        """Return the candidates that an algorithm reduces to a stem."""
        joined = b"\n".join(found).decode()
        cores = [text.partition("\0")[0] for text in joined.split("\n")]
        if not kin.before and joined.isascii():
            stems = stem.stem_words(cores)
        else:
            cores = [core if not kin.before and core.isascii() else _makers.core(core, kin.before) for core in cores]
            stems = [each if each.isascii() else fold(each, kin.own) for each in stem.stem_words(cores)]
        forms = compress(zip(found, cores, strict=True), map(stem.folded.__eq__, stems))
        return {word_of(word) for word, core in forms if is_spelled(core)}


class _Languages:
    """The languages of stemmers; see `_Languages` in _native/stems.pyi."""

    fold = staticmethod(fold)
    unmarked = staticmethod(unmarked)
    folding = staticmethod(folding)
    script_of = staticmethod(script_of)
    stem_ends = staticmethod(stem_ends)
    stemmers = STEMMERS
    ELIDED = ELIDED
    ELIDED_ANYWHERE = ELIDED_ANYWHERE
    ELIDES = ELIDES
    ARTICLES = ARTICLES
    MARKS_OF_FORMS = MARKS_OF_FORMS
    PREFIXES = PREFIXES
    VOICED = VOICED
    ENDINGS = ENDINGS
    SCRIPTS_WITH_MARKS = SCRIPTS_WITH_MARKS
    BEHIND_MIN = BEHIND_MIN
    ZWNJ = ZWNJ


_makers = KinMaker(_Languages, _Rules)
_kin_of = _makers.of


def nearest_words(word: bytes, words: list[bytes]) -> tuple[bytes, ...]:
    """Return at most FAMILY_MAX words of a family: those closest in length to the typed word, in byte order."""
    if len(words) > FAMILY_MAX:
        words = sorted(words, key=lambda each: (abs(len(each) - len(word)), each))[:FAMILY_MAX]
    return tuple(sorted(words))
