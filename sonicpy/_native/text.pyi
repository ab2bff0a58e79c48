from collections.abc import Callable, Iterable
from typing import final

SPECIAL: int
STOP: int
PART: int

@final
class StopSet:
    def __init__(self, words: Iterable[bytes]) -> None: ...
    def __contains__(self, word: bytes, /) -> bool: ...

class Terms:
    words: list[bytes]
    counts: bytes
    flags: bytes
    typed: list[int]
    def __init__(self, words: list[bytes], counts: bytes, flags: bytes, typed: list[int] | None = None) -> None: ...
    def __len__(self) -> int: ...

@final
class Analyzer:
    def __init__(
        self,
        normalize: Callable[[str], str],
        *,
        always_normalize: bool = False,
        composes: bool = True,
        patterns: bool = True,
        split_patterns: bool = True,
        fold_special: bool = True,
        at_borders: bool = True,
        bigrams: bool = False,
        words_of_run: Callable[[str], list[str]] | None = None,
    ) -> None: ...
    def cut(
        self,
        text: str,
        stops: StopSet | None = None,
        drop_stops: bool = False,
        stem: Callable[[str], str] | None = None,
        segment: Callable[[str], list[str]] | None = None,
    ) -> Terms: ...

@final
class BoundAnalyzer:
    def __init__(
        self,
        cutter: Analyzer,
        stops: StopSet | None = None,
        drop_stops: bool = False,
        stem: Callable[[str], str] | None = None,
        segment: Callable[[str], list[str]] | None = None,
    ) -> None: ...
    def cut(self, text: str) -> Terms: ...

def word_borders(text: str) -> list[int]: ...
