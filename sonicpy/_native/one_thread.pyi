from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

class OneThread:
    thread: int | None
    def do(self, work: Callable[[], _Result]) -> _Result: ...
    def end(self) -> None: ...
    def run(self) -> None: ...
