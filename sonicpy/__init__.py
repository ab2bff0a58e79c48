"""sonicpy: the Sonic search backend as a library and a server.

>>> import sonicpy
>>> with sonicpy.open("./data/messages") as index:
...     index.push("messages", "default", "conversation:1", "Hello from Nantes")
...     index.query("messages", "default", "nantes")
Hits(['conversation:1'])
"""

import gc
import importlib
from typing import TYPE_CHECKING, Any

from sonicpy.checkout import give_way

give_way(__name__, __file__)  # first, so that no module of a source folder is mixed with installed ones

from sonicpy.errors import (  # noqa: E402
    ClientError,
    CommandError,
    ConfigError,
    ConnectionLost,
    IndexClosed,
    InvalidArgument,
    NotOffered,
    SonicError,
    StoreError,
    StoreLocked,
    TimedOut,
    WrongPassword,
)
from sonicpy.version import VERSION as __version__  # noqa: E402

if TYPE_CHECKING:
    from sonicpy.api.bucket import Bucket
    from sonicpy.api.explanation import Explanation
    from sonicpy.api.fusion import fuse
    from sonicpy.api.held_word import HeldWord
    from sonicpy.api.highlighting import highlight
    from sonicpy.api.hits import Hit, Hits
    from sonicpy.api.rows import PushReport, Refused
    from sonicpy.client.aio.client import AsyncClient
    from sonicpy.client.aio.connect import connect_async
    from sonicpy.client.blocking.client import Client
    from sonicpy.client.blocking.connect import connect
    from sonicpy.config import Config
    from sonicpy.index.index import Index
    from sonicpy.index.open import open_index as open

__all__ = [
    "AsyncClient",
    "Bucket",
    "Client",
    "ClientError",
    "CommandError",
    "Config",
    "ConfigError",
    "ConnectionLost",
    "Explanation",
    "HeldWord",
    "Hit",
    "Hits",
    "Index",
    "IndexClosed",
    "InvalidArgument",
    "NotOffered",
    "PushReport",
    "Refused",
    "SonicError",
    "StoreError",
    "StoreLocked",
    "TimedOut",
    "WrongPassword",
    "__version__",
    "connect",
    "connect_async",
    "fuse",
    "highlight",
    "open",
]

# Imported when first asked for: a worker process that only builds word graphs does without them, and starts in a
# fraction of the time.
_LATE = {
    "AsyncClient": ("sonicpy.client.aio.client", "AsyncClient"),
    "Bucket": ("sonicpy.api.bucket", "Bucket"),
    "Client": ("sonicpy.client.blocking.client", "Client"),
    "Config": ("sonicpy.config", "Config"),
    "Explanation": ("sonicpy.api.explanation", "Explanation"),
    "HeldWord": ("sonicpy.api.held_word", "HeldWord"),
    "Hit": ("sonicpy.api.hits", "Hit"),
    "Hits": ("sonicpy.api.hits", "Hits"),
    "Index": ("sonicpy.index.index", "Index"),
    "PushReport": ("sonicpy.api.rows", "PushReport"),
    "Refused": ("sonicpy.api.rows", "Refused"),
    "connect": ("sonicpy.client.blocking.connect", "connect"),
    "connect_async": ("sonicpy.client.aio.connect", "connect_async"),
    "fuse": ("sonicpy.api.fusion", "fuse"),
    "highlight": ("sonicpy.api.highlighting", "highlight"),
    "open": ("sonicpy.index.open", "open_index"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATE[name]
    collects = gc.isenabled() and not gc.get_freeze_count()
    if collects:
        gc.disable()  # modules stay: looking through them again and again takes a tenth of a start
    try:
        value = getattr(importlib.import_module(module), attribute)
    finally:
        if collects:
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, where they would end, without looking through them
            gc.enable()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)  # the public names, for tab completion
