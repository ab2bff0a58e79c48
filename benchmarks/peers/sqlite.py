"""SQLite: full text by FTS5, names, and keys with values. Only FTS5 measured alone waits for the disk."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.kinds import BOTH, EITHER, LIMIT, PREFIX, TYPO, Item, KeyValuePeer, NamePeer, Rows, TextPeer

FAST = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"


def opened(path: Path | str, schema: str = "") -> sqlite3.Connection:
    """Open a file, and execute the SQL `schema`; return the connection. It commits each statement outside BEGIN and
    COMMIT, and any thread may use it."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, uri=True)
    database.executescript(schema)
    return database


@contextmanager
def commit(database: sqlite3.Connection) -> Iterator[None]:
    """Make everything inside a `with` block one commit."""
    database.execute("BEGIN")
    yield
    database.execute("COMMIT")


class Fts5:
    """A table of texts whose names are numbers.

    Args:
        path: the path of a file, or `:memory:`.
        options: options of FTS5, each after a comma.
        schema: SQL to execute before the table of texts is made.
    """

    name = "SQLite FTS5"

    def __init__(self, path: Path | str = ":memory:", options: str = "", schema: str = "") -> None:
        self.database = opened(path, f"{schema} CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(text{options});")

    def add(self, rows: Iterable[tuple[int, str]]) -> None:
        """Index texts in one commit."""
        with commit(self.database):
            self.database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)

    def any_of(self, words: Sequence[str], limit: int = LIMIT, offset: int = 0) -> list[int]:
        """Return the row ids of at most `limit` texts that hold any of the words, best first by BM25, behind the first
        `offset`."""
        return self.match(quoted(words, " OR "), limit, offset) if words else []

    def match(self, asked: str, limit: int = LIMIT, offset: int = 0) -> list[int]:
        """Return the row ids of at most `limit` texts that match an expression of FTS5, best first by BM25, behind the
        first `offset`."""
        return match(self.database, asked, limit, offset)

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def match(database: sqlite3.Connection, asked: str, limit: int, offset: int = 0) -> list[int]:
    """Return the row ids of at most `limit` texts that match an expression of FTS5, best first by BM25, behind the
    first `offset`."""
    rows = database.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ? OFFSET ?", (asked, limit, offset)
    )
    return [number for (number,) in rows]


def quoted(words: Iterable[str], sign: str = " ") -> str:
    """Return words in quotation marks, joined by a sign."""
    return sign.join(f'"{word}"' for word in words)


class Fts5Texts(TextPeer):
    """Documents, with their fields in another table."""

    name = "SQLite FTS5"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        schema = (
            f"{FAST} CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, year INTEGER);"
            "CREATE INDEX years ON items(year); CREATE INDEX names ON items(name);"
        )
        self._texts = Fts5(folder / "items.db", schema=schema)
        self._database = self._texts.database

    def load(self, items: Sequence[Item]) -> None:
        with commit(self._database):
            self._database.executemany("INSERT INTO items VALUES (?, ?, ?)", (item[:3] for item in items))
        self._texts.add((item[0], item[3]) for item in items)

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        if kind == TYPO:
            return None
        asked = quoted(words, {BOTH: " AND ", EITHER: " OR "}.get(kind, " "))
        return self._texts.match(asked + "*" if kind == PREFIX else asked)

    def point(self, number: int) -> bool:
        return self._database.execute("SELECT name, year FROM items WHERE id = ?", (number,)).fetchone() is not None

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        later, values = ("", (name, LIMIT)) if year is None else (" AND year > ?", (name, year, LIMIT))
        rows = self._database.execute(f"SELECT id FROM items WHERE name = ?{later} LIMIT ?", values)
        return [number for (number,) in rows]

    def update(self, number: int, text: str) -> None:
        self._database.execute("UPDATE texts SET text = ? WHERE rowid = ?", (text, number))

    def close(self) -> None:
        self._texts.close()


class SqliteNames(NamePeer):
    """Names in a table; existing ones are kept."""

    name = "sqlite3"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._database = opened(folder / "names.db", f"{FAST} CREATE TABLE names(name TEXT PRIMARY KEY, text TEXT)")

    def add(self, rows: Rows) -> None:
        with commit(self._database):
            self._database.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def has(self, name: str) -> bool:
        return self._database.execute("SELECT 1 FROM names WHERE name = ?", (name,)).fetchone() is not None

    def close(self) -> None:
        self._database.close()


class SqliteKeys(KeyValuePeer):
    """Keys and values in a table without row ids."""

    name = "sqlite3"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database = opened(
            folder / "table.db", f"{FAST} CREATE TABLE held(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        with commit(self._database):
            yield self.set, self.delete

    def set(self, key: bytes, value: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO held VALUES (?, ?)", (key, value))

    def get(self, key: bytes) -> bytes | None:
        row = self._database.execute("SELECT value FROM held WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def delete(self, key: bytes) -> object:
        return self._database.execute("DELETE FROM held WHERE key = ?", (key,))

    def close(self) -> None:
        self._database.close()
