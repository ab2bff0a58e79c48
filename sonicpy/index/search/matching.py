"""Matching: how the words of a query lead to other words of a bucket, by language and script.

The tables hold rules of languages: algorithms that stem a word, marks that are no accents, what is written before a
word. `families.py` finds the words.
"""

import unicodedata
from typing import NamedTuple

from sonicpy.lexer.languages import by_code

ANY_LATIN = ("english", "french", "german", "italian", "portuguese", "spanish")
"""The algorithms, together, for Latin words of a query whose language is not known: few pairs of words that one of them
draws together would be kept apart by the right one."""

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
"""By algorithm, letters with marks that inflection brings (Haus, Häuser); the algorithm takes them off for the stem."""

MARKS_MATTER = frozenset(("pol", "ces", "slk", "hrv", "lit", "vie"))
"""Languages in which a word that is typed with marks is meant with them."""

ELIDED = {
    ("french",): ("c'", "d'", "j'", "jusqu'", "l'", "lorsqu'", "m'", "n'", "puisqu'", "qu'", "s'", "t'"),
    ("italian",): ("all'", "d'", "dall'", "dell'", "l'", "nell'", "quell'", "quest'", "sull'", "un'"),
    ("catalan",): ("d'", "l'", "m'", "n'", "s'", "t'"),
    ANY_LATIN: ("all'", "d'", "dell'", "l'", "qu'"),
}
"""By algorithms, words that lose their vowel before another one and are written with it. Where the language is unknown,
those of names and titles, because each takes a look-up."""
ELIDES = frozenset("aehiouy")
"""Letters with which a word begins that another one is elided before."""
SCRIPTS_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC")
"""Scripts whose words have a family without an algorithm, too: those that differ only in accents or points."""
ARTICLES = ("ال", "بال", "فال", "كال", "لل", "وال")
"""The prefixes that Arabic writes together with a noun: the article, alone and behind prepositions."""
VOICED = {"f": "v", "s": "z"}
"""Letters at the end of a Dutch stem that become others where an ending follows: brief, brieven."""
BEHIND_MIN = 3
"""Letters that stand behind an elided word or an article, at least: l'on is a word of its own."""


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
        script = script_of(word)
        if self.code is None and script in ("CYRILLIC", "GREEK"):
            return ("russian" if script == "CYRILLIC" else "greek",)
        return ANY_LATIN if script == "LATIN" and (self.code is None or self.is_ascii) else ()

    def own_letters(self, word: str) -> str | None:
        """Return the letters that keep their marks; None: all do."""
        if self.code in MARKS_MATTER and not word.isascii():
            return None
        return OWN_LETTERS.get(self.code or "", "")


def script_of(word: str) -> str:
    """Return the name of the script of a word's first letter, as Unicode's names of letters begin."""
    return "LATIN" if word[0] < "\u0250" else unicodedata.name(word[0], "").partition(" ")[0]
