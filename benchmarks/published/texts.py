"""Full-text peers in this process: our library, SQLite FTS5, tantivy, and Reindexer with its engine inside."""

import importlib
import importlib.util
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import sonicpy
from benchmarks.published.oracle import BOTH, EITHER, LIMIT, PREFIX, TYPO, WORD
from benchmarks.published.table import IN_BACKGROUND, SYSTEM_CACHE

COLLECTION, BUCKET = "items", "default"
Item = tuple[int, str, int, str]
"""(number, name, year, description)"""


class TextPeer(ABC):
    """An index of documents in a folder of its own. `find` returns None for what the peer does not offer."""

    name: ClassVar[str]
    module: ClassVar[str | None] = None
    """What must be importable."""
    durability = SYSTEM_CACHE

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    @abstractmethod
    def load(self, items: Sequence[Item]) -> None:
        """Index documents."""

    @abstractmethod
    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        """Return at most LIMIT numbers of documents."""

    @abstractmethod
    def point(self, number: int) -> bool:
        """Return whether a document is there."""

    @abstractmethod
    def update(self, number: int, text: str) -> None:
        """Replace a description; the next `find` sees it."""

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        """Return at most LIMIT documents of a name, and of later years; None where fields cannot be asked for."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close the index."""


class OurIndex(TextPeer):
    """Two indexes of the same documents, because expansions are a setting: words as typed, and the default mode."""

    name = "sonicpy"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        as_typed = sonicpy.Config.model_validate({"search": {"query_alternates_try": 0, "stemming": "off"}})
        self._exact = sonicpy.open(folder / "exact", as_typed)
        self._default = sonicpy.open(folder / "default")

    def load(self, items: Sequence[Item]) -> None:
        for index in (self._exact, self._default):
            rows = ((str(number), text) for number, _, _, text in items)
            index.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none", new=True)
            index.consolidate()

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        index = self._default if kind in (PREFIX, TYPO) else self._exact
        return [int(name) for name in index.query(COLLECTION, BUCKET, " ".join(words), limit=LIMIT, lang="none")]

    def point(self, number: int) -> bool:
        return self._exact.count(COLLECTION, BUCKET, str(number)) > 0

    def update(self, number: int, text: str) -> None:
        with self._exact.batch():
            self._exact.flush_object(COLLECTION, BUCKET, str(number))
            self._exact.push(COLLECTION, BUCKET, str(number), text, lang="none")

    def close(self) -> None:
        self._exact.close()
        self._default.close()


class Fts5(TextPeer):
    name = "SQLite FTS5"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.database = sqlite3.connect(folder / "items.db", isolation_level=None)
        self.database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
            "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, year INTEGER);"
            "CREATE INDEX years ON items(year); CREATE INDEX names ON items(name);"
            "CREATE VIRTUAL TABLE texts USING fts5(text)"
        )

    def load(self, items: Sequence[Item]) -> None:
        self.database.execute("BEGIN")
        self.database.executemany("INSERT INTO items VALUES (?, ?, ?)", (item[:3] for item in items))
        self.database.executemany(
            "INSERT INTO texts(rowid, text) VALUES (?, ?)", ((item[0], item[3]) for item in items)
        )
        self.database.execute("COMMIT")

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        if kind == TYPO:
            return None
        joined = {BOTH: " AND ", EITHER: " OR "}.get(kind, " ").join(f'"{word}"' for word in words)
        asked = joined + "*" if kind == PREFIX else joined
        rows = self.database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (asked, LIMIT)
        )
        return [number for (number,) in rows]

    def point(self, number: int) -> bool:
        return self.database.execute("SELECT name, year FROM items WHERE id = ?", (number,)).fetchone() is not None

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        if year is None:
            rows = self.database.execute("SELECT id FROM items WHERE name = ? LIMIT ?", (name, LIMIT))
        else:
            rows = self.database.execute(
                "SELECT id FROM items WHERE name = ? AND year > ? LIMIT ?", (name, year, LIMIT)
            )
        return [number for (number,) in rows]

    def update(self, number: int, text: str) -> None:
        self.database.execute("UPDATE texts SET text = ? WHERE rowid = ?", (text, number))

    def close(self) -> None:
        self.database.close()


class Tantivy(TextPeer):
    name = "tantivy"
    module = "tantivy"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tantivy: Any = importlib.import_module("tantivy")
        schema = self._tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True, indexed=True, fast=True)
        schema.add_text_field("text", stored=False)
        self._schema = schema.build()
        self._index = self._tantivy.Index(self._schema, path=str(folder))
        self._writer = self._index.writer(num_threads=1)

    def load(self, items: Sequence[Item]) -> None:
        for number, _, _, text in items:
            self._writer.add_document(self._tantivy.Document(id=number, text=text))
        self._commit()

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        make = self._tantivy.Query
        if kind == PREFIX:
            asked = make.fuzzy_term_query(self._schema, "text", words[0], distance=0, prefix=True)
        elif kind == TYPO:
            asked = make.fuzzy_term_query(self._schema, "text", words[0], distance=1)
        else:
            occur = self._tantivy.Occur.Must if kind in (BOTH, WORD) else self._tantivy.Occur.Should
            asked = make.boolean_query([(occur, make.term_query(self._schema, "text", word)) for word in words])
        hits = self._searcher.search(asked, LIMIT, count=False).hits
        return [self._searcher.doc(address)["id"][0] for _, address in hits]

    def point(self, number: int) -> bool:
        asked = self._tantivy.Query.term_query(self._schema, "id", number)
        return bool(self._searcher.search(asked, 1, count=False).hits)

    def update(self, number: int, text: str) -> None:
        self._writer.delete_documents_by_term("id", number)
        self._writer.add_document(self._tantivy.Document(id=number, text=text))
        self._commit()

    def close(self) -> None:
        del self._searcher, self._writer, self._index


class Reindexer(TextPeer):
    name = "Reindexer, embedded"
    module = "pyreindexer"
    durability = IN_BACKGROUND

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._database: Any = importlib.import_module("pyreindexer").RxConnector(f"builtin://{folder}")
        self._database.namespace_open("items")
        for name, kind, field, is_key in (
            ("id", "hash", "int64", True), ("name", "hash", "string", False), ("year", "tree", "int", False),
            ("text", "text", "string", False),
        ):  # fmt: skip
            definition = {"name": name, "json_paths": [name], "field_type": field, "index_type": kind, "is_pk": is_key}
            self._database.index_add("items", definition)
        self._rows: dict[int, dict[str, Any]] = {}

    def load(self, items: Sequence[Item]) -> None:
        for number, name, year, text in items:
            row = self._rows[number] = {"id": number, "name": name, "year": year, "text": text}
            self._database.item_upsert("items", row)
        self.find(WORD, ["anything"])  # builds the text index

    def _ids(self, condition: str) -> list[int]:
        rows = self._database.exec_sql(f"SELECT id FROM items WHERE {condition} LIMIT {LIMIT}")
        return [row["id"] for row in rows]

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        signs = {BOTH: "+={}", PREFIX: "{}*", TYPO: "{}~"}.get(kind, "={}")
        return self._ids("text = '" + " ".join(signs.format(word) for word in words) + "'")

    def point(self, number: int) -> bool:
        return bool(self._ids(f"id = {number}"))

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        return self._ids(f"name = '{name}'" + (f" AND year > {year}" if year is not None else ""))

    def update(self, number: int, text: str) -> None:
        self._rows[number]["text"] = text
        self._database.item_upsert("items", self._rows[number])

    def close(self) -> None:
        self._database.close()


PEERS: tuple[type[TextPeer], ...] = (OurIndex, Fts5, Tantivy, Reindexer)


def missing(peer: type[TextPeer]) -> str | None:
    """Return why a peer cannot be measured, or None."""
    if peer.module is None or importlib.util.find_spec(peer.module):
        return None
    return f"not installed: pip install {peer.module}"


def plain_words(text: str) -> list[str]:
    """Return the words of a text."""
    return re.findall(r"\w+", text.lower())
