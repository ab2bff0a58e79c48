"""The event loop and the garbage collector, as the server and its search processes set them up."""

import gc
import sys

if sys.platform == "win32" or sys.implementation.name != "cpython":
    from asyncio import run as run_loop
else:
    from uvloop import run as run_loop

__all__ = ["run_loop", "settle_garbage"]

GARBAGE_OBJECTS = 10_000
"""New Python objects between two collections: a few hundred commands; a collection takes about 0.1 ms."""
GARBAGE_TIMES = 2
"""The number of collections before one that also examines their survivors: 500 requests over HTTP are 100,000 objects,
which take 30 ms."""
GARBAGE_WHOLE_TIMES = 1_000
"""The number of collections of survivors before one that examines all objects; HTTP starts one sooner, when idle
(`http_protocol.py`)."""


def settle_garbage() -> None:
    """Exclude the objects that exist now from later collections, which then examine only the objects of commands."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, GARBAGE_TIMES, GARBAGE_WHOLE_TIMES)
