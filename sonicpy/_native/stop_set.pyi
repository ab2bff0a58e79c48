from collections.abc import Iterable
from typing import Self, final

@final
class StopSet:
    def __new__(cls, words: Iterable[bytes]) -> Self: ...
    def __contains__(self, word: bytes, /) -> bool: ...
