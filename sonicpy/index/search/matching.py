"""Matching: how the words of a query lead to other words of a bucket, by language and script.

Each table holds rules of languages: which marks are no accents, which particles are joined to a word. `Matching`
chooses the stemmers of a word. `families.py` finds the words.
"""

import unicodedata
from functools import lru_cache
from typing import NamedTuple

from sonicpy.lexer.languages import by_code
from sonicpy.lexer.stemmers import ALGORITHMS

COMMON = {
    "LATIN": ("english", "french", "german", "italian", "portuguese", "spanish"),
    "CYRILLIC": ("russian", "bulgarian", "serbian", "ukrainian"),
    "GREEK": ("greek",),
    "HANGUL": ("korean",),
    "BENGALI": ("bengali",),
    "ARMENIAN": ("armenian",),
    "TAMIL": ("tamil",),
    "DEVANAGARI": ("hindi", "nepali"),
    "ARABIC": ("arabic", "persian", "urdu"),
    "HEBREW": ("hebrew",),
}
"""script -> the stemmers for its words where the language of neither the query nor the bucket is known. The first is
for the language of most texts in the script.
"""

OWN_LETTERS = {
    **dict.fromkeys(("swe", "fin", "est"), "åäö"),
    **dict.fromkeys(("dan", "nob"), "æøå"),
    **dict.fromkeys(("deu", "hun"), "äöü"),
    **dict.fromkeys(("tur", "aze"), "çşğıöü"),
    **dict.fromkeys(("spa", "glg"), "ñ"),
    "ron": "ăâî",  # ș and ț are written with a cedilla, too, as are Turkish letters
}
"""Letters with marks that a language counts as its own: they are not the same as the letters without."""

MARKS_OF_FORMS = {"german": frozenset("äöü")}
"""algorithm -> letters with marks that occur in inflected forms (Haus, Häuser) and that the algorithm removes."""

MARKS_MATTER = frozenset(("pol", "ces", "slk", "hrv", "lit", "vie"))
"""Languages in which marks of a typed word are meant: the word does not find words without them."""

ELIDED = {
    "french": ("c'", "d'", "j'", "jusqu'", "l'", "lorsqu'", "m'", "n'", "puisqu'", "qu'", "s'", "t'"),
    "italian": ("all'", "d'", "dall'", "dell'", "l'", "nell'", "quell'", "quest'", "sull'", "un'"),
    "catalan": ("d'", "l'", "m'", "n'", "s'", "t'"),
}
"""algorithm -> words that lose their vowel before another word and are written together with it."""
ELIDED_ANYWHERE = ("all'", "d'", "dell'", "l'", "qu'")
"""Elided words of names and titles: only these are tried where several algorithms stem a word, because each costs a
look-up.
"""
ELIDES = frozenset("aehiouy")
"""First letters of the words before which a word is elided."""
SCRIPTS_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC")
"""Scripts whose words have a family even without a stemmer: words that differ only in accents or points."""
ARTICLES = ("ال", "بال", "فال", "كال", "لل", "وال")
"""The prefixes that Arabic writes together with a noun: the article, alone and behind prepositions."""
JOINED_BEFORE = {
    "ARABIC": ("ب", "ف", "ك", "ل", "و", "وب", "ول"),
    "HEBREW": tuple("ב ה ו כ ל מ ש בה וב וה וכ ול ומ וש כש מה שב שה של".split()),
}
"""script -> the particles that are joined to the following word, but are also the first letters of other words."""
PREFIXES: dict[str, tuple[tuple[str, str], ...]] = {
    "dutch": (("ge", ""),),
    "indonesian": (
        ("ber", ""), ("di", ""), ("ke", ""), ("me", ""), ("mem", "p"), ("men", "t"), ("meng", "k"), ("meny", "s"),
        ("pe", ""), ("pem", "p"), ("pen", "t"), ("peng", "k"), ("peny", "s"), ("per", ""), ("se", ""), ("ter", ""),
    ),
    "persian": (("\u0645\u064a", ""), ("\u0646\u0645\u064a", ""), ("\u0646", ""), ("\u0628", "")),
}  # fmt: skip
"""algorithm -> (prefix that it removes, first letter of the stem that the prefix replaces), as in Indonesian pukul,
memukul. Prefixes are folded, as the beginnings of candidates are.
"""
VOICED = {"f": "v", "s": "z"}
"""Last letters of Dutch stems that change before an ending: brief, brieven."""
BEHIND_MIN = 3
"""The fewest letters behind an elided word or an article; l'on counts as a word of its own."""

STEMMINGS_CACHED = 1_024
"""The most combinations of languages and script whose stemmers are remembered."""


class WordStemmers(NamedTuple):
    """The stemmers of a typed word.

    Attributes:
        sure: stemmers whose forms the word finds in any case.
        doubtful: stemmers of other languages, whose forms are doubtful; see `Family`.
        may_agree: whether a form on which the first doubtful stemmer and another one agree is not doubtful.
    """

    sure: tuple[str, ...]
    doubtful: tuple[str, ...]
    may_agree: bool


NO_LANGUAGES = ("",)
"""The languages of several buckets whose texts together show none, although the few texts of one alone may."""


class Matching(NamedTuple):
    """The languages by which the words of one query find their families.

    Attributes:
        code: the language of the query; None: unknown.
        is_ascii: the query is ASCII, which makes a guessed language other than English doubtful.
        is_given: the client named the language; else it was guessed.
        languages: the languages of the bucket's texts, the most frequent one first; empty: each bucket has its own;
            NO_LANGUAGES: no bucket has any.
    """

    code: str | None
    is_ascii: bool
    is_given: bool = False
    languages: tuple[str, ...] = ()

    def stemming(self, word: str) -> WordStemmers:
        """Return the stemmers of a word of the query.

        The stemmers are those of the query's language. Where it is not known, or has no stemmer for such words, the
        bucket's languages decide; where these are not known, the stemmers in COMMON for the script.
        """
        languages = () if self.languages == NO_LANGUAGES else self.languages
        return _stemming(self.code, self.is_given, languages, script_of(word))

    def own_letters(self, word: str) -> str | None:
        """Return the letters that keep their marks; None: all letters keep them."""
        if self.code in MARKS_MATTER and not word.isascii():
            return None
        return OWN_LETTERS.get(self.code or "", "")


@lru_cache(STEMMINGS_CACHED)
def _stemming(asked: str | None, is_given: bool, languages: tuple[str, ...], script: str) -> WordStemmers:
    """Return the stemmers of the words of a query in one script.

    Args:
        asked: the language of the query; None: it is unknown.
        is_given: whether the caller gave this language; else it was guessed.
        languages: the languages of the bucket.
        script: as in `is_written_in`.
    """
    here = tuple(code for code in languages if is_written_in(code, script))
    there = tuple(dict.fromkeys(ALGORITHMS[code] for code in here if code in ALGORITHMS))
    own = None if asked is None or not is_written_in(asked, script) else ALGORITHMS.get(asked)
    if own is not None:
        is_foreign = not is_given and bool(here) and asked not in here
        if is_foreign:  # it was guessed, and perhaps wrong
            return WordStemmers(tuple(dict.fromkeys((*there, own))), (), may_agree=False)
        return WordStemmers((own,), tuple(name for name in there if name != own), may_agree=False)
    if here:
        return WordStemmers(there, (), may_agree=False)
    common = COMMON.get(script, ())
    if len(common) == 1:
        return WordStemmers(common, (), may_agree=False)
    return WordStemmers((), common, may_agree=True)


def is_written_in(code: str, script: str) -> bool:
    """Return whether a language is written in a script; a language that is in no table counts as Latin.

    Args:
        script: the first word of Unicode's names of its letters, such as LATIN.
    """
    language = by_code.get(code)
    return script == "LATIN" if language is None else script in map(str.upper, language.scripts)


def script_of(word: str) -> str:
    """Return the script of a word's first letter: the first word of Unicode's name of the letter, such as LATIN."""
    return "LATIN" if word[0] < "\u0250" else unicodedata.name(word[0], "").partition(" ")[0]
