"""The answers of a part of a spread bucket, and the sketch that a node makes of a text; see `search/sketch.py`."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from sonicpy._native.terms import Terms
from sonicpy.index.answers import Answers, check_scope, lexed, one_word
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import NamedObject, bind, find
from sonicpy.index.search.plan import of_plain
from sonicpy.index.search.sketch import pack_completions, sketch_query, sketch_suggest
from sonicpy.index.search.statistics import NO_SKETCH, Sketch
from sonicpy.lexer.lexer import Lexer
from sonicpy.search import Search

LAST = 1 << 7
"""Among the flags of a term between nodes: the text ends in it."""

IS_ASCII, IS_GIVEN = 1, 2
"""How a query was typed, and whether its language was given: flags between nodes."""


class SpreadParts(Answers):
    """Methods of a part. What they take and return is plain data."""

    def spread_terms(
        self, collection: str, bucket: str, terms: Sequence[Any], matching: Sequence[Any] | None
    ) -> Sketch:
        """Return what this part knows of the words of a query.

        Args:
            terms, matching: as `read_query` returned them.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return NO_SKETCH
            return sketch_query(lexicon, unpack_terms(terms), self.config, unpack_matching(matching))

    def spread_completions(self, collection: str, bucket: str, word: str) -> str | None:
        """Return the completions that this part holds, packed, in base 64; None: only `spread_word` tells them."""
        with self._engine.read_words(collection, bucket) as lexicon:
            packed = b"\0" if lexicon is None else pack_completions(lexicon, word.encode())
        return None if packed is None else b64encode(packed).decode()

    def spread_word(self, collection: str, bucket: str, word: str) -> Sketch:
        """Return what this part knows of the words that complete or correct a word."""
        with self._engine.read_words(collection, bucket) as lexicon:
            return NO_SKETCH if lexicon is None else sketch_suggest(lexicon, word.encode())

    def spread_list(self, collection: str, bucket: str, limit: int, prefix: str, after: str | None) -> list[str]:
        """Return words of this part in byte order. Raises as `words`."""
        return self.words(collection, bucket, limit=limit, prefix=prefix, after=after)

    def spread_find(
        self, collection: str, bucket: str, plan: Sequence[Any], limit: int, total: bool
    ) -> tuple[list[NamedObject], int | None]:
        """Return the best objects of this part, and, if `total` asks for it, how many of its objects answer.

        Args:
            plan: as `to_plain` returns it.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None
            window = self.config.store.kv.retain_word_objects
            part = find(bind(of_plain(plan), lexicon.reader, window), limit, total=total)
            return part.rows(), part.total


class SpreadReader(Answers):
    """Reads texts; it needs no folder."""

    def read_query(self, search: Search, rules: int | None = None) -> tuple[Terms, Matching | None]:
        """Return the terms of a search, and how they lead to families. Raises as `query`.

        Args:
            rules: of the bucket; None: those of a new one.
        """
        check_scope(search)
        return self._query_terms(search, self._lexer_of(rules))

    def read_word(self, word: str, rules: int | None = None) -> tuple[bytes, int]:
        """Return the only word of a text, and how many bytes it had as typed. Raises as `suggest`."""
        return one_word(lexed(self._lexer_of(rules).lex_plain, word))

    def _lexer_of(self, rules: int | None) -> Lexer:
        lexer = self._engine.lexer
        return lexer if rules is None else lexer.under(rules)


def pack_terms(terms: Terms) -> list[Any]:
    """Return terms for JSON; the last word has a flag more, which older versions pass over."""
    flags = list(terms.flags)
    if terms.last >= 0:
        flags[terms.last] |= LAST
    return [[word.decode() for word in terms.words], list(terms.counts), flags, list(terms.typed)]


def unpack_terms(packed: Sequence[Any]) -> Terms:
    """Return the terms that `pack_terms` packed."""
    words, counts, flags, typed = packed
    last = next((place for place, flag in enumerate(flags) if flag & LAST), -1)
    return Terms([word.encode() for word in words], bytes(counts), bytes(flag & ~LAST for flag in flags), typed, last)


def pack_matching(matching: Matching | None) -> list[Any] | None:
    """Return how words lead to families, for JSON.

    Version 1.0 takes the number behind the language for whether the query is ASCII, and no languages of the bucket.
    """
    if matching is None:
        return None
    flags = matching.is_ascii * IS_ASCII | matching.is_given * IS_GIVEN
    return [matching.code, flags, *([list(matching.languages)] if matching.languages else [])]


def unpack_matching(packed: Sequence[Any] | None) -> Matching | None:
    """Return how words lead to families, from JSON."""
    if packed is None:
        return None
    code, flags, *languages = packed
    return Matching(code, bool(flags & IS_ASCII), bool(flags & IS_GIVEN), *map(tuple, languages))
