"""How many files this process may open, and how many it has open."""

import os
import sys

if sys.platform == "win32":

    def most_descriptors() -> int:
        """Return how many files this process may have open."""
        return sys.maxsize

else:
    import resource

    def most_descriptors() -> int:
        """Return how many files this process may have open."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return sys.maxsize if soft == resource.RLIM_INFINITY else soft


SPARE = 16
"""Descriptors that no connection gets from another process: for word graphs, and for what is open for a moment."""


def open_descriptors() -> int:
    """Return how many files this process has open, also sockets and pipes."""
    return len(os.listdir("/dev/fd")) - 1  # the folder itself is open meanwhile


def room_for_connections() -> int:
    """Return how many connections of other processes this process can take now."""
    return max(0, most_descriptors() - open_descriptors() - SPARE)
