from collections.abc import Callable
from typing import Self, final

from sonicpy._native.stop_set import StopSet
from sonicpy._native.terms import Terms

def prepared(text: str) -> str: ...

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
        marks_are_words: bool = False,
        rules_special: bool = False,
        whole_pieces: bool = False,
        stops_in_any_form: bool = False,
        rules: int = 1,
        prepares: bool = False,
        keeps_order: bool = False,
    ) -> None: ...

@final
class BoundAnalyzer:
    def __new__(
        cls,
        analyzer: Analyzer,
        stops: StopSet | None = None,
        drop_stops: bool = False,
        stem: Callable[[str], str] | None = None,
        segment: Callable[[str], list[str]] | None = None,
        joints: bool = False,
    ) -> Self: ...
    def analyze(self, text: str) -> Terms: ...
