"""Families: the words of a bucket that match a typed word, because they have its stem or differ only in accents.

Families are not stored. Candidates are the words that begin like a stem of the typed word, with or without marks on
their letters, perhaps behind an elided word (l'homme). The candidates that share a stem or the folded form with the
typed word are its family. Forms that differ from their stem before its last letter (went, men) are missed, and so are
words behind the first CANDIDATES_MAX candidates.

A family is cached. When words are pushed, only the new words are compared with it.
"""

import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import NamedTuple

import Stemmer

from sonicpy._native.held import Held
from sonicpy._native.stem_ends import StemEnds
from sonicpy.index.search.accents import APOSTROPHES, fold, goes_on, is_spelled, spellings, unmarked
from sonicpy.index.search.new_words import NewWords, first_letters
from sonicpy.index.search.stem_ends import stem_ends
from sonicpy.lexer.languages import by_code
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.views.bucket_reader import BucketReader

CANDIDATES_MAX = 512
"""Maximum of candidates that are compared with a family: it bounds the time for short words."""
FAMILIES_MAX = 10_000
"""Maximum of families in the cache, of about 500 bytes each."""
FAMILY_MAX = 16
"""Maximum of words of a family besides the typed one: each is a list of postings to read."""
WORD_CHARACTERS_MAX = 40
"""Longer words have no family."""
FAMILY_LETTERS_MIN = 2
"""Shorter words have no family: stems of one letter unite unrelated words (o, oe, oing)."""

ANY_LATIN = ("english", "french", "german", "italian", "portuguese", "spanish")
"""The algorithms for Latin words of a query of unknown language, used together: few pairs of words that one of them
unites are separated by the right one."""

OWN_LETTERS = {
    **dict.fromkeys(("swe", "fin", "est"), "åäö"),
    **dict.fromkeys(("dan", "nob"), "æøå"),
    **dict.fromkeys(("deu", "hun"), "äöü"),
    **dict.fromkeys(("tur", "aze"), "çşğıöü"),
    **dict.fromkeys(("spa", "glg"), "ñ"),
    "ron": "ăâî",  # ș and ț are written with a cedilla, too, as are Turkish letters
}
"""Letters with marks that are letters of their own in a language, different from the letters without marks."""

MARKS_OF_FORMS = {"german": frozenset("äöü")}
"""Algorithm -> letters with marks that arise by inflection (Haus, Häuser); the algorithm removes these marks."""

MARKS_MATTER = frozenset(("pol", "ces", "slk", "hrv", "lit", "vie"))
"""Languages in which a word typed with marks matches only words with these marks."""

ELIDED = {
    ("french",): ("c'", "d'", "j'", "jusqu'", "l'", "lorsqu'", "m'", "n'", "puisqu'", "qu'", "s'", "t'"),
    ("italian",): ("all'", "d'", "dall'", "dell'", "l'", "nell'", "quell'", "quest'", "sull'", "un'"),
    ("catalan",): ("d'", "l'", "m'", "n'", "s'", "t'"),
    ANY_LATIN: ("all'", "d'", "dell'", "l'", "qu'"),
}
"""Algorithms -> elided words that are written together with the next word. For unknown languages only those of names
and titles, because each costs a look-up."""
ELIDES = frozenset("aehiouy")
"""First letters of words before which a word is elided."""
SCRIPTS_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC")
"""Scripts whose words have a family even without an algorithm: words that differ only in accents or points."""
ARTICLES = ("ال", "بال", "فال", "كال", "لل", "وال")
"""The prefixes of Arabic nouns: the article, alone and behind prepositions."""
LONG_BYTES = 24
"""The family of a longer word may have words of more than WORD_BYTES_MAX, which never become pending: it is looked up
again once the terms of the bucket have changed."""
VOICED = {"f": "v", "s": "z"}
"""Last letter of a Dutch stem -> letter in its place before an ending: brief, brieven."""
BEHIND_MIN = 3
"""Minimum of letters behind an elided word or an article: l'on is a word of its own."""


class Matching(NamedTuple):
    """The properties of a query that decide the families of its words.

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
        """Return the letters that keep their marks; None: all letters do."""
        if self.code in MARKS_MATTER and not word.isascii():
            return None
        return OWN_LETTERS.get(self.code or "", "")


def _script(word: str) -> str:
    return "LATIN" if word[0] < "\u0250" else unicodedata.name(word[0], "").partition(" ")[0]


class _Stem(NamedTuple):
    """The stem of a typed word.

    Attributes:
        algorithm: the name of the Snowball algorithm.
        folded: the stem, folded.
        beginning: the common beginning of the stem's words and the typed word.
        ends: the endings of words of the letters a to z that may have the stem; None: any ending.
    """

    algorithm: str
    folded: str
    beginning: str
    ends: StemEnds | None


@dataclass(frozen=True, slots=True)
class _Kin:
    """The common properties of the words of a family.

    Attributes:
        folded: the typed word, folded.
        own: see `fold`.
        stems: its stems.
        start: the typed word, folded like the beginnings of candidates.
        kept: letters of `own` that stay unchanged in beginnings, because inflection does not produce them.
        prefixes: the beginnings of candidates.
        keys: the first letters of the prefixes, for `NewWords`.
        near: longer beginnings, for prefixes with too many words.
        before: possible texts before a word of the family: elided words with their apostrophes, or articles.
    """

    folded: str
    own: str | None
    stems: tuple[_Stem, ...]
    start: str
    kept: str | None
    prefixes: tuple[str, ...]
    keys: tuple[str, ...]
    near: tuple[str, ...]
    before: tuple[str, ...]

    def holds(self, stemmers: "Stemmers", words: Sequence[str]) -> list[bytes]:
        """Return the words of the family among some words."""
        # Most words are ASCII letters alone: nothing stands before them, and they are folded already.
        own, folded = self.own, self.folded
        plain = [word for word in words if word.isascii() and word.isalpha()]
        others = [] if len(plain) == len(words) else list(set(words).difference(plain))
        cores = [_core(word, self.before) for word in others]
        found = {word for word, core in zip(others, cores, strict=True) if fold(core, own) == folded}
        if folded in plain:
            found.add(folded)
        for algorithm, stem, beginning, ends in self.stems:
            if ends is None:
                begun = [word for word in plain if word.startswith(beginning)]
            else:
                begun = ends.may_have(plain, stem)
            stems = self._stems(stemmers[algorithm], begun)
            if stem in stems:
                found.update(compress(begun, map(stem.__eq__, stems)))
            if others:
                stems = self._stems(stemmers[algorithm], cores)
                found.update(compress(others, map(stem.__eq__, stems)))
        return sorted(map(str.encode, found))

    def _stems(self, stemmer: Stemmer.Stemmer, words: list[str]) -> list[str]:
        """Return the stems of some words, folded."""
        stems = stemmer.stemWords(words)
        return stems if all(map(str.isascii, stems)) else [fold(stem, self.own) for stem in stems]


class Stemmers(dict[str, Stemmer.Stemmer]):
    """Snowball's algorithms by name, each made when it is needed first."""

    def __missing__(self, algorithm: str) -> Stemmer.Stemmer:
        # Without PyStemmer's own cache: where words seldom come again, it takes longer than stemming.
        stemmer = self[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return stemmer


_Moment = tuple[int, tuple[int, int] | None, int]
"""The state in which a family was looked up: `pending_seq`, for long words `next_term` and `total_length`, and the
number of recoveries."""


class _Family(NamedTuple):
    """A family in the cache. It holds only bytes, strings, numbers and shared objects, because the garbage collector
    would have to examine all lists and objects of thousands of families.

    Attributes:
        words: its words, except the typed one.
        prefixes, keys: of its kin, see `_Kin`.
        moment: the state in which it was looked up or refreshed.
        new: the new words of the bucket; None: they are not known.
        taken: the number of new words that it was compared with.
    """

    words: tuple[bytes, ...]
    prefixes: tuple[str, ...]
    keys: tuple[str, ...]
    moment: _Moment
    new: NewWords | None
    taken: int


_Key = tuple[int, bytes, str | None, bool, _Moment | None]
"""The key of a family: the bucket, the typed word, its `Matching`, and the moment if the reader is behind others."""


class Families:
    """The cache of families of all buckets of an index.

    Args:
        recoveries: returns the number of recoveries of the store.
    """

    def __init__(self, recoveries: Callable[[], int] = int) -> None:
        self._recoveries = recoveries
        self._stemmers = Stemmers()
        self._cached: dict[_Key, _Family] = {}
        self._held: dict[tuple[int, tuple[str, ...]], tuple[_Moment, list[bytes]]] = {}
        """(bucket, elisions) -> (state when looked up, elisions that occur)."""
        self._new: dict[int, tuple[int, NewWords]] = {}
        """bucket -> (number of recoveries, new words)."""
        self._refreshing = threading.Lock()

    def of(
        self, reader: BucketReader, word: bytes, matching: Matching, pending: Callable[[], KnownPending | None]
    ) -> tuple[bytes, ...]:
        """Return the other words of a word's family, at most FAMILY_MAX; some may no longer be in any object.

        Args:
            pending: see `View.growing_pending_words`.
        """
        state = reader.state
        terms = (state.next_term, state.total_length) if len(word) > LONG_BYTES else None
        moment = (state.pending_seq, terms, self._recoveries())
        key: _Key = (state.bucket, word, matching.code, matching.is_ascii, None)
        cached = self._cached.get(key)
        if cached is not None and cached.moment == moment:
            return cached.words
        new, taken, is_behind = self._new_words(state, pending())
        if is_behind:  # others have read later words, and may have found words gone: what is cached is theirs
            key = (*key[:-1], moment)
            cached = self._cached.get(key)
            if cached is not None:
                return cached.words
        family = None if cached is None or new is None else self._refreshed(cached, word, matching, new, taken, moment)
        if family is None:
            kin = self._kin(word, matching)
            words = [] if kin is None else kin.holds(self._stemmers, self._candidates(reader, kin, moment))
            words = [each for each in words if each != word]
            prefixes, keys = ((), ()) if kin is None else (kin.prefixes, kin.keys)
            family = _Family(nearest_words(word, words), prefixes, keys, moment, new, taken)
        if len(self._cached) >= FAMILIES_MAX:
            self._cached.clear()
            self._held.clear()
            self._new.clear()
        self._cached[key] = family
        return family.words

    def _new_words(self, state: BucketState, pending: KnownPending | None) -> tuple[NewWords | None, int, bool]:
        """Return new words of a bucket (None: not known), their number, and whether the state is behind the last."""
        if pending is None:
            return None, 0, False
        with Held(self._refreshing):
            recoveries, known = self._new.get(state.bucket, (-1, None))
            if known is None or recoveries != self._recoveries() or not known.refresh(pending, state):
                known = NewWords(pending, state, ARTICLES)
                self._new[state.bucket] = self._recoveries(), known
            return known, len(known), state.pending_seq < known.seq

    def _refreshed(
        self, family: _Family, word: bytes, matching: Matching, new: NewWords, taken: int, moment: _Moment
    ) -> _Family | None:
        """Return a cached family, extended by new words; None: it has to be looked up.

        Args:
            taken: number of new words; there may be more by now.
        """
        if new is not family.new or moment[1] != family.moment[1]:
            return None
        words = family.words
        known = [each for each in new.beginning(family.keys, family.taken) if _may_begin(each, family.prefixes)]
        kin = self._kin(word, matching) if known else None
        if kin is not None:
            begun = [each for each in known if _begins(each, kin)]
            if len(begun) > CANDIDATES_MAX:
                return None
            found = kin.holds(self._stemmers, begun) if begun else []
            words = tuple(sorted({*words, *found} - {word}))
            if found and len(words) >= FAMILY_MAX:  # objects may hold some no more, and others that were left out
                return None
        return _Family(words, family.prefixes, family.keys, moment, new, taken)

    def _kin(self, word: bytes, matching: Matching) -> _Kin | None:
        """Return the kin of a word; None: it has no family."""
        whole = word.decode()
        if len(whole) > WORD_CHARACTERS_MAX or not is_spelled(whole):
            return None
        algorithms = matching.algorithms(whole)
        if not algorithms and _script(whole) not in SCRIPTS_WITH_MARKS:
            return None
        own = matching.own_letters(whole)
        before = ELIDED.get(algorithms, ARTICLES if _script(whole) == "ARABIC" else ())
        text = _core(whole, before)
        folded = fold(text, own)
        if len(folded) < FAMILY_LETTERS_MIN:
            return None
        if len(folded) < BEHIND_MIN or (before is not ARTICLES and folded[0] not in ELIDES):
            before = ()
        kept = own and "".join(letter for letter in own if not any(letter in _brought(name) for name in algorithms))
        start = fold(text, kept)
        stems = tuple(self._stem(text, start, own, name) for name in algorithms)
        prefixes = _shortest({stem.beginning for stem in stems} or {start})
        near = {start, *(each for stem in stems for each in _ends(stem.folded))}.difference(prefixes)
        keys = tuple(sorted(set(map(first_letters, prefixes))))
        return _Kin(folded, own, stems, start, kept, prefixes, keys, tuple(sorted(near)), before)

    def _stem(self, text: str, start: str, own: str | None, algorithm: str) -> _Stem:
        stem = fold(self._stemmers[algorithm].stemWord(text), own)
        ends = stem_ends(algorithm, stem)
        is_plain = start.isascii() and start.isalpha() and stem.isascii() and stem
        if not is_plain or ends is None or not ends.may_have([start], stem):
            ends = None
        return _Stem(algorithm, stem, _shared(start, _beginning(stem, algorithm)), ends)

    def _candidates(self, reader: BucketReader, kin: _Kin, moment: _Moment) -> list[str]:
        """Return the candidates of a family, with or without marks; some twice."""
        found: list[str] = []
        for before in (b"", *self._begun(reader, kin.before, moment)):
            starts = (spellings(reader.word_from, kin.start, len(prefix), kin.kept, before) for prefix in kin.prefixes)
            if not _add_words(found, reader, chain.from_iterable(starts)):
                near = (spellings(reader.word_from, each, len(each), kin.kept, before) for each in kin.near)
                _add_words(found, reader, chain.from_iterable(near))
        return found

    def _begun(self, reader: BucketReader, before: tuple[str, ...], moment: _Moment) -> list[bytes]:
        """Return the elisions with which words of the bucket begin."""
        if not before:
            return []
        key = reader.state.bucket, before
        known = self._held.get(key)
        if known is None or known[0] != moment:
            known = self._held[key] = moment, [each for each in _written(before) if goes_on(reader.word_from, each)]
        return known[1]


def _core(word: str, before: tuple[str, ...]) -> str:
    """Return a word as input of a stemmer: with straight apostrophes, without points and without an elision."""
    plain = unmarked(word)
    if not before or not plain.startswith(before):
        return plain
    behind = plain[max(len(each) for each in before if plain.startswith(each)) :]
    if len(behind) < BEHIND_MIN or (before is not ARTICLES and fold(behind[0], "")[:1] not in ELIDES):
        return plain
    return behind


def _shortest(beginnings: set[str]) -> tuple[str, ...]:
    """Return the beginnings that do not begin with another one, in their order."""
    return tuple(
        sorted(one for one in beginnings if not any(one != other and one.startswith(other) for other in beginnings))
    )


def _brought(algorithm: str) -> frozenset[str]:
    return MARKS_OF_FORMS.get(algorithm, frozenset())


def _may_begin(word: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether `_begins` has to check a word; False for plain ASCII words that begin with no prefix."""
    return word.startswith(prefixes) or not (word.isascii() and word.isalpha())


def _begins(word: str, kin: _Kin) -> bool:
    return fold(_core(word, kin.before), kin.kept).startswith(kin.prefixes) and is_spelled(word)


def _beginning(stem: str, algorithm: str) -> str:
    """Return the common beginning of the words of a stem.

    The last letter of a stem may differ from that of its words (carri, use; in Dutch huis, huizen), and Dutch writes
    two vowels for one (maan, manen).
    """
    if algorithm == "dutch" and _is_doubled(stem):
        return stem[:-2]
    if algorithm == "dutch" and len(stem) > 2 and stem[-1] in VOICED:
        return stem[:-1]
    return stem[:-1] if len(stem) > 4 or (len(stem) > 2 and stem[-1] in "eiy") else stem


def _is_doubled(stem: str) -> bool:
    return len(stem) > 3 and stem[-3] == stem[-2] and stem[-2] in "aeou" and stem[-1] not in "aeiou"


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


def _written(before: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the spellings of elisions: with either apostrophe, or without."""
    for each in before:
        if each.endswith("'"):
            yield from ((each[:-1] + apostrophe).encode() for apostrophe in APOSTROPHES)
        else:
            yield each.encode()


def _add_words(found: list[str], reader: BucketReader, beginnings: Iterator[bytes]) -> bool:
    """Add the words with these beginnings, at most CANDIDATES_MAX; return whether these are all."""
    left = CANDIDATES_MAX
    longest = 4 * WORD_CHARACTERS_MAX
    for beginning in beginnings:
        words = reader.words_with(beginning, left)[:left]
        left -= len(words)
        texts = [word.decode() for word in words if len(word) <= longest]
        found += [text for text in texts if text.isalpha() or is_spelled(text)]
        if left <= 0:
            return False
    return True
