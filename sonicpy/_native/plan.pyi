from collections.abc import Iterable, Mapping
from typing import final

from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms

ADDS: int
BRINGS: int
REQUIRED: int
FORBIDDEN: int

@final
class Slot:
    words: tuple[bytes, ...]
    weight: float
    exact_weight: float
    edits: int
    together: tuple[int, ...]
    term: int
    def __init__(
        self,
        words: tuple[bytes, ...],
        weight: float,
        exact_weight: float = 0.0,
        how: str = "exact",
        edits: int = 0,
        together: tuple[int, ...] = (),
        term: int = -1,
    ) -> None: ...
    @property
    def how(self) -> str: ...

@final
class Clause:
    term: int
    role: int
    weight: float
    slots: list[Slot]
    is_expandable: bool
    holders: int
    def __init__(
        self, term: int, role: int, weight: float, slots: list[Slot], *, is_expandable: bool = False, holders: int = 0
    ) -> None: ...

@final
class Plan:
    clauses: list[Clause]
    average: float
    exponent: float
    full_first: bool
    left_out: Mapping[int, str]
    enough: int | None
    phrases: tuple[tuple[bool, tuple[tuple[bytes, ...], ...]], ...]
    def __init__(
        self,
        clauses: list[Clause],
        average: float,
        exponent: float,
        *,
        full_first: bool,
        left_out: Mapping[int, str],
        enough: int | None,
    ) -> None: ...
    @property
    def ceiling(self) -> float: ...
    def words(self) -> list[bytes]: ...

def plan_terms(
    terms: Terms,
    rows: list[TermInfo | None],
    objects: int,
    wanted: int,
    expandable_max: int,
    families: dict[int, list[tuple[bytes, TermInfo]]] | None = None,
) -> list[Clause]: ...
def add_joined(clause: Clause, words: list[bytes], held: dict[bytes, TermInfo], objects: int) -> None: ...
def add_forms(clause: Clause, forms: list[tuple[bytes, TermInfo]], objects: int) -> None: ...
def add_expansions(clause: Clause, others: Iterable[tuple[bytes, TermInfo, float, str, int]], objects: int) -> None: ...
def by_length(
    begun: list[tuple[bytes, TermInfo, int]], letters: int, long_from: int, longest_from: int, but: set[bytes]
) -> tuple[tuple[list[bytes], list[bytes], list[bytes]], int]: ...
def content_size(clauses: list[Clause], flags: bytes) -> float: ...
def let_stop_words_search(clauses: list[Clause]) -> None: ...
