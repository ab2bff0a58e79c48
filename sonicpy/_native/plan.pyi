from collections.abc import Iterable, Mapping
from typing import final

from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms

@final
class PlannedList:
    term: int
    word: bytes
    row: TermInfo | None
    weight: float
    family_weight: float
    exact_weight: float
    edits: int
    required: bool
    inserts: bool
    is_expandable: bool
    is_form: bool
    def __init__(
        self,
        term: int,
        word: bytes,
        row: TermInfo | None,
        weight: float,
        how: str = "exact",
        edits: int = 0,
        *,
        required: bool = False,
        inserts: bool = True,
        is_expandable: bool = False,
        family_weight: float = 0.0,
        exact_weight: float = 0.0,
    ) -> None: ...
    @property
    def how(self) -> str: ...

@final
class Plan:
    lists: list[PlannedList]
    left_out: Mapping[int, str]
    enough: int | None
    def __init__(self, lists: list[PlannedList], left_out: Mapping[int, str], enough: int | None) -> None: ...
    def rows(self) -> list[TermInfo]: ...

def plan_terms(
    terms: Terms,
    rows: list[TermInfo | None],
    objects: int,
    wanted: int,
    expandable_max: int,
    families: dict[int, list[tuple[bytes, TermInfo]]] | None = None,
) -> list[PlannedList]: ...
def are_expandable(lists: list[PlannedList]) -> bool: ...
def rows_of(lists: list[PlannedList]) -> list[TermInfo]: ...
def plan_expansions(
    exact: PlannedList, others: Iterable[tuple[bytes, TermInfo, float, str, int]], objects: int
) -> list[PlannedList]: ...
def content_size(lists: list[PlannedList], flags: bytes) -> float: ...
def let_stop_words_search(lists: list[PlannedList]) -> list[PlannedList]: ...
