"""Build-time only: pack the words by which the guesser recognises languages that share a script.

    language_words.marisa    a trie of the keys
    language_words.bin       for each key, by its number in the trie, a number of 64 bits in the order of this machine

The keys, in the form of `sonicpy.lexer.spaced_words.spaced`, and their numbers:

    the         a word: the languages that list it, as bits in the order of the table of languages
    \\t of the   a phrase: as a word
    \\n eng      a language: how many words and phrases it lists
"""

import runpy
from array import array
from pathlib import Path

import marisa_trie

from tables.stopwords import all_languages, function_words

SPACED = Path(__file__).parents[2] / "sonicpy" / "lexer" / "spaced_words.py"


def write_words(keys: Path, numbers: Path) -> None:
    """Write the two files.

    Raises:
        importlib.metadata.PackageNotFoundError: stopwordsiso is not installed.
    """
    found = numbered()
    trie = marisa_trie.Trie(found)
    trie.save(str(keys))
    numbers.write_bytes(array("Q", [found[key] for key in map(trie.restore_key, range(len(trie)))]).tobytes())


def numbered() -> dict[str, int]:
    """Return the keys with their numbers."""
    shared = runpy.run_path(str(SPACED))
    found: dict[str, int] = {}
    bit = 1
    for language in all_languages():
        if shared["SHARED_SCRIPTS"].isdisjoint(language.scripts):
            continue
        words = {shared["spaced"](word)[1:-1] for word in function_words(language)} - {""}
        if not words:
            continue
        found[f"\n{language.code}"] = len(words)
        for word in words:
            key = f"\t{word}" if " " in word else word
            found[key] = found.get(key, 0) | bit
        bit <<= 1
    return found
