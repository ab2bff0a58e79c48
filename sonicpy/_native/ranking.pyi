from collections.abc import Callable
from typing import Any, Protocol, type_check_only

from sonicpy._native.object_table import ObjectTable
from sonicpy._native.postings import PostingList, TermInfo
from sonicpy._native.text import Terms

@type_check_only
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
    def add_alternate(self, postings: PostingList | list[bytes], dead: int, weight: float, completed: bool) -> None: ...
    def add_terms(
        self,
        reader: Reader,
        terms: Terms,
        objects: int,
        wanted: int,
        corrected_max: int,
        others: Callable[[int, bytes, int, float], None],
        trace: Any,
    ) -> None: ...
    def bm25(self, lengths: bytes | bytearray, average: float, k1: float, b: float) -> None: ...
    def parts(
        self, iids: list[int], most: int, lengths: bytes | bytearray, average: float, k1: float, b: float
    ) -> list[tuple[list[tuple[int, int, float]], int, float]]: ...
    def newest(self) -> None: ...
