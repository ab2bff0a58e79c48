from collections.abc import Iterator
from typing import Any, final

from sonicpy._native.mask import Mask
from sonicpy._native.readers import PutOff

PHRASE_WORDS_MAX: int

class CheckedTooMany(PutOff): ...

@final
class Allowance:
    left: int
    def __init__(self, left: int) -> None: ...

@final
class Phrase(Mask):
    checked: int
    def __init__(
        self,
        windows: int,
        among: Mask,
        reader: Any,
        bucket: int,
        places: list[list[int]],
        allowance: Allowance | None = None,
    ) -> None: ...
    def those(self, iids: list[int]) -> list[int]: ...
    def made_in_steps(self) -> Iterator[None]: ...
