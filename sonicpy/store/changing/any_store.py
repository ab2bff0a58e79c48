"""The interface of a store for an index: writable, read-only, or closed.

Readable        the protocol of reads and sizes
Writable        also of changes, up to their commit
Maintainable    also of the steps that keep a store fast and safe
AnyStore        also of closing

Store           has all methods
ReadOnlyStore   reads, and refuses the rest
ClosedStore     refuses everything
EndedStore      refuses everything, or waits, while the interpreter ends
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar, cast

from sonicpy._native.terms import Terms
from sonicpy.errors import IndexClosed, StoreError
from sonicpy.store.changing.mutations import AnyPush, Fields, Mutation
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.environment import ReaderSlot
from sonicpy.store.disk.late_commits import LateCommits
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

Value = TypeVar("Value")

LONG_S = 3600.0
"""The seconds that a refused call waits: longer than an interpreter takes to end."""


class Readable(Protocol):
    """The methods that read a store or return its sizes; `StoreReader` and `Store` document them.

    Raises (each method, also of the protocols below):
        ReadOnly: a change of a store that is open for reading only.
        IndexClosed: the store was closed.
    """

    @property
    def folder(self) -> Path: ...
    @property
    def recoveries(self) -> int: ...
    @property
    def undone(self) -> int: ...
    @property
    def late(self) -> LateCommits | None: ...

    def reading(self, then: Callable[..., Any] | None = None, *args: Any) -> AbstractContextManager[Any]: ...
    def snapshot(self) -> AbstractContextManager[View]: ...
    def readable_stamp(self) -> int | None: ...
    def backup(self, folder: Path) -> Path: ...
    def readers(self) -> list[ReaderSlot]: ...
    def last_commit(self) -> int: ...
    def size_bytes(self) -> int: ...
    def map_bytes(self) -> int: ...
    def log_bytes(self) -> int: ...
    def pending_buckets(self) -> set[int]: ...
    def is_behind(self, collection: str, bucket: str | None) -> bool: ...
    def drop_idle_reads(self) -> None: ...


class Writable(Readable, Protocol):
    """The methods that change a store, from the call to the disk; `Store` documents them."""

    @property
    def durability(self) -> str: ...
    @property
    def uncommitted(self) -> int: ...
    @property
    def refusing(self) -> bool: ...
    @property
    def log_position(self) -> int: ...

    def push(
        self, collection: str, bucket: str, oid: str, terms: Terms, rules: int = ..., order: bytes | None = ...
    ) -> None: ...
    def push_with_vector(
        self, collection: str, bucket: str, oid: str, terms: Terms, fields: Fields, rules: int = ...
    ) -> bool: ...
    def upsert(self, collection: str, bucket: str, oid: str, terms: Terms, digest: bytes, rules: int = ...) -> bool: ...
    def flush_object(self, collection: str, bucket: str, oid: str, *, in_steps: bool) -> int | None: ...
    def apply(self, mutation: Mutation, *, in_steps: bool = False) -> int: ...
    def apply_pushes(self, pushes: Sequence[AnyPush], *, new: bool = False) -> list[int]: ...
    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool: ...
    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]: ...
    def seal(self) -> None: ...
    def sync_log(self) -> int: ...
    def commit(self) -> None: ...
    def refuse(self, why: str | None) -> None: ...
    def note_server(self, url: str) -> None: ...
    def share_changes(self) -> ChangeBoard: ...


class Maintainable(Writable, Protocol):
    """The methods that keep a store fast and safe; `Store` documents them."""

    @property
    def checkpoint(self) -> int: ...
    @property
    def has_dropped(self) -> bool: ...
    @property
    def has_removals(self) -> bool: ...
    @property
    def is_read_elsewhere(self) -> bool: ...
    @property
    def uncommitted_bytes(self) -> int: ...
    @property
    def created_words(self) -> int: ...

    def maintain(self, work: Callable[[WriteView], Value]) -> Value: ...
    def take_step(self) -> bool: ...
    def flush_term_rows(self) -> None: ...
    def write_many_buckets(self) -> None: ...
    def sync(self) -> None: ...
    def has_much_free(self) -> bool: ...
    def free_disk(self) -> bool: ...
    def shorten_log(self) -> None: ...
    def sweep(self, rows: int) -> bool: ...
    def take_flushed(self) -> dict[int, int]: ...
    def forget_bucket(self, bucket: int) -> None: ...


class AnyStore(Maintainable, Protocol):
    """All methods of a store that an index needs."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def is_worked_here(self) -> bool: ...
    def leave_to_parent(self) -> None: ...
    def close(self, seconds: float = ...) -> None: ...


class Refusing(Protocol):
    """A store without some methods of a protocol, and with an error that refuses them."""

    def refusal(self) -> StoreError:
        """Return the error that the missing methods raise."""


RefusingT = TypeVar("RefusingT", bound=Refusing)


def refuses(protocol: type, *, besides: type = object) -> Callable[[type[RefusingT]], type[RefusingT]]:
    """Return a decorator that adds to a class the members of a protocol that it lacks; each raises its `refusal`.

    Args:
        besides: a protocol whose members are not added: the class has them, perhaps as attributes of its instances.
    """

    def refuse(store: Refusing) -> NoReturn:
        raise store.refusal()

    def complete(kind: type[RefusingT]) -> type[RefusingT]:
        for name in members(protocol) - members(besides):
            if not hasattr(kind, name):
                setattr(kind, name, property(refuse))
        return kind

    return complete


def members(protocol: type) -> set[str]:
    """Return the names of the members of a protocol."""
    return {name for base in protocol.__mro__ for name in vars(base) if not name.startswith("_")}


@refuses(AnyStore)
class ClosedStore:
    """Takes the place of a closed store: every member raises IndexClosed.

    Args:
        reason: the message of the error.
    """

    is_closed = True

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def refusal(self) -> IndexClosed:
        """Return the error that every member raises."""
        return IndexClosed(self._reason)

    def instead(self) -> AnyStore:
        """Return this object, typed as the store that it replaces."""
        return cast(AnyStore, self)


ENDED = "was closed when the program ended: register functions of atexit that use an index after it is opened"
"""The end of a reason for an EndedStore."""


class EndedStore(ClosedStore):
    """Takes the place of a store when the interpreter ends: every call on another thread waits until the thread ends.

    An error on such a thread would be printed while the interpreter closes its files, which may crash the process.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._thread = threading.get_ident()

    def refusal(self) -> IndexClosed:
        """Return the error that every member raises."""
        while threading.get_ident() != self._thread:
            time.sleep(LONG_S)
        return super().refusal()
