"""Stemmers by name: each takes a list of words and returns their stems. They are only used to find the forms of words.

A stemmer is one of Snowball, in PyStemmer, or one of `endings.py`. The lexer itself stems with `Language.stemmer`, and,
as Sonic, only if the settings ask for it.
"""

from collections.abc import Callable

import Stemmer

from sonicpy.lexer.endings import ENDINGS
from sonicpy.lexer.languages import LANGUAGES

StemWords = Callable[[list[str]], list[str]]

ALGORITHMS = {language.code: language.stemmer for language in LANGUAGES if language.stemmer} | {
    "bel": "belarusian",
    "ben": "bengali",
    "bos": "serbian",
    "bul": "bulgarian",
    "ces": "czech",
    "eus": "basque",
    "gle": "irish",
    "glg": "spanish",
    "heb": "hebrew",
    "hrv": "serbian",
    "isl": "icelandic",
    "kor": "korean",
    "lav": "latvian",
    "mkd": "macedonian",
    "msa": "indonesian",
    "nno": "norwegian",
    "pes": "persian",
    "pol": "polish",
    "slk": "slovak",
    "slv": "slovene",
    "sot": "sesotho",
    "ukr": "ukrainian",
    "urd": "urdu",
}
"""Language -> the stemmer that finds forms of its words. Galician and some others have the stemmer of a related
language."""


class Stemmers(dict[str, StemWords]):
    """Stemmers by name, each made when it is first needed. Raises KeyError for an unknown name."""

    def __missing__(self, name: str) -> StemWords:
        own = ENDINGS.get(name)
        if own is None:
            try:
                # Without PyStemmer's own cache: where words seldom come again, it takes longer than stemming.
                stem_words: StemWords = Stemmer.Stemmer(name, 0).stemWords
            except KeyError:
                raise KeyError(f"no stemmer is called {name!r}; PyStemmer has {Stemmer.algorithms()}") from None
        else:
            stem_words = own.stem_words
        self[name] = stem_words
        return stem_words


STEMMERS = Stemmers()
"""The stemmers of this process."""
