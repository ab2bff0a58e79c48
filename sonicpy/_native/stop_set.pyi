from collections.abc import Iterable
from typing import final

@final
class StopSet:
    def __init__(self, words: Iterable[bytes]) -> None: ...
    def __contains__(self, word: bytes) -> bool: ...
