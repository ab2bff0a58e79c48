"""The answers of a part of a spread bucket; see `search/sketch.py`."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from sonicpy.index.answers import Answers
from sonicpy.index.search.packed_terms import unpack_matching, unpack_terms
from sonicpy.index.search.parts import NamedObject, bind, find
from sonicpy.index.search.plan import of_plain
from sonicpy.index.search.sketch import pack_completions, sketch_query, sketch_suggest
from sonicpy.index.search.statistics import NO_SKETCH, Sketch

IS_ASCII, IS_GIVEN = 1, 2
"""How a query was typed, and whether its language was given: flags between nodes."""


class SpreadParts(Answers):
    """Methods of a part. Their arguments and results are plain data."""

    def spread_terms(
        self, collection: str, bucket: str, terms: Sequence[Any], matching: Sequence[Any] | None
    ) -> Sketch:
        """Return this part's sketch of the words of a query.

        Args:
            terms, matching: as `read_query` returned them.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return NO_SKETCH
            return sketch_query(lexicon, unpack_terms(terms), self._config, unpack_matching(matching))

    def spread_completions(self, collection: str, bucket: str, word: str) -> str | None:
        """Return the completions that this part holds, packed, in base 64; None: only `spread_word` returns them."""
        with self._engine.read_words(collection, bucket) as lexicon:
            packed = b"\0" if lexicon is None else pack_completions(lexicon, word.encode())
        return None if packed is None else b64encode(packed).decode()

    def spread_word(self, collection: str, bucket: str, word: str) -> Sketch:
        """Return this part's sketch of the words that complete or correct a word."""
        with self._engine.read_words(collection, bucket) as lexicon:
            return NO_SKETCH if lexicon is None else sketch_suggest(lexicon, word.encode())

    def spread_list(self, collection: str, bucket: str, limit: int, prefix: str, after: str | None) -> list[str]:
        """Return words of this part in byte order. Raises as `words`."""
        return self.words(collection, bucket, limit=limit, prefix=prefix, after=after)

    def spread_find(
        self, collection: str, bucket: str, plan: Sequence[Any], limit: int, total: bool
    ) -> tuple[list[NamedObject], int | None]:
        """Return the best objects of this part, and, if `total`, the number of its objects that answer.

        Args:
            plan: as `to_plain` returns it.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None
            window = self._config.store.kv.retain_word_objects
            part = find(bind(of_plain(plan), lexicon.reader, window), limit, total=total)
            return part.rows(), part.total
