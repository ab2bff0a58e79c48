"""Care: the methods of a client for the operator of a server."""

import time
from pathlib import Path
from typing import Any

from sonicpy.channel.commands import Mode
from sonicpy.client import plans
from sonicpy.client.exchange import CallPlan, Value


class Care:
    """Methods that build graphs, back up, restore, check and measure an index on a server."""

    def consolidate(self) -> None:
        """Make the server build the word graphs of all buckets whose words changed; return when they are built."""
        self._run(plans.consolidate())

    def backup(self, folder: Path | str) -> None:
        """Make the server write a backup; return when it is complete.

        Args:
            folder: a path on the machine of the server, without white space.
        """
        self._run(plans.backup(folder))

    def restore(self, folder: Path | str) -> None:
        """Make the server replace the collections that a backup holds; return when it is done. Arguments as in
        `backup`.
        """
        self._run(plans.restore(folder))

    def stats(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]:
        """Return figures about the index, a collection or a bucket."""
        found: dict[str, Any] = self._run(plans.stats(collection, bucket))
        return found

    def verify(self) -> list[str]:
        """Make the server check its tables against each other; return the faults that it finds, as sentences."""
        found: list[str] = self._run(plans.verify())
        return found

    def ping(self) -> float:
        """Send PING; return the seconds until the answer."""
        began = time.monotonic()
        self._run(plans.ping(Mode.SEARCH))
        return time.monotonic() - began

    def info(self) -> dict[str, int]:
        """Return the figures of INFO by name."""
        return self._run(plans.info())

    def _run(self, plan: CallPlan[Value]) -> Value:
        """Carry out the plan of a method, and return its result."""
        raise NotImplementedError
