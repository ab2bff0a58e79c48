"""sonicpy: the Sonic search backend as a library and a server.

    >>> import sonicpy
    >>> with sonicpy.open("./data/store") as index:
    ...     index.push("messages", "default", "conversation:1", "Hello from Nantes")
    ...     index.query("messages", "default", "nantes")
    Hits(['conversation:1'])
"""

import importlib
from typing import TYPE_CHECKING, Any

from sonicpy.errors import (
    ClientError,
    CommandError,
    ConnectionLost,
    NotOffered,
    SonicError,
    TimedOut,
    WrongPassword,
)
from sonicpy.version import VERSION as __version__

if TYPE_CHECKING:
    from sonicpy.bound import Bucket
    from sonicpy.client.aio_client import AsyncClient
    from sonicpy.client.client import Client
    from sonicpy.client.connect import connect
    from sonicpy.client.connect_async import connect_async
    from sonicpy.config import Config
    from sonicpy.explanation import Explanation
    from sonicpy.highlighting import highlight
    from sonicpy.hits import Hit, Hits
    from sonicpy.index.index import Index
    from sonicpy.index.opening import open_index as open
    from sonicpy.rows import PushReport, Refused

__all__ = [
    "AsyncClient",
    "Bucket",
    "Client",
    "ClientError",
    "CommandError",
    "Config",
    "ConnectionLost",
    "Explanation",
    "Hit",
    "Hits",
    "Index",
    "NotOffered",
    "PushReport",
    "Refused",
    "SonicError",
    "TimedOut",
    "WrongPassword",
    "__version__",
    "connect",
    "connect_async",
    "highlight",
    "open",
]

# Imported when first asked for: a worker process that only builds word graphs does without them, and starts in a
# fraction of the time.
_LATE = {
    "AsyncClient": ("sonicpy.client.aio_client", "AsyncClient"),
    "Bucket": ("sonicpy.bound", "Bucket"),
    "Client": ("sonicpy.client.client", "Client"),
    "Config": ("sonicpy.config", "Config"),
    "Explanation": ("sonicpy.explanation", "Explanation"),
    "Hit": ("sonicpy.hits", "Hit"),
    "Hits": ("sonicpy.hits", "Hits"),
    "Index": ("sonicpy.index.index", "Index"),
    "PushReport": ("sonicpy.rows", "PushReport"),
    "Refused": ("sonicpy.rows", "Refused"),
    "connect": ("sonicpy.client.connect", "connect"),
    "connect_async": ("sonicpy.client.connect_async", "connect_async"),
    "highlight": ("sonicpy.highlighting", "highlight"),
    "open": ("sonicpy.index.opening", "open_index"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATE[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
