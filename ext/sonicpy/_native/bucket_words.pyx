"""The words of a bucket inside one transaction: its graph, the words pushed since, and the look-up of other words for a
typed one: its family, joined words of which it is a part, words that begin with it. All three are cached over
transactions, by the typed word.

The rules of languages and the files of graphs belong to the layer above (`Rules` and `Lexicons` in the stub).
"""

import time
from operator import itemgetter

from sonicpy._native.begun_words cimport BEGUN, begun_in, known_rules
from sonicpy._native.word_lists cimport WordLists
from sonicpy._native.word_walks cimport EDGES_MAX, walk_all

from sonicpy._native.nearest import held_beginnings
from sonicpy._native.parts import nearest_parts
from sonicpy._native.term_rows import held_words
from sonicpy._native.word_source import SortedWords, words_in

cdef enum:
    SHOWN_BYTES = 40  # a longer word may be one that no graph has: SONIC_BYTES_MAX of term_rows.pyx
    FAMILY = 16
    KEPT = 10_000
    KEPT_BYTES = 160  # of the longest typed word for which something is cached
    LONG = 24  # a longer word may find words that are too long to be shown, which neither graphs nor pending words hold
    LONG_LETTERS = 8  # how many of its letters such words begin with,
    LONG_WORDS = 512  # and how many are read at most
    BEGUN_KEPT = 64  # a longer list of words that begin so is kept in `long_begun`
    BEGINNINGS = 2_000
    JOINED = 20_000

BEGUN_MAX = BEGUN
"""The most words with a typed beginning, of a graph or of the pending words, whose frequencies are compared."""
FAMILY_MAX = FAMILY
"""The most words of a family besides the typed one: each is a list of postings to read."""
FAMILIES_MAX = KEPT
"""The most families in the cache, about 300 bytes each."""
BEGINNINGS_MAX = BEGINNINGS
"""The most words that complete a typed one; if there are more, those that most objects hold are kept."""
JOINED_MAX = JOINED
"""The most joined words that have a typed one as a part; if there are more, the shortest ones are kept."""


def shortest_joined(words not None) -> list:
    """Return joined words in byte order; of more than JOINED_MAX, only the shortest ones."""
    cdef list found = sorted(words)
    if len(found) > JOINED:
        found.sort(key=len)
        del found[JOINED:]
        found.sort()
    return found


cdef class BucketWords:
    """The words of a bucket inside one transaction.

    Args:
        lexicons: the lexicons of the index, see `Lexicons` in the stub.
        view: the view of the transaction.
        reader: the reader of the bucket.
        collection: the name of the collection of the bucket.
        rules: the rules of languages, see `_Rules` in the stub.
    """
    cdef readonly object reader
    cdef readonly bint live
    cdef readonly object view
    cdef object _lexicons, _rules, _opened, _pending
    cdef tuple _moment
    cdef object _bucket, _version
    cdef bint _has_pending, _is_whole  # the graph has all words
    cdef object _collection
    cdef object _synonyms
    cdef bint _has_read_synonyms
    cdef readonly object objects
    cdef readonly double average_length

    def __init__(self, lexicons not None, view not None, reader not None, collection not None, rules not None):
        state = reader.state
        self.reader, self.live = reader, lexicons.live
        self._lexicons, self.view, self._rules = lexicons, view, rules
        self._bucket, self._version = state.bucket, state.lexicon_version
        self._has_pending = state.pending_seq > state.graph_seq
        self._is_whole = state.pending_seq == state.graph_seq
        self._collection = collection
        self.objects, self.average_length = state.objects, state.average_length

    # -- what there is -------------------------------------------------------------------------------------------------

    def note_use(self) -> None:
        """Note that a query uses the graph, because the pool closes unused graphs."""
        if self._opened is not None:
            self._opened.used_s = time.monotonic()

    @property
    def graph(self):
        """The word graph of the bucket, as long as the pool has it open."""
        return self.open_graph()

    cdef object open_graph(self):
        graph = None if self._opened is None else self._opened.graph
        if graph is None and self._version:
            self._opened = self._lexicons.pool.opened(self._bucket, self._version)
            graph = None if self._opened is None else self._opened.graph
        return graph

    @property
    def pending(self):
        """The words that appeared or vanished since the graph was built."""
        return self.pending_words()

    cdef object pending_words(self):
        if self._pending is None:
            self._pending = self._lexicons.pending(self.view, self.reader.state)
        return self._pending

    @property
    def moment(self) -> tuple:
        """A value for the state of the bucket: answers are valid while it stays the same."""
        return self.reader.serial, self._version, self.synonym_lookup()

    @property
    def words_moment(self) -> tuple:
        """A value for the state of the words: look-ups of other words are valid while it stays the same."""
        return self.known_moment()

    cdef tuple known_moment(self):
        if self._moment is None:
            state = self.reader.state
            self._moment = (state.lexicon_version, state.pending_seq, state.next_term, self._lexicons.recoveries())
        return self._moment

    def sources(self, graph, bytes word=b"", *, bint is_live=True, bint has_stand_in=True) -> list:
        """Return the sources of all words for walks. Some words may be in no object any more, which their rows show.

        Args:
            word: a typed word; words that are too long for a graph are included if they begin as it does.
            is_live: whether words that became pending since the graph was built are included.
            has_stand_in: whether the words of the store are included if the graph cannot be read.
        """
        return self.all_sources(graph, word, is_live, has_stand_in)

    cdef list all_sources(self, graph, bytes word, bint is_live, bint has_stand_in):
        cdef list found = [], begun
        if graph is not None:
            found.append(graph.source)
        elif self._version and has_stand_in:
            found.append(self._lexicons.stand_in(self.reader))
        if is_live and self._has_pending:
            found.append(self.pending_words().words)
        if len(word) > LONG:
            begun = self.reader.words_with(word.decode()[:LONG_LETTERS].encode(), LONG_WORDS)
            found.append(SortedWords([each for each in begun if self.is_too_long(each)]))
        return found

    def part_sources(self, graph) -> list:
        """Return the sources of aliases of joined words for walks. A graph has no aliases for parts that begin a
        word."""
        return self.all_part_sources(graph)

    cdef list all_part_sources(self, graph):
        cdef list found = []
        if graph is not None and graph.has_aliases:
            found.append(graph.aliases)
        if self.live and self._has_pending:
            found.append(self.pending_words().aliases)
        return found

    def is_too_long(self, bytes word not None) -> bool:
        """Return whether `word`, the beginning of a word, is longer than any word of the lexicon of the bucket."""
        return len(word) > SHOWN_BYTES and self._rules.is_too_long(self.reader, word)

    @property
    def known_synonyms(self):
        """The synonyms of the collection; None: it has none. The object stays the same as long as the rules do."""
        return self.synonym_lookup()

    cdef object synonym_lookup(self):
        if not self._has_read_synonyms:
            self._synonyms = self._lexicons.synonyms.of(self.view, self._collection)
            self._has_read_synonyms = True
        return self._synonyms

    def synonyms(self, terms not None):
        """Return the substitutes of terms of a query, by the synonyms of the collection."""
        known = self.synonym_lookup()
        return () if known is None else known.matches(terms)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def rows(self, list words not None) -> list:
        """Return the row of each word, None for a word that no object holds."""
        return self.reader.words(words)

    def held(self, words not None) -> list:
        """Return the words that objects hold, with their rows, in the order of `words`."""
        cdef list asked = words if isinstance(words, list) else list(words)
        return held_words(asked, self.reader.words(asked), self.live) if asked else []

    def may_hold(self, words not None) -> list:
        """Return the words that objects may hold, because they are in the graph or pending."""
        cdef list sources = self.word_sources() if words else None
        return list(words) if sources is None else words_in(sources, words)

    def word_sources(self):
        """Return the words that objects may hold; None: any word may be held."""
        if not self.live:
            return None
        graph = self.open_graph()
        return None if graph is None and self._version else self.all_sources(graph, b"", True, True)

    def corrections(self, bytes word not None, int distance, *, bint transpositions, bint of_long=False) -> list:
        """Return the words within `distance` edits and their distances: nearest first, then in byte order.

        The word itself is included, unless `distance` is 0: then there are none. In live mode some of the words may be
        gone: they have no rows.

        Args:
            transpositions: whether a swap of two neighbours is one edit, not two.
            of_long: whether to look for corrections even if `word` is longer than any word of the graph.
        """
        cdef list found
        if distance == 0 or (not of_long and self.is_too_long(word)):
            return []
        graph = self.open_graph()
        found = [] if graph is None else graph.correct(word, distance, transpositions=transpositions).matches
        if not self.live or self._is_whole:
            return found
        pending = self.pending_words()
        if not pending:
            return found
        more = pending.correct(word, distance, transpositions=transpositions)
        return sorted({**dict(found), **dict(more)}.items(), key=by_distance)

    # -- families ------------------------------------------------------------------------------------------------------

    def family(self, bytes word not None, matching not None):
        """Return the other words that a word surely finds, and those that it may find, at most FAMILY_MAX of each; some
        may be in no object."""
        cdef dict families = self._lexicons.families
        cdef tuple moment = self.known_moment(), key, cached, mark
        cdef list sources, new
        cdef set surely, perhaps
        if not matching.languages:
            matching = self.resolved(matching)
        key = (self._bucket, word, matching)
        cached = families.get(key)
        if cached is not None and cached[0] == moment:
            return cached[1]
        graph, mark = self.open_graph(), self.mark()
        known = None
        if cached is not None and len(word) <= LONG and self.only_grew(graph, cached[0], moment):
            new, known = self.new_sources(cached[2], mark), cached[1]  # the graph is the same
            sources = self.all_sources(None, b"", True, False) if new is None else some_of(new[:1])
            if not sources:
                families[key] = (moment, known, mark)
                return known
        else:
            sources = self.all_sources(graph, word, True, True)
        surely, perhaps = self._rules.family_of(sources, word, matching)
        surely.discard(word)
        perhaps.discard(word)
        if known is not None:
            surely.update(known.words)
            perhaps.update(known.doubtful)
        perhaps -= surely
        if max(len(surely), len(perhaps)) > FAMILY:  # those that are gone take no place
            return self._rules.family(self.nearest_of(word, surely), self.nearest_of(word, perhaps))
        family = self._rules.family(tuple(sorted(surely)), tuple(sorted(perhaps)))
        if len(word) > KEPT_BYTES:
            return family
        if len(families) >= KEPT:
            families.clear()
        families[key] = (moment, family, mark)
        return family

    cdef tuple nearest_of(self, bytes word, set among):
        """Return the words in `among` that objects hold; words as long as the typed one come first."""
        return self._rules.nearest_words(word, [each for each, _ in self.held(sorted(among))])

    cdef tuple mark(self):
        """Return the identity of the known pending words and their number at this time, as a mark for later
        comparisons."""
        if not self._has_pending:
            return NOTHING_PENDING
        pending = self.pending_words()
        return pending.identity, pending.taken

    cdef bint only_grew(self, graph, tuple before, tuple now) except -1:
        """Return whether look-ups made at the mark `before` are still right at `now`, because words only became pending
        since."""
        if graph is None and self._version:  # the list in its place is made anew
            return False
        return before[0] == now[0] and before[3] == now[3]

    cdef list new_sources(self, tuple before, tuple now):
        """Return the sources of the words that became pending between two marks, and of their aliases; an empty list if
        there are none, None if all sources have to be searched."""
        if before == now:
            return []
        if now[0] is None or before[0] is not now[0]:
            return None
        new = self.pending_words().taken_since(before[1])
        return None if new is None else list(new)

    # -- joined words --------------------------------------------------------------------------------------------------

    def joined(self, bytes word not None, matching) -> list:
        """Return the joined words that have `word`, or a word of its family, as a part, at most JOINED_MAX; some may be
        in no object."""
        cdef WordLists known = self._lexicons.joined
        cdef tuple moment = self.known_moment(), key, cached, mark
        cdef list new, pending, found
        if matching is not None and not matching.languages:
            matching = self.resolved(matching)
        key = (self._bucket, word, matching)
        cached = known.get(key)
        if cached is not None and cached[0] == moment:
            return list(cached[1])
        mark = self.mark()
        if cached is not None and self.only_grew(self.open_graph(), cached[0], moment):
            new = self.new_sources(cached[2], mark)
            pending = some_of(self.all_part_sources(None) if new is None else new[1:])
            added = self._rules.joined_with(pending, [], word, matching) if pending else set()
            found = list(cached[1]) if added.issubset(cached[1]) else shortest_joined(added.union(cached[1]))
        else:
            found = self.find_joined(word, matching)
        if len(word) <= KEPT_BYTES:
            known.keep(key, (moment, tuple(found), mark), len(found))
        return found

    cdef list find_joined(self, bytes word, matching):
        graph = self.open_graph()
        cdef list sources = some_of(self.all_part_sources(graph))
        cdef set found = set()
        if sources:
            found = self._rules.joined_with(sources, [] if graph is None else [graph.source], word, matching)
        if graph is not None:
            found.update(graph.begun(word, JOINED, EDGES_MAX))
        return shortest_joined(found) if found else []

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def beginnings(self, bytes word not None, int distance) -> list:
        """Return the words with the same beginning as a typed word; see `Statistics`."""
        cdef dict found = None
        cdef WordLists known = self._lexicons.beginnings
        cdef tuple key = (self._bucket, word), cached
        cdef list words, held
        if distance:
            found = self.all_begun(word, distance, b"")
            words = list(found)
        else:
            cached = known.get(key)
            if cached is not None and cached[0] == self.reader.serial:
                return list(cached[1])
            words = self.known_begun(word)
        if not words:
            return []
        held = held_beginnings(words, self.reader.words(words), found, self.live, BEGINNINGS)
        if not distance and len(words) > BEGUN_KEPT and len(word) <= KEPT_BYTES:
            known.keep(key, (self.reader.serial, tuple(held)), len(held))
        return held

    cdef list known_begun(self, bytes word):
        """Return the words that begin with `word`; some of them may be in no object any more."""
        cdef WordLists few = self._lexicons.begun, many = self._lexicons.long_begun
        cdef tuple moment = self.known_moment(), key = (self._bucket, word), cached = few.get(key) or many.get(key), mark
        cdef list new = None, found
        if cached is not None and cached[0] == moment:
            return list(cached[1])
        mark = self.mark()
        if cached is not None and self.only_grew(self.open_graph(), cached[0], moment):
            new = self.new_sources(cached[2], mark) if self.live else []
        if new is None or cached is None:
            found = list(self.all_begun(word, 0, b""))
        elif new:
            found = list(dict.fromkeys((*cached[1], *begun_in(new, word, 0, b"", self._rules))))
        else:
            found = list(cached[1])
        if len(word) > KEPT_BYTES:
            return found
        if len(found) > BEGUN_KEPT:
            few.drop(key)
            many.keep(key, (moment, tuple(found), mark), len(found))
        else:
            many.drop(key)
            few.keep(key, (moment, tuple(found), mark), len(found))
        return found

    def begun(self, bytes word not None, int distance, bytes besides=b"") -> dict:
        """Return the words that begin with `word`, with their distances from it; some of them may be in no object any
        more.

        Args:
            besides: words with this beginning are left out.
        """
        return self.all_begun(word, distance, besides)

    def variants(self, bytes word not None) -> list:
        """Return the words that begin with another spelling of a typed word, with their rows; see `Statistics`."""
        cdef dict found = self.all_begun(word, 0, word)
        cdef list words
        if not found:
            return []
        words = list(found)
        return held_words(words, self.reader.words(words), self.live)

    def likely(self, bytes word not None, limit, examined) -> list:
        """Return completions, the most frequent ones first; see `Statistics`."""
        if not self.live:
            return self.likely_of_graph(word, limit, examined)
        return [] if self.is_too_long(word) else self.reader.likely_words(word, limit, examined)

    def inner(self, bytes word not None) -> list:
        """Return the words with a later part that begins with a typed word, with their rows; see `Statistics`."""
        cdef list sources = self.all_part_sources(self.open_graph()), words
        cdef dict found
        cdef bytes beginning
        if not sources:
            return []
        beginning = self.folded(word)
        found = walk_all(
            sources, [beginning], known_rules(self._rules).plain, 0, True, True, False, False, b"", BEGUN, EDGES_MAX,
            None, b"",
        )
        words = [each for each in nearest_parts(found) if not self.folded(each).startswith(beginning)]
        return held_words(words, self.reader.words(words), self.live) if words else []

    cdef inline bytes folded(self, bytes word):
        """Return a word without accents."""
        return word if word.isascii() else self._rules.folded(word)

    cdef dict all_begun(self, bytes word, int distance, bytes besides):
        cdef list sources
        if self.is_too_long(word):
            return {}
        graph = self.open_graph()
        sources = self.all_sources(graph, b"", self.live, distance == 0)
        if not besides:
            sources += self.all_part_sources(graph)
        return begun_in(sources, word, distance, besides, self._rules)


cdef list some_of(list sources):
    """Return the sources of words, or of their aliases, that are not empty."""
    return [source for source in sources if source]


cdef tuple NOTHING_PENDING = (None, 0)
cdef object by_distance = itemgetter(1, 0)
