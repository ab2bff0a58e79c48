from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Generic, TypeVar

_Unchecked = Callable[[], tuple[type, Container[Any]]]
_Kind = TypeVar("_Kind", bound=tuple[Any, ...])

class HasUsual:
    def __init__(self, usual: tuple[Any, ...], places: Sequence[int]) -> None: ...
    def __call__(self, found: tuple[Any, ...]) -> bool: ...

class Maker(Generic[_Kind]):
    def __init__(
        self,
        kind: type[_Kind],
        usual: tuple[Any, ...],
        checks: Mapping[str, tuple[int, Callable[[str, Any], Any], _Unchecked | None]],
        unknown: Callable[[str, Any], object],
    ) -> None: ...
    def make(self, first: tuple[Any, ...], named: Mapping[str, Any]) -> _Kind: ...
