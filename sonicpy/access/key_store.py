"""Keys in a folder of LMDB beside the tables of an index: `sonicpy keys` writes it while a server reads.

Backups, exports and restores leave the folder out. Each look-up begins a read transaction, so it finds the last change.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import lmdb

from sonicpy.access.key import Key, pack_key, unpack_key
from sonicpy.errors import ConfigError
from sonicpy.files import make_all

FOLDER = "keys"
MAP_BYTES = 1 << 30
READERS_MAX = 512


class KeyStore:
    """The keys of an index.

    Args:
        folder: the folder of the index. The first change makes the folder of keys in it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = Path(folder) / FOLDER
        self._environment: SharedEnvironment | None = None

    def get(self, name: str) -> Key | None:
        """Return the key with a name; None: there is none. Raises ConfigError if the key cannot be read."""
        packed = None
        with self._reading() as transaction:
            if transaction is not None:
                packed = transaction.get(name.encode())
        return None if packed is None else self._unpack(name, bytes(packed))

    def all(self) -> Iterator[Key]:
        """Yield all keys, by name. Raises ConfigError if a key cannot be read."""
        with self._reading() as transaction:
            rows = [] if transaction is None else list(transaction.cursor())
        for name, packed in rows:
            yield self._unpack(bytes(name).decode(), bytes(packed))

    def put(self, key: Key) -> bool:
        """Add a key, and wait for the disk; return False if there is one with this name already."""
        with self._explained():
            environment = self._opened(makes=True).environment
            with environment.begin(write=True) as transaction:
                environment.reader_check()
                added: bool = transaction.put(key.name.encode(), pack_key(key), overwrite=False)
        return added

    def remove(self, name: str) -> bool:
        """Remove a key, and wait for the disk; return whether there was one."""
        if not self.is_there:
            return False
        with self._explained(), self._opened(makes=True).environment.begin(write=True) as transaction:
            removed: bool = transaction.delete(name.encode())
        return removed

    @property
    def is_there(self) -> bool:
        """Whether a key was ever added. Raises ConfigError if that cannot be seen."""
        with self._explained():
            return (self.path / "data.mdb").exists()

    def close(self) -> None:
        """Close the folder; the next call opens it again."""
        self._environment = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator["lmdb.Transaction | None"]:
        if not self.is_there:
            yield None
            return
        with self._explained(), self._opened(makes=False).environment.begin() as transaction:
            yield transaction

    def _opened(self, *, makes: bool) -> "SharedEnvironment":
        if self._environment is None:
            if makes:
                make_all(self.path)
            self._environment = SharedEnvironment.of(self.path)
        return self._environment

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (lmdb.Error, OSError) as error:
            raise ConfigError(f"the keys in {self.path} cannot be used: {error}.") from error

    def _unpack(self, name: str, packed: bytes) -> Key:
        try:
            held = json.loads(packed)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.path}: the key {name!r} cannot be read: {error}.") from error
        return unpack_key(name, held, str(self.path))


class SharedEnvironment:
    """An LMDB environment that all users in this process share, because LMDB lets a process open it only once."""

    _open: "WeakValueDictionary[tuple[int, Path], SharedEnvironment]" = WeakValueDictionary()
    _lock = Lock()

    def __init__(self, path: Path) -> None:
        self.environment = lmdb.open(str(path), map_size=MAP_BYTES, max_readers=READERS_MAX, mode=0o600)

    def __del__(self) -> None:
        if hasattr(self, "environment"):
            self.environment.close()

    @classmethod
    def of(cls, path: Path) -> "SharedEnvironment":
        """Return the environment of a folder in this process, and open it unless it is open."""
        place = (os.getpid(), path.resolve())
        with cls._lock:
            found = cls._open.get(place)
            if found is None:
                found = cls._open[place] = cls(path)
            return found
