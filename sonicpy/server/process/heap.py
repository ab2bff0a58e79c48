"""The heap of a server and of its workers: freed memory goes back to the system.

By default glibc keeps the more of it, the larger the blocks were that the process has freed.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
TRIM_BYTES = 1 << 20
"""From this size on, free memory at the end of the heap goes back."""
MMAP_BYTES = 1 << 17
"""From this size on, a block has memory of its own, which goes back when the block is freed; glibc begins with it."""


def bound_heap() -> None:
    """Make the process give freed memory back; without effect on systems whose C library has no such settings."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
        mallopt(M_MMAP_THRESHOLD, MMAP_BYTES)
