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
"""The stemmers, by script, of a word where neither the language of the query nor that of the bucket is known. The first
is that of the language that most texts in the script are in."""

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
"""Letters, by algorithm, with marks that inflection brings (Haus, Häuser); the algorithm takes them off for the stem.
"""

MARKS_MATTER = frozenset(("pol", "ces", "slk", "hrv", "lit", "vie"))
"""Languages in which a word that is typed with marks is meant with them."""

ELIDED = {
    "french": ("c'", "d'", "j'", "jusqu'", "l'", "lorsqu'", "m'", "n'", "puisqu'", "qu'", "s'", "t'"),
    "italian": ("all'", "d'", "dall'", "dell'", "l'", "nell'", "quell'", "quest'", "sull'", "un'"),
    "catalan": ("d'", "l'", "m'", "n'", "s'", "t'"),
}
"""Words, by algorithm, that lose their vowel before another one and are written with it."""
ELIDED_ANYWHERE = ("all'", "d'", "dell'", "l'", "qu'")
"""Elided words where several algorithms stem a word: those of names and titles, because each takes a look-up."""
ELIDES = frozenset("aehiouy")
"""First letters of words before which another word is elided."""
SCRIPTS_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC")
"""Scripts whose words have a family without an algorithm, too: those that differ only in accents or points."""
ARTICLES = ("ال", "بال", "فال", "كال", "لل", "وال")
"""The prefixes that Arabic writes together with a noun: the article, alone and behind prepositions."""
JOINED_BEFORE = {
    "ARABIC": ("ب", "ف", "ك", "ل", "و", "وب", "ول"),
    "HEBREW": tuple("ב ה ו כ ל מ ש בה וב וה וכ ול ומ וש כש מה שב שה של".split()),
}
"""The particles, by script, that are joined to the word behind them, but are also the first letters of other words."""
PREFIXES: dict[str, tuple[tuple[str, str], ...]] = {
    "dutch": (("ge", ""),),
    "indonesian": (
        ("ber", ""), ("di", ""), ("ke", ""), ("me", ""), ("mem", "p"), ("men", "t"), ("meng", "k"), ("meny", "s"),
        ("pe", ""), ("pem", "p"), ("pen", "t"), ("peng", "k"), ("peny", "s"), ("per", ""), ("se", ""), ("ter", ""),
    ),
    "persian": (("\u0645\u06cc", ""), ("\u0646\u0645\u06cc", ""), ("\u0646", ""), ("\u0628", "")),
}  # fmt: skip
"""The prefixes that each algorithm takes off words, and the first letters of stems that get lost behind it
(Indonesian pukul, memukul)."""
VOICED = {"f": "v", "s": "z"}
"""Letters at the end of a Dutch stem that become others where an ending follows: brief, brieven."""
BEHIND_MIN = 3
"""The fewest letters behind an elided word or an article: l'on is a word of its own."""

STEMMINGS_CACHED = 1_024
"""The most languages of queries and buckets, with the script of a word, whose stemmers are remembered."""


class WordStemmers(NamedTuple):
    """The stemmers of a typed word.

    Attributes:
        sure: each draws forms to it that it surely finds.
        doubtful: those of other languages: their forms count less.
        may_agree: a form that the first of the doubtful ones and another one make is not doubtful.
    """

    sure: tuple[str, ...]
    doubtful: tuple[str, ...]
    may_agree: bool


class Matching(NamedTuple):
    """How the words of one query lead to families.

    Attributes:
        code: the language of the query; None: unknown.
        is_ascii: the query is ASCII, which makes a guessed language other than English doubtful.
        is_given: the client named the language; else it was guessed.
        languages: those of the bucket's texts, the most frequent one first; none: they are not known.
    """

    code: str | None
    is_ascii: bool
    is_given: bool = False
    languages: tuple[str, ...] = ()

    def stemming(self, word: str) -> WordStemmers:
        """Return the stemmers of a word of the query.

        They are those of the query's language. Where it is not known, or has no stemmer for such words, they are those
        of the bucket's languages, and where these are not known, those that are common for the script.
        """
        return _stemming(self.code, self.is_given, self.languages, script_of(word))

    def own_letters(self, word: str) -> str | None:
        """Return the letters that keep their marks; None: all letters keep them."""
        if self.code in MARKS_MATTER and not word.isascii():
            return None
        return OWN_LETTERS.get(self.code or "", "")


@lru_cache(STEMMINGS_CACHED)
def _stemming(asked: str | None, is_given: bool, languages: tuple[str, ...], script: str) -> WordStemmers:
    """Return the stemmers of the words of a query in one script."""
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
    """Return whether a language is written in a script; of a language without a table, whether it is Latin.

    Args:
        script: as Unicode's names of letters begin.
    """
    language = by_code.get(code)
    return script == "LATIN" if language is None else script in map(str.upper, language.scripts)


def script_of(word: str) -> str:
    """Return the name of the script of a word's first letter, as Unicode's names of letters begin."""
    return "LATIN" if word[0] < "\u0250" else unicodedata.name(word[0], "").partition(" ")[0]
