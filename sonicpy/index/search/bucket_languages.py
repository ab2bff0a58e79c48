"""The languages of a bucket's texts: a word of a query has its other forms only in these languages, or in that of the
query.

Texts that were pushed have been counted by language; a bucket of few texts, or of old rules, is judged by its words.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sonicpy.store.rows.language_counts import LANGUAGES, languages_in
from sonicpy.store.views.bucket_reader import BucketReader

WORDS_MAX = 1_024
"""The most words of a bucket whose languages are judged by its words. Those of a larger bucket are not known until
enough of its texts have been counted by language.
"""
CACHED = 1_000
"""The most buckets whose languages are remembered."""
CACHED_TOGETHER = 64
"""The most groups of buckets whose languages are remembered."""


class Judged(NamedTuple):
    """The languages of a bucket, judged by its words.

    Attributes:
        moment: the state of the bucket when it was judged.
        listed: the words by which it was judged.
        languages: the most likely one first.
    """

    moment: tuple[int, int, int]
    listed: frozenset[str]
    languages: tuple[str, ...]


class BucketLanguages:
    """The languages of all buckets of an index.

    Args:
        languages_of: returns the likely languages of some words; see `Lexer.languages_of`.
        listed: returns those of some words that `languages_of` considers.
        recoveries: returns how often the store has undone changes.
    """

    def __init__(
        self,
        languages_of: Callable[[Iterable[str]], tuple[str, ...]],
        listed: Callable[[Iterable[str]], list[str]],
        recoveries: Callable[[], int],
    ) -> None:
        self._languages_of = languages_of
        self._listed = listed
        self._recoveries = recoveries
        self._of_several: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._cached: dict[int, Judged] = {}

    def of(self, reader: BucketReader) -> tuple[str, ...]:
        """Return the languages of a bucket, the most frequent one first; none: they are not known."""
        counted = reader.fact(LANGUAGES)
        found = languages_in(counted) if counted else ()
        return found or self._by_words(reader)

    def of_several(self, readers: Sequence[BucketReader]) -> tuple[str, ...]:
        """Return the likely languages of several buckets by their words, because too few of their texts were
        counted.
        """
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
        if cached is not None and cached.moment == moment:
            return cached.languages
        listed = None if cached is None else self._listed_since(reader, cached)
        if listed is None:
            words = (word.decode(errors="ignore") for word, row in reader.lexicon(b"") if row.live)
            listed = frozenset(self._listed(words))
        is_known = cached is not None and cached.listed == listed
        found = cached.languages if cached is not None and is_known else self._languages_of(sorted(listed))
        if len(self._cached) >= CACHED:
            self._cached.clear()
        self._cached[state.bucket] = Judged(moment, listed, found)
        return found

    def _listed_since(self, reader: BucketReader, before: Judged) -> frozenset[str] | None:
        """Return the words to consider: those of an earlier moment with the changes since; None: read all words."""
        if before.moment[2] != self._recoveries():
            return None
        changed = reader.pending_between(before.moment[0], reader.state.pending_seq)
        if changed is None:
            return None
        listed = self._listed({word.decode(errors="ignore") for word in changed})
        rows = reader.words([word.encode() for word in listed])
        live = {word for word, row in zip(listed, rows, strict=True) if row is not None and row.live}
        return before.listed.difference(listed) | live
