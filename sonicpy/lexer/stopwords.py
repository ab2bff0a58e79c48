"""Stop words by language, from the mapped dictionary that the build packs; ext/tables/stopwords.py describes it.

Invariant: every word that these functions return is case-folded and in NFC, as the lexer compares it.
"""

from pathlib import Path

import marisa_trie

from sonicpy.data import STOP_WORDS

STOP_WORD, SHORT_WORD, MARK_WORD, SONIC_WORD = ":", "=", "+", "~"


class StopWords:
    """The packed lists of stop words. The words of a language become Python objects at the first call for it."""

    def __init__(self, path: Path = STOP_WORDS) -> None:
        """Map the dictionary at `path`. Raises RuntimeError if it is missing or not a dictionary."""
        self._trie = marisa_trie.Trie()
        self._trie.mmap(str(path))
        self._words: dict[str, frozenset[str]] = {}
        self._short: dict[str, frozenset[str]] = {}

    def words(self, code: str) -> frozenset[str]:
        """Return the stop words on the long list of the language `code`; none if it has no list."""
        words = self._words.get(code)
        if words is None:
            words = self._words[code] = frozenset(self._list(code, STOP_WORD))
        return words

    def short_words(self, code: str) -> frozenset[str]:
        """Return the function words of the language `code`; none if it has no short list."""
        words = self._short.get(code)
        if words is None:
            words = self._short[code] = frozenset(self._list(code, SHORT_WORD))
        return words

    def sonic_words(self, code: str) -> frozenset[str]:
        """Return the stop words of the language `code` in compat mode; none if it has no list.

        The result is not cached, because the lexer keeps the sets that it makes from it.
        """
        return frozenset(self._list(code, SONIC_WORD)) or frozenset(self._list(code, STOP_WORD))

    def guess_words(self, code: str) -> list[str]:
        """Return the words by which the guesser recognises the language `code`: its long list, and more function words.

        The result is not cached, because the lists of all languages together would take megabytes.
        """
        return self._list(code, STOP_WORD) + self._list(code, MARK_WORD)

    def _list(self, code: str, kind: str) -> list[str]:
        prefix = code + kind
        return [key[len(prefix) :] for key in self._trie.iterkeys(prefix)]
