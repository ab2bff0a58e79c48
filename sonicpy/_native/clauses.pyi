from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from sonicpy._native.plan import Clause, Plan
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms
from sonicpy._native.word_source import WordSource

HELD_PIECE_LETTERS_MIN: int
"""The least number of letters of each of the two words that a word is cut into although objects hold it."""

_Matching = TypeVar("_Matching")

def without_family(terms: Terms) -> int: ...

class _Needed(Protocol):
    def needed(self, terms: Terms, /) -> set[int]: ...

def other_words(
    terms: Terms,
    matching: _Matching | None,
    family: Callable[[bytes, _Matching], tuple[tuple[bytes, ...], tuple[bytes, ...]]],
    same_numbers: Callable[[bytes], Iterable[bytes]],
    spelled: Callable[[bytes], tuple[bytes, ...]],
) -> tuple[dict[int, tuple[bytes, ...]], dict[int, tuple[bytes, ...]]]: ...
def whole_clauses(clauses: list[Clause], terms: Terms) -> list[Clause]: ...
def cuttable_clauses(clauses: list[Clause], terms: Terms, sources: list[WordSource] | None = None) -> list[Clause]: ...
def run_clauses(clauses: list[Clause], terms: Terms) -> list[Clause]: ...
def bringing_clause(clauses: list[Clause], term: int) -> Clause | None: ...
def add_completions(
    last: Clause,
    clauses: list[Clause],
    begun: list[tuple[bytes, TermInfo, int]],
    long_from: int,
    longest_from: int,
    shares: tuple[float, ...],
    objects: int,
) -> tuple[set[bytes], int]: ...
def add_misspelt(
    clause: Clause,
    likeliest: list[tuple[bytes, TermInfo, int]],
    weight: float,
    objects: int,
    ends: tuple[int, ...],
    shares: tuple[float, ...],
) -> None: ...
def require_held(clauses: list[Clause]) -> bool: ...
def set_match(clauses: list[Clause], terms: Terms, match: str, rarely: _Needed) -> None: ...
def may_fill(plan: Plan, wanted: int, objects: int, together: float) -> bool: ...
