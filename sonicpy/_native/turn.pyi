from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, overload

from sonicpy._native.readers import OpenTransactions

_Begun = TypeVar("_Begun")
_Begun_co = TypeVar("_Begun_co", covariant=True)

class _Owner(Protocol):
    is_torn: bool
    view: Any

class Turn:
    open: OpenTransactions[Any] | None
    owner: _Owner | None
    finish: Callable[[], object] | None
    batches: int
    apart: int
    is_mine: bool
    @overload
    def hold(
        self,
        begin: None = None,
        end: Callable[[BaseException | None], object] | None = None,
        batches: int = 0,
        apart: int = 0,
    ) -> Hold[None]: ...
    @overload
    def hold(
        self,
        begin: Callable[[], _Begun],
        end: Callable[[BaseException | None], object] | None = None,
        batches: int = 0,
        apart: int = 0,
    ) -> Hold[_Begun]: ...
    def do(self, work: Callable[[], object], seconds: float) -> bool: ...
    def give_back(self) -> None: ...
    def share(self, open: OpenTransactions[Any]) -> bool: ...
    def end(self, seconds: float) -> bool: ...
    def renew(self) -> None: ...

class Hold(Generic[_Begun_co]):
    def __enter__(self) -> _Begun_co: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
