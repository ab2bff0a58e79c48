from collections.abc import Callable
from typing import Any

from sonicpy._native.mask import Mask

class NewestPages:
    def __init__(
        self,
        reader: Any,
        tags: Any,
        columns: Any,
        windows: int,
        has_tag: type,
        in_range: type,
        all_of: type,
        mask_of: Callable[[list[Any]], Mask],
    ) -> None: ...
    def names(self, condition: Any, offset: int, limit: int) -> list[str] | None: ...
    def iids(self, condition: Any, wanted: int) -> list[int] | None: ...
