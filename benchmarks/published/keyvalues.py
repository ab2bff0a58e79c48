"""Peers that keep keys and values in this process: our key/value table, plain dictionaries, and embedded databases."""

import importlib
import importlib.util
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import lmdb

from benchmarks.accounting import allocated_bytes
from benchmarks.published.table import NOTHING, SYSTEM_CACHE
from sonicpy import keyvalue

MAP_BYTES = 16 << 30


class KeyValuePeer(ABC):
    """Keys and values in a folder of their own."""

    name: ClassVar[str]
    module: ClassVar[str | None] = None
    durability: ClassVar[str] = SYSTEM_CACHE

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        """`set` and `delete` inside one commit, where the peer has commits."""
        yield self.set, self.delete

    @contextmanager
    def reading(self) -> Iterator[Callable[[bytes], object]]:
        """`get` inside one open transaction, where the peer has transactions."""
        yield self.get

    @abstractmethod
    def set(self, key: bytes, value: bytes) -> None: ...

    @abstractmethod
    def get(self, key: bytes) -> bytes | None: ...

    @abstractmethod
    def delete(self, key: bytes) -> object: ...

    def size(self) -> int:
        """Return the bytes of its files."""
        return allocated_bytes(self.folder)

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close it."""


class Ours(KeyValuePeer):
    name = "sonicpy.keyvalue"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.table = keyvalue.open(self.place())
        self.set, self.get, self.delete = self.table.set, self.table.get, self.table.delete  # type: ignore[method-assign]

    def place(self) -> Path | str:
        return self.folder / "table"

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        with self.table.batch():
            yield self.table.set, self.table.delete

    @contextmanager
    def reading(self) -> Iterator[Callable[[bytes], object]]:
        with self.table.snapshot() as snapshot:
            yield snapshot.get

    def set(self, key: bytes, value: bytes) -> None:
        self.table.set(key, value)

    def get(self, key: bytes) -> bytes | None:
        return self.table.get(key)

    def delete(self, key: bytes) -> object:
        return self.table.delete(key)

    def size(self) -> int:
        return self.table.file_size()

    def close(self) -> None:
        self.table.close()


class OursInMemory(Ours):
    name = "sonicpy.keyvalue in memory"
    durability = NOTHING

    def place(self) -> Path | str:
        return ":memory:"


class Lmdb(KeyValuePeer):
    name = "lmdb"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._environment = lmdb.open(str(folder), map_size=MAP_BYTES, max_dbs=1, sync=False)
        self._table = self._environment.open_db(b"values")

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        with self._environment.begin(write=True, db=self._table) as transaction:
            yield transaction.put, transaction.delete

    @contextmanager
    def reading(self) -> Iterator[Callable[[bytes], object]]:
        with self._environment.begin(db=self._table) as transaction:
            yield transaction.get

    def set(self, key: bytes, value: bytes) -> None:
        with self._environment.begin(write=True, db=self._table) as transaction:
            transaction.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        with self._environment.begin(db=self._table) as transaction:
            return transaction.get(key)

    def delete(self, key: bytes) -> object:
        with self._environment.begin(write=True, db=self._table) as transaction:
            return transaction.delete(key)

    def close(self) -> None:
        self._environment.close()


class Dict(KeyValuePeer):
    name = "dict"
    durability = NOTHING

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._held: dict[bytes, bytes] = {}

    def set(self, key: bytes, value: bytes) -> None:
        self._held[key] = value

    def get(self, key: bytes) -> bytes | None:
        return self._held.get(key)

    def delete(self, key: bytes) -> object:
        return self._held.pop(key, None)


class Sorted(Dict):
    name = "sortedcontainers"
    module = "sortedcontainers"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._held = importlib.import_module("sortedcontainers").SortedDict()


class LevelDb(KeyValuePeer):
    name = "LevelDB (plyvel)"
    module = "plyvel"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database: Any = importlib.import_module("plyvel").DB(str(folder), create_if_missing=True)

    def set(self, key: bytes, value: bytes) -> None:
        self._database.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._database.get(key)
        return value

    def delete(self, key: bytes) -> object:
        return self._database.delete(key)

    def close(self) -> None:
        self._database.close()


class RocksDb(KeyValuePeer):
    name = "RocksDB (rocksdict)"
    module = "rocksdict"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rocksdict: Any = importlib.import_module("rocksdict")
        self._database: Any = rocksdict.Rdict(str(folder), rocksdict.Options(raw_mode=True))

    def set(self, key: bytes, value: bytes) -> None:
        self._database[key] = value

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._database.get(key)
        return value

    def delete(self, key: bytes) -> object:
        return self._database.delete(key)

    def close(self) -> None:
        self._database.close()


class Sqlite(KeyValuePeer):
    name = "sqlite3"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database = sqlite3.connect(folder / "table.db", isolation_level=None, check_same_thread=False)
        self._database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
            "CREATE TABLE held(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        self._database.execute("BEGIN")
        yield self.set, self.delete
        self._database.execute("COMMIT")

    def set(self, key: bytes, value: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO held VALUES (?, ?)", (key, value))

    def get(self, key: bytes) -> bytes | None:
        row = self._database.execute("SELECT value FROM held WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def delete(self, key: bytes) -> object:
        return self._database.execute("DELETE FROM held WHERE key = ?", (key,))

    def close(self) -> None:
        self._database.close()


PEERS: tuple[type[KeyValuePeer], ...] = (Ours, OursInMemory, Lmdb, Dict, Sorted, LevelDb, RocksDb, Sqlite)


def missing(peer: type[KeyValuePeer]) -> str | None:
    """Return why a peer cannot be measured, or None."""
    if peer.module is None or importlib.util.find_spec(peer.module):
        return None
    return f"not installed: pip install {peer.module}"
