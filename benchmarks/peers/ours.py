"""This project as a peer: the library, its key/value table, and its client of a server."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sonicpy
from benchmarks.peers.kinds import (
    BOTH,
    LIMIT,
    NOTHING,
    PREFIX,
    SYSTEM_CACHE,
    TYPO,
    Item,
    KeyValuePeer,
    NamePeer,
    Rows,
    TextPeer,
)
from benchmarks.peers.servers import Server
from sonicpy import keyvalue
from tests.processes import HOST
from tests.support.server_process import PASSWORD

COLLECTION, BUCKET = "items", "default"
AS_TYPED = {"search": {"query_alternates_try": 0, "stemming": "off"}}
"""Settings that search only for words as they are typed."""
MEMORY = ":memory:"


def connect(server: Server, **options: Any) -> sonicpy.Client:
    """Return a client of a server, made with the options of `sonicpy.connect`."""
    return sonicpy.connect(f"sonic://:{PASSWORD}@{HOST}:{server.port}", **options)


class Library:
    """An index of texts, which are pushed one by one in one batch."""

    name = "sonicpy library"

    def __init__(self, folder: Path) -> None:
        self._index = sonicpy.open(folder)

    def add(self, rows: Iterable[tuple[str, str]]) -> None:
        """Index texts and commit them."""
        with self._index.batch():
            for name, text in rows:
                self._index.push(COLLECTION, BUCKET, name, text)

    def any_of(self, words: Sequence[str], limit: int = LIMIT, offset: int = 0) -> list[str]:
        """Return at most `limit` results of a query with default options, behind the first `offset`."""
        return list(self._index.query(COLLECTION, BUCKET, " ".join(words), limit=limit, offset=offset))

    def close(self) -> None:
        """Close the index."""
        self._index.close()


class OurTexts(TextPeer):
    """Two indexes with equal documents, because expansions are a setting: one for words as typed, one in the default
    mode. A third index has the names as tags and the years as values.
    """

    name = "sonicpy"

    def __init__(self, folder: Path) -> None:
        self._exact = sonicpy.open(folder / "exact", sonicpy.Config.model_validate(AS_TYPED))
        self._default = sonicpy.open(folder / "default")
        self._fields = sonicpy.open(folder / "fields")

    def load(self, items: Sequence[Item]) -> None:
        for index in (self._exact, self._default):
            rows = ((str(number), text) for number, _, _, text in items)
            index.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none", new=True)
            index.consolidate()
        named = ({"id": str(number), "text": name, "tags": [name], "year": year} for number, name, year, _ in items)
        self._fields.push_many(
            named, collection=COLLECTION, bucket=BUCKET, lang="none", new=True, tags="tags", values=["year"]
        )

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        filter = f'"{name}"' if year is None else f'"{name}" AND year > {year}'
        return [int(found) for found in self._fields.query(COLLECTION, BUCKET, "", filter=filter, limit=LIMIT)]

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        index = self._default if kind in (PREFIX, TYPO) else self._exact
        found = index.query(
            COLLECTION, BUCKET, " ".join(words), limit=LIMIT, lang="none", match="all" if kind == BOTH else "auto"
        )
        return [int(name) for name in found]

    def point(self, number: int) -> bool:
        return self._exact.exists(COLLECTION, BUCKET, str(number))

    def update(self, number: int, text: str) -> None:
        self._exact.upsert(COLLECTION, BUCKET, str(number), text, lang="none")

    def close(self) -> None:
        for index in (self._exact, self._default, self._fields):
            index.close()


class ServedTexts(TextPeer):
    """A filled server of the channel, called through sonicpy's client.

    Args:
        expanding: another server with equal documents, for prefixes and typos, because expansions are a setting of a
            server.
    """

    is_remote = True

    def __init__(self, server: Server, expanding: Server | None = None) -> None:
        self.name = server.name
        self.pids = [server.pid, *([] if expanding is None else [expanding.pid])]
        self._client = connect(server)
        self._expanding = self._client if expanding is None else connect(expanding)

    def load(self, items: Sequence[Item]) -> None:
        """Do nothing, because the server is filled already."""

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        client = self._expanding if kind in (PREFIX, TYPO) else self._client
        return [int(name) for name in client.query(COLLECTION, BUCKET, " ".join(words), limit=LIMIT, lang="none")]

    def point(self, number: int) -> bool:
        return self._client.count(COLLECTION, BUCKET, str(number)) > 0

    def update(self, number: int, text: str) -> None:
        self._client.upsert(COLLECTION, BUCKET, str(number), text, lang="none")

    def close(self) -> None:
        self._client.close()
        if self._expanding is not self._client:
            self._expanding.close()


class SonicTexts(ServedTexts):
    """A filled server of the original Sonic, which has no UPSERT, called through sonicpy's client."""

    def update(self, number: int, text: str) -> None:
        self._client.flush_object(COLLECTION, BUCKET, str(number))
        self._client.push(COLLECTION, BUCKET, str(number), text, lang="none")


class OurNames(NamePeer):
    """Names in an index, in a folder or in memory."""

    def __init__(self, path: Path | str) -> None:
        self.name = "sonicpy in memory" if path == MEMORY else "sonicpy"
        self.durability = NOTHING if path == MEMORY else SYSTEM_CACHE
        self._held: sonicpy.Index | sonicpy.Client = sonicpy.open(path)

    def add(self, rows: Rows) -> None:
        self._held.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none")

    def add_new(self, rows: Rows) -> None:
        self._held.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none", new=True)

    def has(self, name: str) -> bool:
        return self._held.exists(COLLECTION, BUCKET, name)

    def close(self) -> None:
        self._held.close()


class ServedNames(OurNames):
    """Names in a sonicpy server, through its client, which has no call for only new names."""

    is_remote = True

    def __init__(self, server: Server) -> None:
        self.name = server.name
        self._held = connect(server)

    def add_new(self, rows: Rows) -> None:
        self.add(rows)


class OurKeys(KeyValuePeer):
    """Keys and values in a table of `sonicpy.keyvalue`."""

    name = "sonicpy.keyvalue"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.table = keyvalue.open(self.place())
        self.set, self.get, self.delete = self.table.set, self.table.get, self.table.delete  # type: ignore[method-assign]

    def place(self) -> Path | str:
        """Return the path of the table."""
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


class OurKeysInMemory(OurKeys):
    """Keys and values in memory."""

    name = "sonicpy.keyvalue in memory"
    durability = NOTHING

    def place(self) -> Path | str:
        return MEMORY
