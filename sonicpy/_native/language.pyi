import os
from collections.abc import Container

UNCLEAR: str

class Detector:
    """A mapped language table; see language.pyx."""

    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    def guess(self, text: str) -> tuple[str | None, float]: ...
    def guess_with(self, text: str, evidence: list[tuple[str, float]]) -> str | None: ...
    def scores(self, text: str) -> dict[str, float]: ...

class ClearTexts:
    """Guesses of texts whose letters alone decide; see language.pyx."""

    def __init__(
        self, detector: Detector, known: Container[str], min_bytes: int, max_bytes: int, sure_lead: float
    ) -> None: ...
    def guess(self, text: str) -> str | None: ...
