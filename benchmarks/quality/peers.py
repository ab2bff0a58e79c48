"""Full-text engines with a stemmer for English, in process: SQLite FTS5 (porter) and tantivy (en_stem)."""

import importlib
import importlib.util
import re
import sqlite3
from collections import defaultdict
from typing import Any

WORD = re.compile(r"\w+")
WRITER_BYTES = 64 << 20


class Fts5Porter:
    """SQLite FTS5 with `tokenize = 'porter'`: either of the words, by its BM25."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object, whose name is a number."""
        self._database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {collection}_{bucket} USING fts5(text, tokenize = 'porter unicode61')"
        )
        self._database.execute(f"INSERT INTO {collection}_{bucket}(rowid, text) VALUES (?, ?)", (int(object), text))

    def consolidate(self) -> None:
        """Nothing is left to do."""

    def query(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return the best objects."""
        asked = " OR ".join(f'"{word}"' for word in WORD.findall(text))
        rows = self._database.execute(
            f"SELECT rowid FROM {collection}_{bucket} WHERE text MATCH ? ORDER BY rank LIMIT ? OFFSET ?",
            (asked, limit, offset),
        )
        return [str(number) for (number,) in rows] if asked else []

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return nothing: it corrects no words."""
        return []

    def flush_collection(self, collection: str) -> int:
        """Keep it: names of collections are used once."""
        return 0


class TantivyStem:
    """tantivy with the tokenizer `en_stem`: either of the words, by its BM25."""

    def __init__(self) -> None:
        self._tantivy: Any = importlib.import_module("tantivy")
        schema = self._tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True)
        schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
        self._schema = schema.build()
        self._indexes: dict[str, Any] = {}
        self._writers: dict[str, Any] = defaultdict()

    @staticmethod
    def is_installed() -> bool:
        """Return whether the module is there."""
        return importlib.util.find_spec("tantivy") is not None

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object, whose name is a number."""
        scope = f"{collection}/{bucket}"
        if scope not in self._indexes:
            self._indexes[scope] = self._tantivy.Index(self._schema)
            self._writers[scope] = self._indexes[scope].writer(WRITER_BYTES, 1)
        self._writers[scope].add_document(self._tantivy.Document(id=int(object), text=text))

    def consolidate(self) -> None:
        """Commit what was added."""
        for scope, writer in self._writers.items():
            writer.commit()
            self._indexes[scope].reload()

    def query(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return the best objects."""
        index = self._indexes[f"{collection}/{bucket}"]
        searcher = index.searcher()
        words = [f'"{word}"' for word in WORD.findall(text)]  # in quotes, or its parser takes some for operators
        try:
            asked = index.parse_query(" ".join(words), ["text"])
        except ValueError:  # its analyzer drops words of more than 40 bytes; of this text it left nothing
            return []
        hits = searcher.search(asked, limit, count=False, offset=offset).hits
        return [str(searcher.doc(address)["id"][0]) for _, address in hits]

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return nothing: it makes no suggestions."""
        return []

    def flush_collection(self, collection: str) -> int:
        """Keep it: names of collections are used once."""
        return 0
