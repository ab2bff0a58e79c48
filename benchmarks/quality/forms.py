"""Measure whether objects are found by another form of a word, one with the same stem by Snowball, in many languages.

    python -m benchmarks.quality forms

Each bucket holds the sentences of one language. Queries ask for words of these sentences; the objects that hold another
word with the same stem are counted, without LANG and with it. In a bucket of English texts, and in one of only English
words, the forms that do not exist in English are counted.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import Stemmer

import sonicpy
from benchmarks.quality.tables import table
from sonicpy import Index
from sonicpy.evaluation.inputs import Sentences, read_rows, read_words
from sonicpy.lexer.irregular import irregular_forms

ALGORITHMS = {
    "tur": "turkish", "fin": "finnish", "hun": "hungarian", "est": "estonian", "lit": "lithuanian", "ron": "romanian",
    "cat": "catalan", "swe": "swedish", "ces": "czech", "pol": "polish", "pes": "persian", "nld": "dutch",
    "hye": "armenian", "epo": "esperanto", "ind": "indonesian", "eng": "english", "deu": "german", "spa": "spanish",
    "rus": "russian",
}  # fmt: skip
"""Language -> name of Snowball's algorithm."""
ASKED = 300
"""The number of words of a language that are asked for."""
ONLY_FORMS = {"search": {"alternates_below": 0, "query_alternates_try": 0}}
"""The settings by which words are neither completed nor corrected."""
WORDS_MAX = 40_000
COMMONEST = 2_743
"""The number of words that are asked for in English buckets: the commonest ones with four letters or more."""
LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u097f\u0610-\u065f\u200c])+"


class Found(NamedTuple):
    """The number of objects that hold another form, and of those that were found."""

    there: int
    without: int
    given: int


def forms_table(data: Path) -> str:
    """Return a table with one row for each language, and lines about English."""
    given = read_rows(data / "multilingual" / "sentences.tsv")
    assert isinstance(given, Sentences), given
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for code, text in given.texts:
        texts[code].append(text)
    rows = []
    for code, algorithm in ALGORITHMS.items():
        found = forms_found(code, texts[code], algorithm)
        rows.append([code, str(found.there), *(f"{share / found.there:.1%}" for share in (found.without, found.given))])
    lines = [table(["language", "objects with another form", "found without LANG", "found with LANG"], rows), ""]
    words = list(read_words(data / "words" / "en_freq_82765_symspell.tsv"))[:WORDS_MAX]
    for name, pushed in (("English texts", english_texts(data, words)), ("bare English words", words)):
        strange, whole = strange_forms(pushed, words)
        lines.append(
            f"In a bucket of {name}, {strange / COMMONEST:.1%} of {COMMONEST:,} words have a form that English does "
            f"not make; {whole} of them have one that counts as the word."
        )
    return "\n".join(lines)


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case."""
    return set(re.findall(LETTERS, text.lower()))


def forms_found(code: str, texts: list[str], algorithm: str) -> Found:
    """Query words of some texts; return how many texts hold another word of the same stem and not the word itself, and
    how many of these are found, without LANG and with it.

    Args:
        code: the code of the language of the texts, for LANG.
        algorithm: the name of its stemmer.
    """
    stemmer = Stemmer.Stemmer(algorithm, 0)
    held = [words_of(text) for text in texts]
    stems: defaultdict[str, set[str]] = defaultdict(set)
    for word in set().union(*held):
        stems[stemmer.stemWord(word)].add(word)
    asked = sorted(word for forms in stems.values() if len(forms) > 1 for word in forms)
    there = without = given = 0
    with sonicpy.open(":memory:", ONLY_FORMS) as index:
        index.push_many(((str(number), text) for number, text in enumerate(texts)), collection="forms", bucket=code)
        index.consolidate()
        for word in random.Random(1).sample(asked, min(ASKED, len(asked))):
            others = stems[stemmer.stemWord(word)] - {word}
            expected = {str(number) for number, words in enumerate(held) if words & others and word not in words}
            there += len(expected)
            without += len(expected & set(index.query("forms", code, word, limit=len(texts))))
            given += len(expected & set(index.query("forms", code, word, limit=len(texts), lang=code)))
    return Found(there, without, given)


def english_texts(data: Path, words: list[str]) -> Iterator[str]:
    """Yield chat messages, and some words after the beginning of a sentence, so that every word occurs."""
    for line in (data / "messages" / "messages.tsv").read_text(encoding="utf-8").splitlines()[:20_000]:
        yield line.split("\t")[2]
    for start in range(0, len(words), 10):
        yield f"these are the words that they have in {' '.join(words[start : start + 10])}"


def strange_forms(texts: Iterable[str], words: list[str]) -> tuple[int, int]:
    """Return the number of common words that find a form which English does not have, and of those for which such a
    form counts as the word.
    """
    stemmer = Stemmer.Stemmer("english", 0)
    strange = whole = 0
    with sonicpy.open(":memory:", ONLY_FORMS) as index:
        index.push_many(((str(number), text) for number, text in enumerate(texts)), collection="forms", bucket="eng")
        index.consolidate()
        for word in [word for word in words if len(word) > 3][:COMMONEST]:
            own = irregular_forms(word)
            forms = [form for form in forms_in(index, word) if form not in own]
            forms = [form for form in forms if stemmer.stemWord(form) != stemmer.stemWord(word)]
            strange += bool(forms)
            whole += any(_counts_as(index, word, form) for form in forms)
    return strange, whole


def forms_in(index: Index, word: str) -> list[str]:
    """Return the forms of a word as EXPLAIN shows them."""
    (term,) = index.explain("forms", "eng", word, limit=1).terms
    return [other.word for other in term.alternates if other.how == "form" and other.word.isascii()]


def _counts_as(index: Index, word: str, form: str) -> bool:
    """Return whether an object that holds a form, and not the word, counts as holding every word: its score is 3 or
    more.
    """
    holders = set(index.query("forms", "eng", form, limit=2**16, stem=False))
    holders -= set(index.query("forms", "eng", word, limit=2**16, stem=False))
    return any(hit in holders and (hit.score or 0) >= 3 for hit in index.query("forms", "eng", word, limit=2**16))
