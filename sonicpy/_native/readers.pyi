import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from sonicpy._native.one_thread import OneThread
from sonicpy._native.turn import Turn

_Made = TypeVar("_Made")
_Shown_co = TypeVar("_Shown_co", covariant=True)

class _Source(Protocol):
    is_torn: bool
    @property
    def harmless(self) -> tuple[type[BaseException], ...]: ...
    def show(self, transaction: Any, /) -> Any: ...
    def shown_now(self) -> Any: ...

class PutOff(Exception): ...

class OpenTransactions(Generic[_Made]):
    commits: int
    growing: int
    awaited: int
    changing: threading.Lock
    writer: _Made | None
    own_writer: _Made | None
    is_lost: bool
    turn: Any
    worker: OneThread | None
    is_here: bool
    is_worked_here: bool
    def __init__(
        self,
        idle_max: int,
        begin: Callable[[bool], Any],
        wrap: Callable[[Any, bool, int], _Made],
        resized: type[BaseException],
        use_new_size: Callable[[OpenTransactions[_Made]], object],
    ) -> None: ...
    def is_elsewhere(self, besides: int | None = None) -> bool: ...
    def look_up(self, table: int, key: bytes) -> bytes | None: ...
    def drop(self) -> None: ...
    def note_commit(self) -> None: ...
    def leave_to_parent(self) -> None: ...
    def begin_write(self, holder: Turn | None = None) -> _Made: ...
    def begin_here(self, thread: int | None = None, holder: Turn | None = None) -> _Made: ...
    def commit(self) -> None: ...
    def commit_here(self) -> None: ...
    def abort(self) -> None: ...
    def abort_here(self) -> None: ...

class Reading(Generic[_Shown_co]):
    def __init__(
        self,
        open: OpenTransactions[Any],
        store: _Source | None = None,
        of_now: bool = False,
        then: Callable[..., _Shown_co] | None = None,
        args: tuple[Any, ...] = (),
        failure: type[BaseException] | tuple[type[BaseException], ...] | None = None,
        failed: Callable[[Any], BaseException] | None = None,
    ) -> None: ...
    def __enter__(self) -> _Shown_co: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
