from collections.abc import Sequence

from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import Mask

class InRange(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], low: int, high: int) -> None: ...

class OneOf(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], values: Sequence[int]) -> None: ...

class Near(Mask):
    def __init__(self, windows: int, columns: list[ColumnWindow | None], point: int, meters: float) -> None: ...
