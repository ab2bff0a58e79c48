from collections.abc import Callable
from typing import Any

from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan

class Filling:
    part: Any
    def __init__(
        self,
        make: Callable[..., Any],
        find: Callable[[Plan], Any] | None,
        reader: Any,
        wanted: int,
        window: int,
        mask: Mask | None,
        objects: int,
        share: Callable[[], float] | None,
    ) -> None: ...
    def __call__(self, plan: Plan) -> bool: ...
