"""sonicpy: the Sonic search backend as a library and a server.

    >>> from sonicpy import Index
    >>> with Index("./data/store") as index:
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
    from sonicpy.client.aio_client import AsyncClient
    from sonicpy.client.client import Client
    from sonicpy.client.connect import connect, connect_async
    from sonicpy.config import Config
    from sonicpy.hits import Hit, Hits
    from sonicpy.index.index import Index

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "CommandError",
    "Config",
    "ConnectionLost",
    "Hit",
    "Hits",
    "Index",
    "NotOffered",
    "SonicError",
    "TimedOut",
    "WrongPassword",
    "__version__",
    "connect",
    "connect_async",
]

# Imported when first asked for: a worker process that only builds word graphs does without them, and starts in a
# fraction of the time.
_LATE = {
    "AsyncClient": "sonicpy.client.aio_client",
    "Client": "sonicpy.client.client",
    "Config": "sonicpy.config",
    "Hit": "sonicpy.hits",
    "Hits": "sonicpy.hits",
    "Index": "sonicpy.index.index",
    "connect": "sonicpy.client.connect",
    "connect_async": "sonicpy.client.connect",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
