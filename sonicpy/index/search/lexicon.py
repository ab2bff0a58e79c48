"""The words of a bucket: completions, corrections, lists; live, or as of the last consolidation.

In live mode, words come from the sorted table of words, and corrections from the graph file and the words pushed since;
otherwise everything comes from the graph file.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sonicpy._native.leading_words import leading_words
from sonicpy._native.nearest import held_beginnings, most_frequent
from sonicpy._native.parts import nearest_parts
from sonicpy._native.term_rows import SONIC_BYTES_MAX, TermInfo, shown_bytes
from sonicpy._native.terms import Terms
from sonicpy._native.word_source import SortedWords, WordSource, words_in
from sonicpy._native.word_text import words_holding
from sonicpy._native.word_walks import find_words
from sonicpy.graph.graph_pool import GraphPool, OpenGraph
from sonicpy.graph.pending import PendingWords
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.search.accents import folding
from sonicpy.index.search.begun_words import BEGUN_MAX, begun_in, folded
from sonicpy.index.search.bucket_languages import BucketLanguages
from sonicpy.index.search.families import FAMILY_MAX, Family, family_of, joined_with, nearest_words
from sonicpy.index.search.known_synonyms import UNREAD, KnownSynonyms, SynonymLookup
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import BEGINNINGS_MAX, Statistics, most_held, most_likely
from sonicpy.index.search.synonym_matches import NO_MATCHES, Matches
from sonicpy.index.search.word_places import WordPlaces
from sonicpy.rules import counts_letters
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.views.cached_reader import CachedReader

if TYPE_CHECKING:
    from sonicpy.store.views.open_cache import ReadableView

PENDING_CACHED, PENDING_WORDS_CACHED = 1_000, 500_000
"""Maximum of buckets whose pending words are cached for walks, and of words in all of them: about 20 MB."""
FAMILIES_MAX = 10_000
"""Families in the cache, at most; about 300 bytes each. As many lists of joined words."""
JOINED_WORDS_MAX = 50_000
"""Words in these lists, at most; about 80 bytes each."""
HOLDING_EXAMINED = 4_000
"""Words that hold some letters, of a graph or of the pending words, whose frequencies are compared, at most."""
BEGUN_KEPT = 64
"""Words that begin so, at most, that are cached: about 80 bytes each, for at most FAMILIES_MAX typed words."""
NO_FAMILY = Family((), ())
Mark = tuple[PendingWords | None, int]
"""The pending words of a bucket, and how many were known at a moment; None: there were none."""
LONG_BYTES = 24
"""A longer word may find words that are too long to be shown, which neither graphs nor pending words hold."""
LONG_LETTERS, LONG_WORDS_MAX = 8, 512
"""How many of its letters such words begin with, and how many are read at most."""


def _unknown(words: Iterable[str]) -> tuple[str, ...]:
    return ()


class Lexicons:
    """The graphs and pending words of all buckets of an index.

    Args:
        live: words are found as soon as they are pushed; else after a consolidation.
        recoveries: returns the number of recoveries of the store: behind one, an equal `pending_seq` is of other words.
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
        """By bucket, typed word and how it leads to others: the moment, its other words, and the pending words then."""
        self.joined: dict[tuple[int, bytes, Matching | None], tuple[tuple[int, ...], tuple[bytes, ...], Mark]] = {}
        """By the same, the words that have the typed one as a part."""
        self.begun: dict[tuple[int, bytes], tuple[tuple[int, ...], tuple[bytes, ...], Mark]] = {}
        """By bucket and typed word, the words that begin so, if they are few."""
        self.joined_words = 0
        """How many they are, at most."""
        self.places = WordPlaces()
        self.synonyms = KnownSynonyms()
        self._stand_ins: dict[int, tuple[tuple[int, int], SortedWords]] = {}

    def of(self, view: "ReadableView", collection: str, bucket: str) -> "Lexicon | None":
        """Return the words of a bucket, or None if there is no such bucket."""
        scope = (collection, bucket)
        lexicon = view.cache.get(scope)
        if isinstance(lexicon, Lexicon):
            lexicon.note_use()
            return lexicon
        state = view.bucket(collection, bucket)
        if state is None:
            return None
        lexicon = Lexicon(self, view, view.reader(state), collection)
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
        before = 0 if cached is None else len(cached[1])
        words.refresh()
        self._pending_words += len(words) - before
        if len(self._pending) >= PENDING_CACHED or self._pending_words > PENDING_WORDS_CACHED:
            self._pending.clear()
            self._pending_words = len(words)
        self._pending[state.bucket] = (moment, words)
        return words

    def stand_in(self, reader: CachedReader) -> SortedWords:
        """Return the words of a bucket from the store, perhaps with some that are gone: the graph cannot be read."""
        state = reader.state
        moment = (state.lexicon_version, self.recoveries())
        cached = self._stand_ins.get(state.bucket)
        if cached is None or cached[0] != moment:
            words = SortedWords([word for word, _ in reader.lexicon(b"") if not is_too_long(reader, word)])
            cached = self._stand_ins[state.bucket] = moment, words
        return cached[1]


def is_too_long(reader: CachedReader, word: bytes) -> bool:
    """Return whether no word of a bucket that is shown begins so."""
    if len(word) <= SONIC_BYTES_MAX:
        return False
    return shown_bytes(word, letters=counts_letters(reader.rules)) > SONIC_BYTES_MAX


class Lexicon(Statistics):
    """The words of one bucket inside one transaction, and its statistics."""

    def __init__(self, lexicons: Lexicons, view: "ReadableView", reader: CachedReader, collection: str) -> None:
        self.reader = reader
        self._collection = collection
        self._synonyms: SynonymLookup | None = UNREAD
        self.live = lexicons.live
        """Whether words are found as soon as they are pushed."""
        self._lexicons = lexicons
        self._view = view
        self._known_moment: tuple[int, ...] | None = None
        self._known_pending: PendingWords | None = None
        self._opened: OpenGraph | None = None
        self._languages: tuple[str, ...] | None = None

    @property
    def _pending(self) -> PendingWords:
        """The words that appeared or vanished since the graph was built: a query needs them many times."""
        found = self._known_pending
        if found is None:
            found = self._known_pending = self._lexicons.pending(self._view, self.reader.state)
        return found

    @property
    def known_synonyms(self) -> SynonymLookup | None:
        """The synonyms of the collection; None: it has none. The same rules, the same object."""
        found = self._synonyms
        if found is UNREAD:
            found = self._synonyms = self._lexicons.synonyms.of(self._view, self._collection)
        return found

    def synonyms(self, terms: Terms) -> Matches:
        """Return the substitutes of terms of a query, by the synonyms of the collection."""
        known = self.known_synonyms
        return NO_MATCHES if known is None else known.matches(terms)

    def _is_too_long(self, word: bytes) -> bool:
        return is_too_long(self.reader, word)

    def note_use(self) -> None:
        """Note that a query begins: the pool closes unused graphs."""
        if self._opened is not None:
            self._opened.used_s = time.monotonic()

    @property
    def _graph(self) -> WordGraph | None:
        """The graph, as long as the pool has it open."""
        opened = self._opened
        graph = None if opened is None else opened.graph
        if graph is None and self.reader.state.lexicon_version:
            state = self.reader.state
            opened = self._opened = self._lexicons.pool.opened(state.bucket, state.lexicon_version)
            graph = None if opened is None else opened.graph
        return graph

    @property
    def objects(self) -> int:
        """The number of objects."""
        return self.reader.state.objects

    @property
    def average_length(self) -> float:
        """The mean length of the objects."""
        return self.reader.state.average_length

    def rows(self, words: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each of some words, None for a word that no object holds."""
        return self.reader.words(words)

    def may_hold(self, words: Iterable[bytes]) -> list[bytes]:
        """Return the words that objects may hold, because they are in the graph or pending."""
        graph = self._graph
        if not words or not self.live or (graph is None and self.reader.state.lexicon_version):
            return list(words)
        return words_in(self._sources(graph), words)

    def __len__(self) -> int:
        return self.reader.state.live_words if self.live else self.reader.state.graph_words

    def words(self, offset: int, limit: int, prefix: bytes = b"", after: bytes = b"") -> list[bytes]:
        """Return the words that begin with `prefix` and follow `after`, in byte order, from place `offset` on."""
        if offset >= len(self):
            return []
        if not self.live and not prefix and not after:
            graph = self._graph
            return graph.words(offset, limit) if graph is not None else []
        if not self.live or after:
            return list(islice(self.completions(prefix, after), offset, offset + limit))
        bucket = self.reader.state.bucket
        return self._lexicons.places.words(self.completions, bucket, self._moment, prefix, offset, limit)

    def completions(self, prefix: bytes, after: bytes = b"") -> Iterator[bytes]:
        """Yield the words that begin with `prefix`, including itself, and follow `after`, in byte order."""
        if self._is_too_long(prefix):
            return iter(())
        if self.live:
            return (word for word, row in self.reader.lexicon(prefix, after) if row.live)
        graph = self._graph
        found = graph.completions(prefix) if graph is not None else iter(())
        return (word for word in found if word > after) if after else found

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions held by objects, with their rows, in byte order."""
        if not self.live:
            return self.held(islice(self.completions(prefix), most))
        if self._is_too_long(prefix):
            return []
        return list(islice((found for found in self.reader.lexicon(prefix) if found[1].live), most))

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` of the first `examined` completions: `word` itself, then the others by frequency."""
        if not self.live:
            return most_likely(word, self.completed(word, examined), limit)
        return [] if self._is_too_long(word) else self.reader.likely_words(word, limit, examined)

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the words within `distance` edits and their distances: nearest first, then in byte order.

        The word itself is included. In live mode some of the words may be gone: they have no rows.

        Args:
            transpositions: a swap of two neighbours is one edit, not two.
            of_long: even if `word` is longer than any word of the graph.
        """
        if distance == 0 or (not of_long and self._is_too_long(word)):
            return []
        graph, state = self._graph, self.reader.state
        found = [] if graph is None else graph.correct(word, distance, transpositions=transpositions).matches
        if not self.live or state.pending_seq == state.graph_seq:
            return found
        pending = self._pending
        if pending:
            more = pending.correct(word, distance, transpositions=transpositions)
            return sorted({**dict(found), **dict(more)}.items(), key=lambda match: (match[1], match[0]))
        return found

    def family(self, word: bytes, matching: Matching) -> Family:
        """Return the other words that a word finds, at most FAMILY_MAX of either kind; some may be in no object."""
        if not matching.languages:
            matching = self.resolved(matching)
        families, moment = self._lexicons.families, self._known_moment or self._moment
        key = (self.reader.state.bucket, word, matching)
        cached = families.get(key)
        if cached is not None and cached[0] == moment:
            return cached[1]
        graph, mark = self._graph, self._mark
        if cached is not None and len(word) <= LONG_BYTES and self._only_grew(graph, cached[0], moment):
            new, known = self._new_sources(cached[2], mark), cached[1]  # the graph is the same
            sources: list[WordSource] = self._sources(None, has_stand_in=False) if new is None else new[:1]
            if not sources:
                families[key] = moment, known, mark
                return known
        else:
            sources, known = self._sources(graph, word), NO_FAMILY
        surely, perhaps = (each - {word} for each in family_of(sources, word, matching))
        surely.update(known.words)
        perhaps.update(known.doubtful)
        perhaps -= surely
        if max(len(surely), len(perhaps)) > FAMILY_MAX:  # those that are gone take no place
            return Family(self._nearest(word, surely), self._nearest(word, perhaps))
        if len(families) >= FAMILIES_MAX:
            families.clear()
        families[key] = moment, (family := Family(tuple(sorted(surely)), tuple(sorted(perhaps)))), mark
        return family

    @property
    def _mark(self) -> Mark:
        """The pending words that are known now, and how many."""
        state = self.reader.state
        if state.pending_seq <= state.graph_seq:
            return None, 0
        return self._pending, self._pending.taken

    def _only_grew(self, graph: WordGraph | None, before: tuple[int, ...], now: tuple[int, ...]) -> bool:
        """Return whether all that was known at a moment is right: nothing happened but that words became pending."""
        if graph is None and self.reader.state.lexicon_version:  # what stands in for it is made anew
            return False
        return before[0] == now[0] and before[3] == now[3]

    def _new_sources(self, before: Mark, now: Mark) -> list[WordSource] | None:
        """Return the words that became pending between two marks, and their aliases; []: none; None: look at all."""
        if before == now:
            return []
        if now[0] is None or before[0] is not now[0]:
            return None
        new = now[0].taken_since(before[1])
        return None if new is None else [*new]

    def languages_for(self, matching: Matching) -> tuple[str, ...]:
        """Return the languages of the bucket for a query: those that it names, or those of the bucket's texts."""
        if matching.languages:
            return matching.languages
        found = self._languages
        if found is None:
            found = self._languages = self._lexicons.languages.of(self.reader)
        return found

    def resolved(self, matching: Matching) -> Matching:
        """Return how the words of a query lead to families in this bucket."""
        code, is_ascii, is_given, languages = matching
        return matching if languages else Matching(code, is_ascii, is_given, self.languages_for(matching))

    @property
    def _moment(self) -> tuple[int, ...]:
        """As of which moment words lead to others: rows do not change while they are read."""
        moment = self._known_moment
        if moment is None:
            state = self.reader.state
            moment = state.lexicon_version, state.pending_seq, state.next_term, self._lexicons.recoveries()
            self._known_moment = moment
        return moment

    def _nearest(self, word: bytes, among: set[bytes]) -> tuple[bytes, ...]:
        """Return words that objects hold, those as long as the typed one first."""
        return nearest_words(word, [each for each, _ in self.held(sorted(among))])

    def joined(self, word: bytes, matching: Matching | None) -> list[bytes]:
        """Return the joined words of which a part is `word` or one of its family; some may be in no object."""
        if matching is not None and not matching.languages:
            matching = self.resolved(matching)
        known, moment = self._lexicons.joined, self._known_moment or self._moment
        key = (self.reader.state.bucket, word, matching)
        cached = known.get(key)
        if cached is not None and cached[0] == moment:
            return list(cached[1])
        mark = self._mark
        if cached is not None and self._only_grew(self._graph, cached[0], moment):
            new = self._new_sources(cached[2], mark)
            pending = self._part_sources(None) if new is None else new[1:]
            added = joined_with(pending, [], word, matching) if pending else set()
            found = list(cached[1]) if added.issubset(cached[1]) else sorted(added.union(cached[1]))
        else:
            found = self._find_joined(word, matching)
        self._lexicons.joined_words += len(found)
        if len(known) >= FAMILIES_MAX or self._lexicons.joined_words > JOINED_WORDS_MAX:
            known.clear()
            self._lexicons.joined_words = len(found)
        known[key] = moment, tuple(found), mark
        return found

    def _find_joined(self, word: bytes, matching: Matching | None) -> list[bytes]:
        graph = self._graph
        sources, wholes = self._part_sources(graph), [] if graph is None else [graph.source]
        found = joined_with(sources, wholes, word, matching) if sources else set()
        if graph is not None:
            found.update(graph.begun(word))
        return sorted(found) if found else []

    def _part_sources(self, graph: WordGraph | None) -> list[WordSource]:
        """Return the aliases of joined words for walks; a graph has none of parts that begin a word."""
        state = self.reader.state
        found: list[WordSource] = []
        if graph is not None and graph.has_aliases:
            found.append(graph.aliases)
        if self.live and state.pending_seq > state.graph_seq:
            found.append(self._pending.aliases)
        return found

    def beginnings(self, word: bytes, distance: int) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words that begin as a word does; see `Statistics`."""
        found = self._begun(word, distance) if distance else None
        words = self._known_begun(word) if found is None else list(found)
        held = held_beginnings(words, self.rows(words), found, live=self.live)
        return most_frequent(held, BEGINNINGS_MAX)

    def _known_begun(self, word: bytes) -> list[bytes]:
        """Return the words that begin so, perhaps some that are gone."""
        known, moment, key = self._lexicons.begun, self._moment, (self.reader.state.bucket, word)
        cached = known.get(key)
        if cached is not None and cached[0] == moment:
            return list(cached[1])
        mark, new = self._mark, None
        if cached is not None and self._only_grew(self._graph, cached[0], moment):
            new = self._new_sources(cached[2], mark) if self.live else []
        if new is None or cached is None:
            found = list(self._begun(word, 0))
        else:
            found = list(dict.fromkeys((*cached[1], *begun_in(new, word)))) if new else list(cached[1])
        if len(found) <= BEGUN_KEPT:
            if len(known) >= FAMILIES_MAX:
                known.clear()
            known[key] = moment, tuple(found), mark
        return found

    def variants(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that begin as a word does, spelled otherwise; see `Statistics`."""
        return self.held(list(self._begun(word, 0, besides=word)))

    def inner(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words with a part that begins as a word does; see `Statistics`."""
        sources = self._part_sources(self._graph)
        if not sources:
            return []
        beginning = folded(word)
        found = find_words(sources, [beginning], folding(""), begins=True, most=BEGUN_MAX)
        return self.held([each for each in nearest_parts(found) if not folded(each).startswith(beginning)])

    def leading(self, letters: bytes) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words that some letters begin with; see `Statistics`."""
        found = leading_words(self._sources(self._graph, is_live=self.live), letters, folding(""))
        return [(word, row, found[word]) for word, row in self.held(sorted(found))] if found else []

    def holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that hold some letters; see `Statistics`."""
        graph, state = self._graph, self.reader.state
        found: list[bytes] = []
        if graph is not None:
            found = words_holding(graph.text, letters, HOLDING_EXAMINED)
        elif state.lexicon_version:
            found = [word for word in self._lexicons.stand_in(self.reader).all() if letters in word]
        if self.live and state.pending_seq > state.graph_seq:
            pending = self._pending
            found += words_holding(pending.text(), letters, HOLDING_EXAMINED)
        return most_held(self.held(sorted(set(found))))

    def _begun(self, word: bytes, distance: int, besides: bytes = b"") -> dict[bytes, int]:
        """Return the words that begin so, with their distances; perhaps some that are gone.

        Args:
            besides: words that begin so are left out, and parts of words.
        """
        if self._is_too_long(word):
            return {}
        graph = self._graph
        sources = self._sources(graph, is_live=self.live, has_stand_in=distance == 0)
        if not besides:
            sources += self._part_sources(graph)
        return begun_in(sources, word, distance, besides)

    def _sources(
        self, graph: WordGraph | None, word: bytes = b"", *, is_live: bool = True, has_stand_in: bool = True
    ) -> list[WordSource]:
        """Return all words for walks; some may be gone: their rows show it.

        Args:
            word: a typed word; words that are too long for a graph are there if they begin as it does.
            is_live: words that became pending since the graph was built are there.
            has_stand_in: where the graph cannot be read, the words of the store are there.
        """
        state = self.reader.state
        found: list[WordSource] = []
        if graph is not None:
            found.append(graph.source)
        elif state.lexicon_version and has_stand_in:
            found.append(self._lexicons.stand_in(self.reader))
        if is_live and state.pending_seq > state.graph_seq:
            found.append(self._pending.words)
        if len(word) > LONG_BYTES:
            begun = self.reader.words_with(word.decode()[:LONG_LETTERS].encode(), LONG_WORDS_MAX)
            found.append(SortedWords([each for each in begun if self._is_too_long(each)]))
        return found
