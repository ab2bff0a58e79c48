"""Keys in a TOML file that a setting names; `sonicpy keys export` prints one. The file is read again after each change.

[web]
hash = "9f..."
verbs = ["query", "suggest"]
scopes = ["messages/public"]
"""

import logging
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonicpy.access.key import Key, unpack_key
from sonicpy.errors import ConfigError

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int]


class KeyFile:
    """The keys of a file.

    Args:
        path: the path of the file.

    Raises:
        ConfigError: the file, or a key in it, cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Stamp | None = None
        self._unread: Stamp | str | None = None  # the version of the file that could not be read
        self._keys: Mapping[str, Key] = {}
        self._read()

    def get(self, name: str) -> Key | None:
        """Return the key with a name; None: there is none. While a change of the file cannot be read, the keys from
        before it hold; the error is logged once for each change.
        """
        try:
            seen = self._stamp()
            if seen not in (self._seen, self._unread):
                self._read()
        except ConfigError as error:
            self._note_unread(error)
        return self._keys.get(name)

    def _note_unread(self, error: ConfigError) -> None:
        try:
            unread: Stamp | str = self._stamp()
        except ConfigError as gone:
            unread = str(gone)
        if unread != self._unread:
            logger.error("%s The keys read before stay valid.", error)
        self._unread = unread

    def all(self) -> list[Key]:
        """Return all keys."""
        return list(self._keys.values())

    def _read(self) -> None:
        seen = self._stamp()
        try:
            held: Mapping[str, Any] = tomllib.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"the keys in {self._path} cannot be read: {reason}.") from error
        except RecursionError as error:
            raise ConfigError(f"the keys in {self._path} cannot be read: they are nested too deeply.") from error
        tables = {name: value for name, value in held.items() if isinstance(value, Mapping)}
        if len(tables) != len(held):
            odd = next(name for name in held if name not in tables)
            raise ConfigError(f"{self._path}: {odd} is no section; allowed is a section [NAME] for each key.")
        self._keys = {name: unpack_key(name, value, str(self._path)) for name, value in tables.items()}
        self._seen, self._unread = seen, None

    def _stamp(self) -> Stamp:
        try:
            found = self._path.stat()
        except OSError as error:
            raise ConfigError(f"the keys in {self._path} cannot be read: {error.strerror}.") from error
        return found.st_mtime_ns, found.st_size, found.st_ino
