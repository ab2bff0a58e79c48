"""The number of files that this process may open and has open, and the room for connections.

The log, the disk, processes and the health port need descriptors at any time, so connections never get the last ones. A
new descriptor has the lowest free number: so the number for a new connection shows whether nearly all descriptors of
the process are in use.
"""

import logging
import os
import sys
import time

logger = logging.getLogger(__name__)

if sys.platform == "win32":

    def most_descriptors() -> int:
        """Return how many files this process may have open."""
        return sys.maxsize

    def raise_limit() -> None:
        """Do nothing: there is no limit to raise."""

else:
    import resource

    def most_descriptors() -> int:
        """Return how many files this process may have open."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return sys.maxsize if soft == resource.RLIM_INFINITY else soft

    def raise_limit() -> None:
        """Raise the limit of open files to the maximum: the soft limit becomes the hard one."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (hard, UNLIMITED):  # macOS has a hard limit of "unlimited", which is no soft one
            if wanted != resource.RLIM_INFINITY and wanted <= most_descriptors():
                return
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            except (OSError, ValueError) as error:
                logger.debug("the limit of open files cannot be raised to %d: %s", wanted, error)
            else:
                return


UNLIMITED = 10_240
"""The limit of open files on macOS, unless another one is set."""
RESERVE = 128
"""The number of descriptors that no connection gets: half of them for the health port and for connections to be
refused, the others for log and disk, processes, and connections accepted at the same moment."""
SPARE = 16
"""The reserve in a search process: for word graphs, and for files that are opened briefly."""
EPISODE_S = 60.0
"""The time in seconds without a refusal after which the next refusal is logged again."""


def open_descriptors() -> int:
    """Return the number of open files of this process, including sockets and pipes."""
    return len(os.listdir("/dev/fd")) - 1  # the folder itself is open meanwhile


def reserve() -> int:
    """Return the number of descriptors that connections leave free."""
    return min(RESERVE, most_descriptors() // 2)


def room_for_connections() -> int:
    """Return the number of connections that this process can still take."""
    return max(0, most_descriptors() - open_descriptors() - reserve())


def fits(descriptor: int) -> bool:
    """Return whether a new descriptor leaves the reserve free."""
    return descriptor < most_descriptors() - reserve()


def fits_reserve(descriptor: int) -> bool:
    """Return whether a new descriptor is in the half of the reserve that the health port may use."""
    return descriptor < most_descriptors() - reserve() // 2


class Room:
    """Decides whether a new connection may stay."""

    def __init__(self) -> None:
        self._refused_s = -EPISODE_S

    def has(self, descriptor: int) -> bool:
        """Return whether there is room for a new connection with this descriptor.

        The first refusal is logged.
        """
        if fits(descriptor):
            return True
        now = time.monotonic()
        if now - self._refused_s >= EPISODE_S:
            logger.error("%s", _lacking())
        self._refused_s = now
        return False

    def lack(self) -> str | None:
        """Return the reason why new connections are refused, as a sentence; None: they are accepted."""
        was_lately = time.monotonic() - self._refused_s < EPISODE_S
        return _lacking() if was_lately and not room_for_connections() else None


def _lacking() -> str:
    return (
        f"new connections are refused: this process may open {most_descriptors()} files (ulimit -n), and "
        f"the last {reserve()} are kept for the store; raise the limit, or lower channel.max_connections"
    )
