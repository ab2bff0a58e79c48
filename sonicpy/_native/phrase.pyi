from typing import Any, final

from sonicpy._native.mask import Mask

PHRASE_WORDS_MAX: int

@final
class Phrase(Mask):
    checked: int
    def __init__(self, windows: int, among: Mask, reader: Any, bucket: int, places: list[list[int]]) -> None: ...
    def those(self, iids: list[int]) -> list[int]: ...
