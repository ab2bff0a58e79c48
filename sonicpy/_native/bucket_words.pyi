from collections.abc import Callable, Iterable
from typing import Any, Protocol

from sonicpy._native.letter_folding import Folding
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms
from sonicpy._native.word_lists import WordLists
from sonicpy._native.word_source import WordSource

BEGUN_MAX: int
FAMILY_MAX: int
FAMILIES_MAX: int
BEGINNINGS_MAX: int
JOINED_MAX: int

def shortest_joined(words: Iterable[bytes]) -> list[bytes]: ...

class _Lexicons(Protocol):
    """The caches of an index, and the sources of their values."""

    live: bool
    pool: Any
    """`opened(bucket, version)` returns a graph, with the time of its last use."""
    synonyms: Any
    """`of(view, collection)` returns the synonyms of a collection."""
    families: Any
    """(bucket, typed word, matching) -> (moment, family, pending words at that moment)."""
    joined: WordLists
    """(bucket, typed word, matching) -> (moment, compounds with the typed word as a part, pending words at that
    moment).
    """
    begun: WordLists
    """(bucket, typed word) -> (moment, words that begin with the typed one, if they are few, pending words at that
    moment)."""
    long_begun: WordLists
    """The same if they are many."""
    beginnings: WordLists
    """(bucket, typed word) -> (serial of the reader's cache, the most frequent of many words that begin with it)."""
    recoveries: Callable[[], int]

    def pending(self, view: Any, state: Any, /) -> Any:
        """Return the words that appeared or vanished since the graph was built."""

    def stand_in(self, reader: Any, /) -> WordSource:
        """Return the words of a bucket from the store, in place of a graph that cannot be read."""

class _Rules(Protocol):
    """The rules of languages; index/search/lexicon.py implements them."""

    @property
    def family(self) -> Callable[[tuple[bytes, ...], tuple[bytes, ...]], Any]:
        """Makes a family from the words that a word finds in any case, and those that it may find."""

    def family_of(self, sources: list[WordSource], word: bytes, matching: Any, /) -> tuple[set[bytes], set[bytes]]:
        """Return the words that a word finds in any case, and those that it may find, perhaps itself."""

    def joined_with(
        self, sources: list[WordSource], wholes: list[WordSource], word: bytes, matching: Any, /
    ) -> set[bytes]:
        """Return the compounds that have a word, or one of its family, as a part."""

    def nearest_words(self, word: bytes, words: list[bytes], /) -> tuple[bytes, ...]:
        """Return the words of a family that are closest in length to the typed one, in byte order."""

    def is_too_long(self, reader: Any, word: bytes, /) -> bool:
        """Return whether a beginning has more letters than any word that the bucket shows."""

    def folded(self, word: bytes, /) -> bytes:
        """Return a word without accents."""

    def other_spelling(self, word: bytes, /) -> tuple[list[bytes], Folding] | None:
        """Return the other spellings of the beginning of a word, and the letters that count as equal in them; None:
        there are none.
        """

    @property
    def pairs(self) -> tuple[bytes, ...]:
        """The pairs of letters from a to z that another spelling may have: an ASCII word without such a pair has no
        other spelling.
        """

    def plain_folding(self) -> Folding:
        """Return `folded` as a table of letters."""

class BucketWords:
    reader: Any
    view: Any
    live: bool
    def __init__(self, lexicons: _Lexicons, view: Any, reader: Any, collection: str, rules: _Rules) -> None: ...
    def note_use(self) -> None: ...
    @property
    def objects(self) -> int: ...
    @property
    def average_length(self) -> float: ...
    @property
    def graph(self) -> Any: ...
    @property
    def pending(self) -> Any: ...
    @property
    def moment(self) -> tuple[object, ...]: ...
    @property
    def words_moment(self) -> tuple[int, ...]: ...
    @property
    def known_synonyms(self) -> Any: ...
    def synonyms(self, terms: Terms) -> tuple[Any, ...]: ...
    def sources(
        self, graph: Any, word: bytes = b"", *, is_live: bool = True, has_stand_in: bool = True
    ) -> list[WordSource]: ...
    def part_sources(self, graph: Any) -> list[WordSource]: ...
    def is_too_long(self, word: bytes) -> bool: ...
    def rows(self, words: list[bytes]) -> list[TermInfo | None]: ...
    def held(self, words: Iterable[bytes]) -> list[tuple[bytes, TermInfo]]: ...
    def may_hold(self, words: Iterable[bytes]) -> list[bytes]: ...
    def word_sources(self) -> list[WordSource] | None: ...
    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]: ...
    def family(self, word: bytes, matching: Any) -> Any: ...
    def joined(self, word: bytes, matching: Any) -> list[bytes]: ...
    def beginnings(self, word: bytes, distance: int) -> list[tuple[bytes, TermInfo, int]]: ...
    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]: ...
    def variants(self, word: bytes) -> list[tuple[bytes, TermInfo]]: ...
    def inner(self, word: bytes) -> list[tuple[bytes, TermInfo]]: ...
    def begun(self, word: bytes, distance: int, besides: bytes = b"") -> dict[bytes, int]: ...
