from collections.abc import Iterable
from typing import final

@final
class StemEnds:
    def __init__(self, taken: Iterable[str], changed: dict[str, str]) -> None: ...
    def may_have(self, words: list[str], stem: str) -> list[str]: ...
