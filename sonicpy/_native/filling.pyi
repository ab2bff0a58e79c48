from collections.abc import Callable
from typing import Any

from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms

def carry_out(
    lexicon: Any,
    terms: Terms,
    matching: Any,
    search: Any,
    rarely: Any,
    make: Callable[..., Any],
    wanted: int,
    window: int,
    total: bool,
    mask: Mask | None,
    share: Callable[[], float] | None,
    match: str = "auto",
) -> tuple[Plan, Any]: ...

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
