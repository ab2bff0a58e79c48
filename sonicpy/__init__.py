"""sonicpy: the Sonic search backend as a library and a server.

    >>> from sonicpy import Index
    >>> with Index("./data/store") as index:
    ...     index.push("messages", "default", "conversation:1", "Hello from Nantes")
    ...     index.query("messages", "default", "nantes")
    ['conversation:1']
"""

from sonicpy.config import Config
from sonicpy.errors import SonicError
from sonicpy.index.index import Index
from sonicpy.version import VERSION as __version__

__all__ = ["Config", "Index", "SonicError", "__version__"]
