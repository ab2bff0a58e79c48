from typing import TypeVar

from sonicpy._native.plan import Clause
from sonicpy._native.terms import Terms

_Statistics = TypeVar("_Statistics")  # those of index/search/statistics.py
_Matching = TypeVar("_Matching")

def core_of(word: bytes) -> bytes: ...
def add_inner(statistics: _Statistics, clauses: list[Clause], terms: Terms, matching: _Matching | None) -> None: ...
