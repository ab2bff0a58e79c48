"""Keys in a TOML file that a setting names; `sonicpy keys export` prints one. The file is read again after each change.

[web]
hash = "9f..."
verbs = ["query", "suggest"]
scopes = ["messages/public"]
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonicpy.access.key import Key, unpack_key
from sonicpy.errors import ConfigError


class KeyFile:
    """The keys of a file.

    Args:
        path: the path of the file.

    Raises:
        ConfigError: the file, or a key in it, cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: Mapping[str, Key] = {}
        self._read()

    def get(self, name: str) -> Key | None:
        """Return the key with a name; None: there is none. Raises ConfigError if the file cannot be read any more."""
        if self._stamp() != self._seen:
            self._read()
        return self._keys.get(name)

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
        tables = {name: value for name, value in held.items() if isinstance(value, Mapping)}
        if len(tables) != len(held):
            odd = next(name for name in held if name not in tables)
            raise ConfigError(f"{self._path}: {odd} is no section; allowed is a section [NAME] for each key.")
        self._keys = {name: unpack_key(name, value, str(self._path)) for name, value in tables.items()}
        self._seen = seen

    def _stamp(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError as error:
            raise ConfigError(f"the keys in {self._path} cannot be read: {error.strerror}.") from error
        return found.st_mtime_ns, found.st_size, found.st_ino
