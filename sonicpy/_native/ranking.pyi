from collections.abc import Callable
from typing import Any, Protocol

from sonicpy._native.object_table import ObjectTable
from sonicpy._native.postings import PostingList
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms

class Reader(Protocol):
    def words(self, terms: list[bytes]) -> list[TermInfo | None]: ...
    def postings(self, word: TermInfo) -> PostingList | list[bytes]: ...

def shown_score(whole: int, kind: int, score: float, ceiling: float, fraction_max: float) -> float: ...

class Ranker(ObjectTable):
    ceiling: float
    is_empty: bool
    def __init__(self) -> None: ...
    def best_shown(self, offset: int, limit: int, whole: int, fraction_max: float) -> tuple[list[int], list[float]]: ...
    def add(
        self,
        postings: PostingList | list[bytes],
        dead: int,
        weight: float,
        *,
        required: bool = False,
        inserts: bool = True,
    ) -> None: ...
    def add_expansion(self, postings: PostingList | list[bytes], dead: int, weight: float, completed: bool) -> None: ...
    def add_terms(
        self,
        reader: Reader,
        terms: Terms,
        objects: int,
        wanted: int,
        expanded_max: int,
        expand: Callable[[int, bytes, int, float], None],
        trace: Any,
    ) -> None: ...
    def bm25(self, lengths: bytes | bytearray, average: float, k1: float, b: float) -> None: ...
    def parts(
        self, iids: list[int], listed_max: int, lengths: bytes | bytearray, average: float, k1: float, b: float
    ) -> list[tuple[list[tuple[int, int, float]], int, float]]: ...
    def newest(self) -> None: ...
