"""Sealing, as connections see it: their changes are durable before their replies are sent."""

import asyncio
from typing import Any, Protocol

from sonicpy.errors import StoreError


class Writer(Protocol):
    """A connection that changes something."""

    def end_seal(self, out: list[bytes], promises: list[int], error: StoreError | None, *, may_have_read: bool) -> None:
        """Send the replies of a turn, whose changes the log holds now; with an error, they were undone.

        It must not raise an exception.

        Args:
            out: the replies.
            promises: the places in `out` of the replies that confirm changes.
            error: the error that undid the changes, or None.
            may_have_read: the turn may have read changes of other connections, which were undone, too.
        """


class Sealer:
    """Makes the changes of turns durable. This class serves connections that change nothing.

    Attributes:
        is_waiting: turns of this pass have made changes that the log does not hold yet.
    """

    @property
    def is_waiting(self) -> bool:
        return False

    def seal(self, connection: object) -> "asyncio.Future[Any] | None":
        """Make the changes of a connection's turn durable.

        Returns:
            None: the changes may be acknowledged now; else the future to wait for first.

        Raises:
            StoreError: the changes are undone.
        """
        return None

    def seal_with_pass(self, connection: Writer, out: list[bytes], promises: list[int]) -> bool:
        """Seal a turn with the other turns of this pass of the loop; return False if `seal` has to be called instead.

        Args:
            connection: its `end_seal` is called with the other arguments once the turn is sealed.
        """
        return False

    def settle(self) -> StoreError | None:
        """Seal all turns of this pass; return the error that undid their changes, or None."""
        return None

    def note_turn_without_changes(self) -> StoreError | None:
        """Note a turn without changes, whose replies may show the changes of others; return the result of `settle`."""
        return None

    async def remove(self) -> None:
        """Continue the removals of objects and collections that are half gone."""
