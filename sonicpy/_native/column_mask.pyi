from collections.abc import Sequence
from typing import final

from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import Mask

@final
class InRange(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], low: int, high: int) -> None: ...

@final
class OneOf(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], values: Sequence[int]) -> None: ...

@final
class Near(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], point: int, meters: float) -> None: ...
