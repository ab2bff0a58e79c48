"""Our library beside SQLite FTS5 and tantivy, in process: the same texts and queries, no socket.

Each library keeps its index in a folder, commits once for all texts, and returns the ids of the best ten objects.
"""

import importlib
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.accounting import allocated_bytes
from benchmarks.measure import Results
from benchmarks.versus.workload import BUCKET, COLLECTION, QUERY_1, QUERY_2, QUERY_3, Commands, oid
from sonicpy import Index

BEST = 10
PUSH_CPU_US = "library: CPU us a text"
DISK_MB = "library: disk, MB"
KINDS = (QUERY_1, QUERY_2, QUERY_3)


class Library(ABC):
    """An index in a folder of its own."""

    name: str

    @abstractmethod
    def add(self, texts: Sequence[str]) -> None:
        """Index texts and commit them."""

    @abstractmethod
    def best(self, text: str) -> Sequence[object]:
        """Return at most BEST objects that hold any word of the text."""

    @abstractmethod
    def close(self) -> None:
        """Close the index."""


class OurLibrary(Library):
    name = "sonicpy library"

    def __init__(self, folder: Path) -> None:
        self._index = Index(folder)

    def add(self, texts: Sequence[str]) -> None:
        with self._index.batch():
            for number, text in enumerate(texts):
                self._index.push(COLLECTION, BUCKET, oid(number), text)

    def best(self, text: str) -> Sequence[object]:
        return self._index.query(COLLECTION, BUCKET, text, limit=BEST)

    def close(self) -> None:
        self._index.close()


class Fts5(Library):
    name = "SQLite FTS5"

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / "index.db")
        self._database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content='')")

    def add(self, texts: Sequence[str]) -> None:
        with self._database:
            self._database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts, 1))

    def best(self, text: str) -> Sequence[object]:
        words = " OR ".join(f'"{word}"' for word in text.split())
        found = self._database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, BEST)
        )
        return found.fetchall()

    def close(self) -> None:
        self._database.close()


class Tantivy(Library):
    name = "tantivy"

    def __init__(self, folder: Path, tantivy: Any) -> None:
        self._tantivy = tantivy
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("oid", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=False)
        self._index = tantivy.Index(schema.build(), path=str(folder))

    def add(self, texts: Sequence[str]) -> None:
        writer = self._index.writer(num_threads=1)
        for number, text in enumerate(texts):
            writer.add_document(self._tantivy.Document(oid=oid(number), text=text))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def best(self, text: str) -> Sequence[object]:
        hits = self._searcher.search(self._index.parse_query(text, ["text"]), BEST).hits
        return [self._searcher.doc(address)["oid"] for _, address in hits]

    def close(self) -> None:
        del self._searcher, self._index


def find_tantivy() -> Any | None:
    """Return the tantivy module, or None if it is not installed."""
    try:
        return importlib.import_module("tantivy")
    except ImportError:
        return None


def compare(folder: Path, results: Results, texts: Sequence[str], commands: Commands) -> None:
    """Record the CPU time of indexing and of queries, and the disk space, for each library."""
    for name in ("ours", "fts5", "tantivy"):
        (folder / name).mkdir()
    libraries: list[tuple[Library, Path]] = [
        (OurLibrary(folder / "ours"), folder / "ours"),
        (Fts5(folder / "fts5"), folder / "fts5"),
    ]
    if tantivy := find_tantivy():
        libraries.append((Tantivy(folder / "tantivy", tantivy), folder / "tantivy"))
    for library, place in libraries:
        began = time.process_time()
        library.add(texts)
        results.figures[PUSH_CPU_US, library.name] = (time.process_time() - began) / len(texts) * 1e6
        for kind in KINDS:
            asked = [command.text for command in commands.by_operation[kind]]
            began = time.process_time()
            found = sum(bool(library.best(text)) for text in asked)
            results.figures[f"library: CPU us a {kind}", library.name] = (
                (time.process_time() - began) / len(asked) * 1e6
            )
            results.figures[f"library: share of {kind} that finds something", library.name] = found / len(asked)
        results.figures[DISK_MB, library.name] = allocated_bytes(place) / 1e6
        library.close()
