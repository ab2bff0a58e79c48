"""LevelDB and RocksDB: keys with values in log-structured trees."""

import importlib
from pathlib import Path
from typing import Any

from benchmarks.peers.kinds import KeyValuePeer


class LevelDb(KeyValuePeer):
    """LevelDB by plyvel."""

    name, module = "LevelDB (plyvel)", "plyvel"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database = self.open()

    def open(self) -> Any:
        """Return the database in the folder, opened or created."""
        return importlib.import_module("plyvel").DB(str(self.folder), create_if_missing=True)

    def set(self, key: bytes, value: bytes) -> None:
        self._database.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._database.get(key)
        return value

    def delete(self, key: bytes) -> object:
        return self._database.delete(key)

    def close(self) -> None:
        self._database.close()


class RocksDb(LevelDb):
    """RocksDB by rocksdict."""

    name, module = "RocksDB (rocksdict)", "rocksdict"

    def open(self) -> Any:
        rocksdict: Any = importlib.import_module("rocksdict")
        return rocksdict.Rdict(str(self.folder), rocksdict.Options(raw_mode=True))

    def set(self, key: bytes, value: bytes) -> None:
        self._database[key] = value
