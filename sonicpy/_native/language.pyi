import os
from collections.abc import Container
from typing import Self

UNCLEAR: str

class Detector:
    def __new__(cls, path: str | os.PathLike[str]) -> Self: ...
    def guess(self, text: str) -> tuple[str | None, float]: ...
    def guess_with(self, text: str, evidence: list[tuple[str, float]]) -> str | None: ...
    def scores(self, text: str) -> dict[str, float]: ...

class ClearTexts:
    def __new__(
        cls,
        path: str | os.PathLike[str],
        known: Container[str],
        min_bytes: int,
        max_bytes: int,
        sure_lead: float,
    ) -> Self: ...
    @property
    def detector(self) -> Detector: ...
    def guess(self, text: str) -> str | None: ...
