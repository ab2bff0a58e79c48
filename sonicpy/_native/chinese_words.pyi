from typing import final

from _typeshed import ReadableBuffer

@final
class ChineseWords:
    def __init__(self, buffer: ReadableBuffer) -> None: ...
    def cut(self, text: str) -> list[str]: ...
