from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sonicpy._native.plan import Clause, Plan
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms
from sonicpy._native.word_source import WordSource

_Statistics = TypeVar("_Statistics")  # those of index/search/statistics.py
_Matching = TypeVar("_Matching")
_Piece = tuple[bytes, ...]  # the words that a piece of a word may be
_HeldForms = dict[int, list[tuple[bytes, TermInfo]]]

class _Settings(Protocol):
    @property
    def alternates_below(self) -> int: ...
    @property
    def query_alternates_try(self) -> int: ...

class _Rarely(Protocol):
    """The steps of a plan that few queries need; index/search/planners/rarely.py implements them."""

    def same_numbers(self, word: bytes, /) -> Iterable[bytes]:
        """Return the other spellings of a number."""

    def spelled(self, term: bytes, /) -> tuple[bytes, ...]:
        """Return the variants of letters of Han and kana."""

    def add_folded(self, places: dict[bytes, tuple[int, ...]], words: list[bytes], /) -> None:
        """Add variants without accents to the words that neighbours make together."""

    def write_together(
        self,
        clauses: list[Clause],
        places: dict[bytes, tuple[int, ...]],
        held: list[tuple[bytes, TermInfo]],
        objects: int,
        /,
    ) -> None:
        """Add the words that neighbours make together, and that objects hold, to the clauses of the neighbours."""

    def pieces(
        self, statistics: Any, cuttable: list[Clause], /, *, folds: bool, partly: bool
    ) -> dict[int, list[_Piece]]:
        """Return the pieces into which terms can be cut, so that objects hold each piece, by the number of the term."""

    def first_letters(self, statistics: Any, runs: list[Clause], /) -> list[Clause]:
        """Return clauses for the words that begin with runs of letters without blanks."""

    def continued(self, statistics: Any, clause: Clause, /, *, is_last: bool) -> None:
        """Add the words that go on behind a word with digits or signs."""

    def heads(self, statistics: Any, clause: Clause, /) -> None:
        """Add the words that end with a typed word."""

    def again(self, statistics: Any, clause: Clause, matching: Any, /, *, is_last: bool, may_correct: bool) -> None:
        """Add words for a word that leads to nothing else: with errors, unfinished, or in another form."""

    def numbers(self, statistics: Any, clauses: list[Clause], terms: Terms, /) -> None:
        """Complete the numbers at the end of a query to addresses, versions and long numbers."""

    def needed_together(self, statistics: Any, clauses: list[Clause], /) -> None:
        """Make numbers not required if no object holds all required words, and another word of the query."""

    def needed(self, terms: Terms, /) -> set[int]:
        """Return the numbers of the terms that an object must hold, of a text with runs without blanks."""

    def corrections(self, statistics: Any, last: Clause, word: bytes, taken: set[bytes], search: Any, /) -> None:
        """Add corrections of the last word of a query, and words that begin with a correction."""

    def stand_ins(self, statistics: Any, matches: Any, matching: Any, clauses: list[Clause], /) -> Sequence[Any]:
        """Return the substitutes of terms, and note the number of their holders in the clauses of these terms."""

    def apart(
        self,
        statistics: Any,
        clauses: list[Clause],
        pieces: dict[int, list[_Piece]],
        held: Container[int],
        last: Clause | None,
        others: Any,
        /,
    ) -> list[Clause]:
        """Return the clauses of a plan with the pieces of words that may be written apart, and with substitutes."""

EXPANDED_WORDS: int
NOTHING_LEFT_OUT: Mapping[int, str]
SHARE_STRENGTH: float
SHARE_EXPONENT_MAX: float
COMPLETION_SHARES: tuple[float, ...]

def words_together(
    terms: Terms, folds: bool, rarely: _Rarely, sources: list[WordSource] | None = None
) -> dict[bytes, tuple[int, ...]]: ...
def families_of(
    statistics: _Statistics,
    terms: Terms,
    matching: _Matching | None,
    besides: Iterable[bytes],
    rarely: _Rarely,
) -> tuple[list[TermInfo | None], _HeldForms, _HeldForms, list[tuple[bytes, TermInfo]]]: ...
def add_doubtful(clauses: list[Clause], doubtful: _HeldForms, objects: int) -> None: ...
def find_pieces(
    statistics: _Statistics,
    clauses: list[Clause],
    terms: Terms,
    folds: bool,
    rarely: _Rarely,
    sources: list[WordSource] | None = None,
    partly: bool = True,
) -> dict[int, list[_Piece]]: ...
def last_of(clauses: list[Clause], terms: Terms) -> Clause | None: ...
def may_go_on(word: bytes) -> bool: ...
def complete(
    statistics: _Statistics, last: Clause, clauses: list[Clause], search: _Settings, rarely: _Rarely
) -> None: ...
def read_unknown(
    statistics: _Statistics,
    clauses: list[Clause],
    terms: Terms,
    pieces: dict[int, list[_Piece]],
    last: Clause | None,
    matching: _Matching | None,
    search: _Settings,
    rarely: _Rarely,
) -> None: ...
def complete_last(
    statistics: _Statistics,
    last: Clause | None,
    clauses: list[Clause],
    terms: Terms,
    search: _Settings,
    rarely: _Rarely,
) -> None: ...
def plan_words(
    statistics: _Statistics,
    terms: Terms,
    matching: _Matching | None,
    search: _Settings,
    fills: Callable[[Plan], bool] | None,
    rarely: _Rarely,
    match: str = "auto",
    demanded: Callable[[list[Clause], Clause | None], list[Clause]] | None = None,
) -> Plan: ...
