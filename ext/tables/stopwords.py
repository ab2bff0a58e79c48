"""Build-time only: packs the stop words of all languages of the table into one marisa-trie, which the lexer maps.

A key is the ISO 639-3 code, one sign and the word, case-folded and in NFC:

    eng:the   a stop word of the long list, for guesses at the language, and for compat mode
    ukr~це    a stop word for compat mode, of a language whose stop words in Sonic are not those of the long list
    eng=the   a stop word of the short list, for the default mode: a function word
    jav+lan   a word that only helps to guess the language

Numbers are left out: digits are never stop words.
"""

import json
import re
import runpy
import unicodedata
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import marisa_trie

from tables.function_words import MARK_WORDS, STOP_WORDS
from tables.short_stopwords import LONG, OURS, SNOWBALL

SONIC_LISTS = Path(__file__).with_name("sonic_stopwords.json")

YIDDISH_POINTS = re.compile("[\u05b0-\u05c7]")
YIDDISH_LIGATURES = (("וו", "װ"), ("וי", "ױ"), ("יי", "ײ"))


def write_lists(path: Path) -> None:
    """Write the trie to `path`.

    Raises:
        importlib.metadata.PackageNotFoundError: stopwordsiso is not installed.
    """
    marisa_trie.Trie(sorted(set(keys()))).save(str(path))


def keys() -> Iterator[str]:
    """Yield the keys of all words: the code of a language, a sign for the list, and the word."""
    lists = read_stopwords_iso()
    for language in all_languages():
        for word in stop_words(language.stopwords, lists) if language.stopwords else ():
            yield f"{language.code}:{word}"
        for word in short_list(language.stopwords, lists) if language.stopwords else ():
            yield f"{language.code}={word}"
        for word in MARK_WORDS.get(language.code, "").split():
            yield f"{language.code}+{normal(word)}"
        for word in sonic_words(language.code, lists):
            yield f"{language.code}~{word}"


def function_words(language) -> list[str]:
    """Return the function words of a row of the table of languages: its stop words, and its MARK_WORDS."""
    stop = stop_words(language.stopwords, read_stopwords_iso()) if language.stopwords else set()
    return sorted(stop | {normal(word) for word in MARK_WORDS.get(language.code, "").split()})


def all_languages() -> list:
    """Return the rows of the table of languages. The build reads the file, because it cannot import the package yet."""
    source = Path(__file__).parents[2] / "sonicpy" / "lexer" / "languages.py"
    return list(runpy.run_path(str(source))["LANGUAGES"])


def stop_words(key: str, lists: dict[str, list[str]]) -> set[str]:
    """Return the stop words under `key` in normal form: the list of function_words.py, or else that of
    stopwords-iso."""
    if key in STOP_WORDS:
        words = set(STOP_WORDS[key].split())
        if key == "yi":
            words |= {spelling for word in words for spelling in yiddish_spellings(word)}
    else:
        words = set(lists[key])
        if key == "lt":
            words |= {repaired(word) for word in words}
    return {normal(word) for word in words if not word.isdigit()} - {""}


def sonic_words(code: str, lists: dict[str, list[str]]) -> set[str]:
    """Return the stop words of a language in compat mode, if they differ from the long list; else an empty set.

    Each list was chosen from published lists because it agrees best with Sonic's answers; see NOTICE.
    """
    if code == "lit":
        words = set(lists["lt"])
    elif code == "nob":
        words = set(SNOWBALL["no"].split())
    else:
        chosen = json.loads(SONIC_LISTS.read_text(encoding="utf-8"))
        words = set(chosen.get("heb" if code == "yid" else code, "").split())
    return {normal(word) for word in words}


def short_list(key: str, lists: dict[str, list[str]]) -> set[str]:
    """Return the words of the short list under `key` in normal form, with both kinds of apostrophes; an empty set if
    there is no short list."""
    if key in LONG:
        return stop_words(key, lists)
    words = f"{SNOWBALL.get(key, '')} {OURS.get(key, '')}".split()
    return {normal(spelling) for word in words for spelling in (word, word.replace("'", "\u2019"))}


def normal(word: str) -> str:
    """Return `word` in the form in which the lexer compares it: case-folded, in NFC, without blanks around it."""
    return unicodedata.normalize("NFC", word.casefold()).strip()


def repaired(word: str) -> str:
    """Return a Lithuanian word in its own letters, if Windows-1257 was read as Latin-1.

    stopwords-iso holds `abiejø` for `abiejų`, and a third of its words are damaged in this way.
    """
    try:
        return word.encode("latin-1").decode("cp1257")
    except UnicodeError:
        return word


def yiddish_spellings(word: str) -> set[str]:
    """Return the common spellings of `word`: without points, with ligatures, and both."""
    spellings = {word, YIDDISH_POINTS.sub("", word)}
    for spelling in list(spellings):
        for letters, ligature in YIDDISH_LIGATURES:
            spelling = spelling.replace(letters, ligature)
        spellings.add(spelling)
    return spellings


def read_stopwords_iso() -> dict[str, list[str]]:
    """Return the lists of stopwords-iso by ISO 639-1 code. Raises FileNotFoundError if there are none."""
    for file in files("stopwordsiso") or ():
        if file.name == "stopwords-iso.json":
            return json.loads(file.read_text(encoding="utf-8"))
    raise FileNotFoundError("stopwordsiso has no stopwords-iso.json")
