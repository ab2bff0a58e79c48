"""tantivy with one indexing thread, in this process."""

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.kinds import BOTH, LIMIT, PREFIX, TYPO, WORD, Item, TextPeer

MODULE = "tantivy"


def is_installed() -> bool:
    """Return whether the module is installed."""
    return importlib.util.find_spec(MODULE) is not None


class Tantivy:
    """An index of texts with names.

    Args:
        folder: the folder of the files; None: the index is in memory.
        has_numbers: whether names are numbers, which can be searched for; otherwise names are any text.
        tokenizer: the tokenizer of the texts.
        counts: whether each query also counts all matching texts, as tantivy does by default.
    """

    name = "tantivy"

    def __init__(
        self,
        folder: Path | None = None,
        *,
        has_numbers: bool = False,
        tokenizer: str = "default",
        counts: bool = False,
    ) -> None:
        self._counts = counts
        self.tantivy: Any = importlib.import_module(MODULE)
        schema = self.tantivy.SchemaBuilder()
        if has_numbers:
            schema.add_integer_field("oid", stored=True, indexed=True, fast=True)
        else:
            schema.add_text_field("oid", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=False, tokenizer_name=tokenizer)
        self.schema = schema.build()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._index = self.tantivy.Index(self.schema, path=folder and str(folder))
        self.writer: Any = None

    def add(self, rows: Iterable[tuple[Any, str]], commit_every: int | None = None) -> None:
        """Index texts in one commit, or in commits of `commit_every` texts, and wait for the merge of all segments."""
        self.begin()
        for number, (name, text) in enumerate(rows, 1):
            self.put(name, text)
            if commit_every and number % commit_every == 0:
                self.writer.commit()
        self.writer.commit()
        self.writer.wait_merging_threads()
        self._look()

    def begin(self) -> None:
        """Make the writer."""
        self.writer = self._index.writer(num_threads=1)

    def put(self, name: Any, text: str) -> None:
        """Pass a text to the writer."""
        self.writer.add_document(self.tantivy.Document(oid=name, text=text))

    def commit(self) -> None:
        """Commit the changes so far, so that the next query finds them."""
        self.writer.commit()
        self._look()

    def _look(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()

    def any_of(self, words: Sequence[str], limit: int = LIMIT, offset: int = 0) -> list[Any]:
        """Return the names of at most `limit` texts that hold any of the words, best first by BM25, behind the first
        `offset`."""
        return self.names(self.hits(words, limit, offset))

    def hits(self, words: Sequence[str], limit: int = LIMIT, offset: int = 0) -> list[tuple[Any, Any]]:
        """Return the (score, address) of the texts that `any_of` would return, without reading their names."""
        try:  # in quotes, or its parser takes some for operators
            asked = self._index.parse_query(" ".join(f'"{word}"' for word in words), ["text"])
        except ValueError:  # its analyzer drops words of more than 40 bytes; of these it left nothing
            return []
        return self.search(asked, limit, offset)

    def search(self, asked: Any, limit: int = LIMIT, offset: int = 0) -> list[tuple[Any, Any]]:
        """Return the (score, address) of the best `limit` texts for a query of tantivy, behind the first `offset`."""
        hits: list[tuple[Any, Any]] = self._searcher.search(asked, limit, count=self._counts, offset=offset).hits
        return hits

    def names(self, hits: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Return the names of the texts that `hits` or `search` returned."""
        return [self._searcher.doc(address)["oid"][0] for _, address in hits]

    def close(self) -> None:
        """Drop the index and its writer."""
        del self._searcher, self.writer, self._index


class TantivyTexts(TextPeer):
    """Documents, without their fields."""

    name = "tantivy"
    module = MODULE

    def __init__(self, folder: Path) -> None:
        self._index = Tantivy(folder, has_numbers=True)
        self._index.begin()

    def load(self, items: Sequence[Item]) -> None:
        for number, _, _, text in items:
            self._index.put(number, text)
        self._index.commit()

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        make, schema = self._index.tantivy.Query, self._index.schema
        if kind == PREFIX:
            asked = make.fuzzy_term_query(schema, "text", words[0], distance=0, prefix=True)
        elif kind == TYPO:
            asked = make.fuzzy_term_query(schema, "text", words[0], distance=1)
        else:
            occur = self._index.tantivy.Occur.Must if kind in (BOTH, WORD) else self._index.tantivy.Occur.Should
            asked = make.boolean_query([(occur, make.term_query(schema, "text", word)) for word in words])
        return self._index.names(self._index.search(asked))

    def point(self, number: int) -> bool:
        asked = self._index.tantivy.Query.term_query(self._index.schema, "oid", number)
        return bool(self._index.search(asked, 1))

    def update(self, number: int, text: str) -> None:
        self._index.writer.delete_documents_by_term("oid", number)
        self._index.put(number, text)
        self._index.commit()

    def close(self) -> None:
        self._index.close()
