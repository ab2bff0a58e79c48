"""The languages of a bucket's texts: a word of a query counts as a form only in these, or in that of the query.

Texts that were pushed have been counted by language; a bucket of few texts, or of old rules, is judged by its words.
"""

from collections.abc import Callable, Iterable, Sequence

from sonicpy.store.rows.language_counts import LANGUAGES, languages_in
from sonicpy.store.views.bucket_reader import BucketReader

WORDS_MAX = 1_024
"""A bucket of more words is not judged by them: sixteen texts or more that were counted hold as many."""
CACHED = 1_000
"""Buckets whose languages are remembered, at most."""
CACHED_TOGETHER = 64
"""As many groups of buckets."""


class BucketLanguages:
    """The languages of all buckets of an index.

    Args:
        languages_of: returns the likely languages of some words; see `Lexer.languages_of`.
        recoveries: returns how often the store has undone changes.
    """

    def __init__(self, languages_of: Callable[[Iterable[str]], tuple[str, ...]], recoveries: Callable[[], int]) -> None:
        self._languages_of = languages_of
        self._recoveries = recoveries
        self._of_several: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._cached: dict[int, tuple[tuple[int, int, int], tuple[str, ...]]] = {}

    def of(self, reader: BucketReader) -> tuple[str, ...]:
        """Return the languages of a bucket, the most frequent one first; none: they are not known."""
        counted = reader.fact(LANGUAGES)
        found = languages_in(counted) if counted else ()
        return found or self._by_words(reader)

    def of_several(self, readers: Sequence[BucketReader]) -> tuple[str, ...]:
        """Return the languages of the words of several buckets, of whose texts too few were counted."""
        key = tuple((reader.state.bucket, reader.state.pending_seq, reader.state.live_words) for reader in readers)
        moment = (*key, self._recoveries())
        cached = self._of_several.get(moment)
        if cached is None:
            if len(self._of_several) >= CACHED_TOGETHER:
                self._of_several.clear()
            cached = self._of_several[moment] = self._by_all_words(readers)
        return cached

    def _by_all_words(self, readers: Sequence[BucketReader]) -> tuple[str, ...]:
        words: set[bytes] = set()
        for reader in readers:
            if reader.state.live_words <= WORDS_MAX:
                words.update(word for word, row in reader.lexicon(b"") if row.live)
            if max(len(words), reader.state.live_words) > WORDS_MAX:
                return ()
        return self._languages_of(word.decode(errors="ignore") for word in sorted(words))

    def _by_words(self, reader: BucketReader) -> tuple[str, ...]:
        state = reader.state
        if state.live_words > WORDS_MAX:
            return ()
        moment = (state.pending_seq, state.live_words, self._recoveries())
        cached = self._cached.get(state.bucket)
        if cached is not None and cached[0] == moment:
            return cached[1]
        words = (word.decode(errors="ignore") for word, row in reader.lexicon(b"") if row.live)
        found = self._languages_of(words)
        if len(self._cached) >= CACHED:
            self._cached.clear()
        self._cached[state.bucket] = moment, found
        return found
