from collections.abc import Iterable
from typing import Any

class PlainLine:
    def __init__(
        self,
        name: bytes,
        result: object,
        words: int = 0,
        has_text: bool = False,
        rest: tuple[object, ...] = (),
        *,
        limit_maximum: int = 0,
        has_offset: bool = False,
        lang_codes: frozenset[str] = frozenset(),
    ) -> None: ...

class PlainReader:
    def __init__(self, lines: Iterable[PlainLine]) -> None: ...
    def read(self, line: bytes) -> Any: ...
