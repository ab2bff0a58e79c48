"""LMDB: names, and keys with values. No write waits for the disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb

from benchmarks.peers.kinds import MAP_BYTES, KeyValuePeer, NamePeer, Rows


class LmdbNames(NamePeer):
    """Names, added if they are new."""

    name = "lmdb"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._environment = lmdb.open(str(folder), map_size=MAP_BYTES, sync=False)

    def add(self, rows: Rows) -> None:
        with self._environment.begin(write=True) as transaction:
            for name, text in rows:
                transaction.put(name.encode(), text.encode(), overwrite=False)

    def has(self, name: str) -> bool:
        with self._environment.begin() as transaction:
            return transaction.get(name.encode()) is not None

    def close(self) -> None:
        self._environment.close()


class LmdbKeys(KeyValuePeer):
    """Keys and values in a table with a name."""

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
