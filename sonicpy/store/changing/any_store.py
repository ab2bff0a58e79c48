"""The store as an index needs it, whether that can be changed, can only be read, or is closed.

Store           reads and changes
ReadOnlyStore   reads, and refuses changes
ClosedStore     refuses everything
EndedStore      the same, while the interpreter ends
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from sonicpy._native.terms import Terms
from sonicpy.errors import IndexClosed, StoreError
from sonicpy.rules import FIRST
from sonicpy.store.changing.mutations import Mutation, PushTerms
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.environment import Reader
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

Answer = TypeVar("Answer")

LONG_S = 3600.0
"""Longer than an interpreter takes to end."""


class AnyStore(Protocol):
    """The methods and attributes that every store has; `Store` documents them.

    Raises (each of them):
        ReadOnly: a change of a store that is open for reading only.
        IndexClosed: the store was closed.
    """

    @property
    def folder(self) -> Path: ...
    @property
    def durability(self) -> str: ...
    @property
    def uncommitted(self) -> int: ...
    @property
    def recoveries(self) -> int: ...
    @property
    def refusing(self) -> bool: ...
    @property
    def log_position(self) -> int: ...
    @property
    def checkpoint(self) -> int: ...
    @property
    def has_dropped(self) -> bool: ...
    @property
    def has_removals(self) -> bool: ...

    def reading(self, then: Callable[..., Any] | None = None, *args: Any) -> AbstractContextManager[Any]: ...
    def snapshot(self) -> AbstractContextManager[View]: ...
    def readable_stamp(self) -> int | None: ...
    def backup(self, folder: Path) -> Path: ...
    def readers(self) -> list[Reader]: ...
    def last_commit(self) -> int: ...
    def size_bytes(self) -> int: ...
    def map_bytes(self) -> int: ...
    def log_bytes(self) -> int: ...
    def pending_buckets(self) -> set[int]: ...
    def is_behind(self, collection: str, bucket: str | None) -> bool: ...
    def drop_idle_reads(self) -> None: ...
    def share_changes(self) -> ChangeBoard: ...

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int = ...) -> None: ...
    def apply(self, mutation: Mutation, *, in_steps: bool = False) -> int: ...
    def take_step(self) -> bool: ...
    def apply_pushes(self, pushes: Sequence[PushTerms], *, new: bool = False) -> list[int]: ...
    def maintain(self, work: Callable[[WriteView], Answer]) -> Answer: ...
    def flush_term_rows(self) -> None: ...
    def seal(self) -> None: ...
    def commit(self) -> None: ...
    def refuse(self, why: str | None) -> None: ...
    def sync_log(self) -> int: ...
    def sync(self) -> None: ...
    def shorten_log(self) -> None: ...
    def note_server(self, url: str) -> None: ...
    def sweep(self, rows: int) -> bool: ...
    def take_flushed(self) -> dict[int, int]: ...
    def forget_pending_bucket(self, bucket: int) -> None: ...

    def leave_to_parent(self) -> None: ...
    @property
    def is_closed(self) -> bool: ...
    def close(self, seconds: float = ...) -> None: ...


class RefusesChanges:
    """The changes of a store that takes none: each raises the error of `refusal`."""

    def refusal(self) -> StoreError:
        """Return why changes are refused."""
        raise NotImplementedError

    @property
    def refusing(self) -> bool:
        """Whether changes are refused because a commit failed: none was tried."""
        return False

    @property
    def log_position(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def has_removals(self) -> bool:
        """Whether something is half gone, which whoever changes the store has to finish."""
        return False

    @property
    def checkpoint(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int = FIRST) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def apply(self, mutation: Mutation, *, in_steps: bool = False) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def take_step(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def apply_pushes(self, pushes: Sequence[PushTerms], *, new: bool = False) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def maintain(self, work: Callable[[WriteView], Answer]) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def flush_term_rows(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def share_changes(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def seal(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def commit(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def refuse(self, why: str | None) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def sync_log(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def sync(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def shorten_log(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def note_server(self, url: str) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def sweep(self, rows: int) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def take_flushed(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def forget_pending_bucket(self, bucket: int) -> NoReturn:
        """Refuse."""
        raise self.refusal()


class ClosedStore(RefusesChanges):
    """Takes the place of a store that was closed: everything raises IndexClosed.

    Args:
        reason: the message, which says what to do.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def refusal(self) -> IndexClosed:
        """Return why everything is refused."""
        return IndexClosed(self._reason)

    @property
    def folder(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def durability(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def uncommitted(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def recoveries(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def refusing(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def has_dropped(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def has_removals(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def last_commit(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def reading(self, *_: object) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def snapshot(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def readable_stamp(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def backup(self, folder: Path) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def readers(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def size_bytes(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def map_bytes(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def log_bytes(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def pending_buckets(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def is_behind(self, *_: object) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def drop_idle_reads(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""
        return True

    def leave_to_parent(self) -> NoReturn:
        """Refuse."""
        raise self.refusal()

    def close(self, seconds: float = 0.0) -> NoReturn:
        """Refuse."""
        raise self.refusal()


class EndedStore(ClosedStore):
    """Takes the place of a store when the interpreter ends: on another thread, which ends too, everything waits.

    An error there would be printed while the interpreter closes its files, which may end it with a crash.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._thread = threading.get_ident()

    def refusal(self) -> IndexClosed:
        """Return why everything is refused."""
        while threading.get_ident() != self._thread:
            time.sleep(LONG_S)
        return super().refusal()
