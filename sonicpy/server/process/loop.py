"""The event loop and the garbage collector, as the server and its search processes set them up."""

import gc
import sys

if sys.platform == "win32" or sys.implementation.name != "cpython":
    from asyncio import run as run_loop
else:
    from uvloop import run as run_loop

__all__ = ["run_loop", "settle_garbage"]

GARBAGE_OBJECTS = 2_000
"""The number of new Python objects between two collections: 1,000 commands, or 10 requests over HTTP. A collection
takes up to 1 us for each object that is alive."""
GARBAGE_TIMES = 1
"""The number of collections before one that also examines their survivors (generation 1), so at most 6,000 objects: 500
requests over HTTP keep 100,000 alive.
"""
GARBAGE_WHOLE_TIMES = 5_000
"""The number of collections of generation 1 before one that examines all objects; HTTP starts one sooner, when idle
(`http_protocol.py`).
"""


def settle_garbage() -> None:
    """Exclude the objects that exist now from later collections, which then examine only the objects of commands."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, GARBAGE_TIMES, GARBAGE_WHOLE_TIMES)
