from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import Mask

def best_by_value(
    mask: Mask,
    columns: list[ColumnWindow | None],
    wanted: int,
    *,
    descending: bool = False,
    point: int | None = None,
    after: tuple[int, int] | None = None,
) -> list[tuple[int, int]]: ...
def count_ranges(mask: Mask, columns: list[ColumnWindow | None], bounds: list[int]) -> list[int]: ...
def distinct_values(mask: Mask, columns: list[ColumnWindow | None]) -> tuple[set[int], int]: ...
