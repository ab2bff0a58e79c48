"""The words of a bucket: completions, corrections, lists; live, or as of the last consolidation.

In live mode, words come from the sorted table of words, and corrections from the graph file and the words pushed since;
otherwise everything comes from the graph file.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sonicpy._native.bucket_words import BucketWords
from sonicpy._native.leading_words import leading_words
from sonicpy._native.letter_folding import Folding
from sonicpy._native.term_rows import SONIC_BYTES_MAX, TermInfo, shown_bytes
from sonicpy._native.word_lists import WordLists
from sonicpy._native.word_source import SortedWords
from sonicpy._native.word_text import words_holding
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.graph.pending import PendingWords
from sonicpy.index.search.accents import PAIRS, folding
from sonicpy.index.search.begun_words import folded, other_spelling
from sonicpy.index.search.bucket_languages import BucketLanguages
from sonicpy.index.search.families import Family, family_of, joined_with, nearest_words
from sonicpy.index.search.known_synonyms import KnownSynonyms
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics, most_held, most_likely
from sonicpy.index.search.word_places import WordPlaces
from sonicpy.rules import counts_letters
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.views.cached_reader import CachedReader

if TYPE_CHECKING:
    from sonicpy._native.newest_pages import NewestPages
    from sonicpy.store.views.open_cache import ReadableView

PENDING_CACHED, PENDING_WORDS_CACHED = 1_000, 500_000
"""The most buckets whose pending words are cached for walks, and the most words and aliases in all of them: about 30
MB."""
FEW_WORDS_MAX, LISTED_WORDS_MAX, LISTED_ROWS_MAX = 640_000, 50_000, 20_000
"""The most words in a cache of short lists, about 80 bytes each; of long ones; of lists with rows, 200 bytes each."""
HOLDING_EXAMINED = 4_000
"""The most words of a graph, or of the pending words, whose frequencies are compared to find the likeliest with some
letters.
"""
Mark = tuple[object, int]
"""The identity of the pending words of a bucket and their number at a moment; None: there were none."""


def _unknown(words: Iterable[str]) -> tuple[str, ...]:
    return ()


class Lexicons:
    """The graphs and pending words of all buckets of an index.

    Args:
        live: words are found as soon as they are pushed; else after a consolidation.
        recoveries: returns the number of recoveries of the store; after a recovery, the same `pending_seq` belongs to
            other words.
        languages_of, listed: see `Lexer`.
    """

    def __init__(
        self,
        pool: GraphPool,
        *,
        live: bool,
        recoveries: Callable[[], int] = int,
        languages_of: Callable[[Iterable[str]], tuple[str, ...]] = _unknown,
        listed: Callable[[Iterable[str]], list[str]] = list,
    ) -> None:
        self.pool = pool
        self.live = live
        self.recoveries = recoveries
        self.languages = BucketLanguages(languages_of, listed, recoveries)
        self._pending: dict[int, tuple[tuple[int, int, int], PendingWords]] = {}
        self._pending_words = 0
        self.families: dict[tuple[int, bytes, Matching], tuple[tuple[int, ...], Family, Mark]] = {}
        """(bucket, typed word, matching) -> (moment, other words, pending words at that moment)."""
        self.joined = WordLists(LISTED_WORDS_MAX)
        """(bucket, typed word, matching) -> the compounds with the typed word as a part, at a moment."""
        self.begun = WordLists(FEW_WORDS_MAX)
        """(bucket, typed word) -> the words that begin with the typed one, if they are few, at a moment."""
        self.long_begun = WordLists(LISTED_WORDS_MAX)
        """The same if they are many."""
        self.beginnings = WordLists(LISTED_ROWS_MAX)
        """(bucket, typed word) -> the most frequent of many words that begin with it, in a state of the bucket."""
        self.places = WordPlaces()
        self.synonyms = KnownSynonyms()
        self._stand_ins: dict[int, tuple[tuple[int, int], SortedWords]] = {}

    def of(self, view: "ReadableView", collection: str, bucket: str) -> "Lexicon | None":
        """Return the words of a bucket, or None if there is no such bucket."""
        scope = (collection, bucket)
        lexicon = view.cache.entries.get(scope)
        if type(lexicon) is Lexicon:
            lexicon.note_use()
            return lexicon
        state = view.bucket(collection, bucket)
        if state is None:
            return None
        lexicon = Lexicon(self, view, view.reader(state), collection)
        if view.cache.entries_max:
            view.cache.put(scope, lexicon)
        return lexicon

    def pending(self, view: "ReadableView", state: BucketState) -> PendingWords:
        """Return the words that appeared or vanished since the graph was built."""
        moment = (state.pending_seq, state.graph_seq, self.recoveries())
        cached = self._pending.get(state.bucket)
        if cached is not None and cached[0] == moment:
            return cached[1]
        source = view.pending_words(state)
        words = cached[1] if cached is not None and cached[1].source is source else PendingWords(source)
        before = 0 if cached is None else cached[1].size
        words.refresh()
        self._pending_words += words.size - before
        if len(self._pending) >= PENDING_CACHED or self._pending_words > PENDING_WORDS_CACHED:
            self._pending.clear()
            self._pending_words = words.size
        self._pending[state.bucket] = (moment, words)
        return words

    def forget(self, bucket: int) -> None:
        """Drop the pending words of a flushed bucket, and its words in place of a graph. Other caches are small."""
        cached = self._pending.pop(bucket, None)
        if cached is not None:
            self._pending_words -= cached[1].size
        self._stand_ins.pop(bucket, None)

    def stand_in(self, reader: CachedReader) -> SortedWords:
        """Return the words of a bucket from the store, in place of a graph that cannot be read; some may be gone."""
        state = reader.state
        moment = (state.lexicon_version, self.recoveries())
        cached = self._stand_ins.get(state.bucket)
        if cached is None or cached[0] != moment:
            words = SortedWords([word for word, _ in reader.lexicon(b"") if not is_too_long(reader, word)])
            cached = self._stand_ins[state.bucket] = moment, words
        return cached[1]


def is_too_long(reader: CachedReader, word: bytes) -> bool:
    """Return whether a beginning has more letters than any word that the bucket shows."""
    if len(word) <= SONIC_BYTES_MAX:
        return False
    return shown_bytes(word, letters=counts_letters(reader.rules)) > SONIC_BYTES_MAX


class Rules:
    """The rules of languages for the words of a bucket; see `_Rules` in _native/bucket_words.pyi."""

    family = Family
    family_of = staticmethod(family_of)
    joined_with = staticmethod(joined_with)
    nearest_words = staticmethod(nearest_words)
    is_too_long = staticmethod(is_too_long)
    folded = staticmethod(folded)
    other_spelling = staticmethod(other_spelling)
    pairs = tuple(map(str.encode, dict.fromkeys(PAIRS.values())))

    @staticmethod
    def plain_folding() -> Folding:
        """Return `folded` as a table of letters."""
        return folding("")


class Lexicon(BucketWords, Statistics):
    """The words of one bucket inside one transaction, with the statistics that planners need."""

    reader: CachedReader

    def __init__(self, lexicons: Lexicons, view: "ReadableView", reader: CachedReader, collection: str) -> None:
        super().__init__(lexicons, view, reader, collection, Rules)
        self._lexicons = lexicons
        self._languages: tuple[str, ...] | None = None
        self._resolved: dict[Matching, Matching] = {}
        self.newest_pages: NewestPages | None = None
        """Finds pages of the newest objects that meet a filter; None: none was asked for."""

    def __len__(self) -> int:
        return self.reader.state.live_words if self.live else self.reader.state.words_in_graph

    def words(self, offset: int, limit: int, prefix: bytes = b"", after: bytes = b"") -> list[bytes]:
        """Return the words that begin with `prefix` and follow `after`, in byte order, from place `offset` on."""
        if offset >= len(self):
            return []
        if not self.live and not prefix and not after:
            graph = self.graph
            return graph.words(offset, limit) if graph is not None else []
        if not self.live or after:
            return list(islice(self.completions(prefix, after), offset, offset + limit))
        bucket = self.reader.state.bucket
        return self._lexicons.places.words(self.completions, bucket, self.words_moment, prefix, offset, limit)

    def completions(self, prefix: bytes, after: bytes = b"") -> Iterator[bytes]:
        """Yield the words that begin with `prefix`, including itself, and follow `after`, in byte order."""
        if self.is_too_long(prefix):
            return iter(())
        if self.live:
            return (word for word, row in self.reader.lexicon(prefix, after) if row.live)
        graph = self.graph
        found = graph.completions(prefix) if graph is not None else iter(())
        return (word for word in found if word > after) if after else found

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions held by objects, with their rows, in byte order."""
        if not self.live:
            return self.held(islice(self.completions(prefix), most))
        if self.is_too_long(prefix):
            return []
        return list(islice((found for found in self.reader.lexicon(prefix) if found[1].live), most))

    def likely_of_graph(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return likely completions as of the last consolidation; see `Statistics.likely`."""
        return most_likely(word, self.completed(word, examined), limit)

    def languages_for(self, matching: Matching) -> tuple[str, ...]:
        """Return the languages of the bucket for a query: those that it names, or those of the bucket's texts."""
        if matching.languages:
            return matching.languages
        found = self._languages
        if found is None:
            found = self._languages = self._lexicons.languages.of(self.reader)
        return found

    def resolved(self, matching: Matching) -> Matching:
        """Return the Matching of a query with the languages of this bucket."""
        if matching.languages:
            return matching
        found = self._resolved.get(matching)
        if found is None:
            if self._languages is None:
                self._languages = self._lexicons.languages.of(self.reader)
            code, is_ascii, is_given, _ = matching
            found = self._resolved[matching] = Matching(code, is_ascii, is_given, self._languages)
        return found

    def leading(self, letters: bytes) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words with which some letters begin; see `Statistics`."""
        found = leading_words(self.sources(self.graph, is_live=self.live), letters, folding(""))
        return [(word, row, found[word]) for word, row in self.held(sorted(found))] if found else []

    def holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that contain some letters; see `Statistics`."""
        graph, state = self.graph, self.reader.state
        found: list[bytes] = []
        if graph is not None:
            found = words_holding(graph.text, letters, HOLDING_EXAMINED)
        elif state.lexicon_version:
            found = [word for word in self._lexicons.stand_in(self.reader).all() if letters in word]
        if self.live and state.pending_seq > state.graph_seq:
            pending = self.pending
            found += words_holding(pending.text(), letters, HOLDING_EXAMINED)
        return most_held(self.held(sorted(set(found))))

    def holds_together(self, groups: list[list[bytes]]) -> bool:
        """Return whether one object holds a word of each group."""
        from sonicpy._native.together import count_together  # noqa: PLC0415  loaded when it is needed

        rows = [[row for _, row in self.held(group)] for group in groups]
        if not all(rows):
            return False
        *before, last = sorted(rows, key=lambda group: sum(row.df for row in group))  # of `before`, all is read
        return not before or any(count_together(self.reader, before, last))
