"""The words added since the graph file was built, in one sorted array, on which walks work as on a graph."""

import threading
from bisect import bisect_left

from sonicpy._native.held import Held
from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import aliases_from
from sonicpy._native.word_source import SortedWords, whole_words
from sonicpy._native.word_text import NearWords
from sonicpy._native.word_walks import find_words

AS_TYPED = Folding({})
"""A folding that changes no letter: corrections compare letters as they are."""
NO_WORDS = SortedWords([])
NEW_WORDS_MAX = 64
"""The most new words that are sorted apart from the others; with more, a walk over all pending words costs less."""
WALKED_DISTANCE = 1
"""The most errors with which a walk takes less time than comparing each word by itself."""
NO_BUDGET = 2**62
"""A budget that no walk uses up, so that it finds every word that is near enough, however many are pending."""


class PendingWords:
    """The words of one bucket that its graph may lack; some may no longer be in any object.

    Args:
        source: a list that only grows; `refresh` adds the words that were appended to it.

    Attributes:
        words: the words taken from the source so far, for walks.
        aliases: the aliases of the parts of these words, as in a graph, and also of parts that begin a word.
        taken: the number of words of the source that were taken.
        identity: an object in place of this one for caches, which would keep the words of buckets that are gone.
    """

    def __init__(self, source: list[bytes]) -> None:
        self.source = source
        self.words = SortedWords([])
        self.aliases = SortedWords([])
        self.taken = 0
        self.identity = object()
        self._joined: list[tuple[int, list[bytes]]] = []  # the place of each word that has aliases, and these
        self._text = b""
        self._in_text = 0
        self._near: NearWords | None = None
        self._in_near = 0
        self._refreshing = threading.Lock()
        self._apart: tuple[int, dict[int, tuple[SortedWords, SortedWords]]] = -1, {}
        """`taken` at a time -> the results of `taken_since` at that time, by argument."""

    def taken_since(self, before: int) -> tuple[SortedWords, SortedWords] | None:
        """Return the words and the aliases that were taken since `taken` was `before`; None: there are too many."""
        now = self.taken
        if now - before > NEW_WORDS_MAX:
            return None
        moment, apart = self._apart
        if moment != now:
            self._apart = now, (apart := {})
        found = apart.get(before)
        if found is None:
            aliases: list[bytes] = []
            for place, some in self._joined[bisect_left(self._joined, (before,)) :]:
                aliases += some if place < now else ()
            found = apart[before] = (
                SortedWords(whole_words(self.source[before:now])),
                SortedWords(aliases) if aliases else NO_WORDS,
            )
        return found

    def __len__(self) -> int:
        return len(self.words)

    @property
    def size(self) -> int:
        """The number of words and aliases."""
        return len(self.words) + len(self.aliases)

    def refresh(self) -> None:
        """Take the words that were appended to the source. Other threads may append more meanwhile."""
        with Held(self._refreshing):
            end = len(self.source)
            if end > self.taken:
                new = self.source[self.taken : end]
                joined = aliases_from(new, self.taken)
                self.words.add(whole_words(new))
                if joined:
                    self.aliases.add([alias for _, some in joined for alias in some])
                    self._joined += joined
                self.taken = end

    def text(self) -> bytes:
        """Return the words, each with a line feed behind it, in no order; a word may occur several times."""
        with Held(self._refreshing):
            if self._in_text < self.taken:
                new = self.source[self._in_text : self.taken]
                self._text = self._text + b"".join([word + b"\n" for word in whole_words(new)])
                self._in_text = self.taken
            return self._text

    def correct(self, word: bytes, distance: int, *, transpositions: bool) -> list[tuple[bytes, int]]:
        """Return the words within an edit distance of `word`, with their distances, in no order.

        Args:
            word: a word in UTF-8.
            distance: the largest edit distance, in characters.
            transpositions: whether a swap of two neighbours counts as one error, not two.
        """
        if distance > WALKED_DISTANCE:
            return list(self._near_words().find(word, distance, swaps=transpositions).items())
        found = find_words(
            [self.words], [word], AS_TYPED, distance=distance, swaps=transpositions, budget=NO_BUDGET, most=NO_BUDGET
        )
        return list(found.items())

    def _near_words(self) -> NearWords:
        with Held(self._refreshing):
            near = self._near
            if near is None:
                near = self._near = NearWords()
            if self._in_near < self.taken:
                new = self.source[self._in_near : self.taken]
                near.add(whole_words(new))
                self._in_near = self.taken
            return near
