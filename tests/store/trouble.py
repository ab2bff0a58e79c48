"""Writes that fail on purpose: the calls to the storage that raise errors, and the number of calls."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.changing.any_store import Maintainable
from sonicpy.store.disk.log import Log
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.views.write_view import WriteView

WRITES = ("put", "put_many", "append", "delete", "delete_rows")


@dataclass
class Calls:
    """The number of attempted writes; those whose number, from 0 on, is in `failing` raised an error."""

    failing: Collection[int]
    made: int = 0


@contextmanager
def failing_writes(failing: Collection[int], fault: Callable[[], StoreError]) -> Iterator[Calls]:
    """Make the numbered writes of all transactions raise `fault()`."""
    calls = Calls(failing)

    def wrapped(write: Callable[..., Any]) -> Callable[..., Any]:
        def try_to_write(self: Transaction, *args: Any, **named: Any) -> Any:
            calls.made += 1
            if calls.made - 1 in calls.failing:
                raise fault()
            return write(self, *args, **named)

        return try_to_write

    originals = {name: getattr(Transaction, name) for name in WRITES}
    with mock.patch.multiple(Transaction, **{name: wrapped(write) for name, write in originals.items()}):
        yield calls


class Failed(Exception):
    """An error of the work inside a transaction."""


def roll_back(store: Maintainable) -> None:
    """Undo unsealed changes of a store, as it does itself when the log cannot be written, and reload its tables."""

    def fail(view: WriteView) -> None:
        raise Failed

    with mock.patch.object(Log, "append", side_effect=StoreFull("no room")), suppress(StoreFull):
        store.seal()
    with suppress(Failed):
        store.maintain(fail)
