from collections.abc import Sequence
from typing import Literal, final

from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import Mask
from sonicpy.store.views.beside_words import ColumnRows

@final
class LazyWindows:
    def __init__(self, reader: ColumnRows, column: int, known: list[ColumnWindow | Literal[False] | None]) -> None: ...
    def at(self, window: int) -> ColumnWindow | None: ...

_Windows = LazyWindows | list[ColumnWindow | None]

@final
class InRange(Mask):
    def __init__(self, windows: int, columns: _Windows, low: int, high: int) -> None: ...

@final
class OneOf(Mask):
    def __init__(self, windows: int, columns: _Windows, values: Sequence[int]) -> None: ...

@final
class Near(Mask):
    def __init__(self, windows: int, columns: _Windows, point: int, meters: float) -> None: ...
