"""The effect of settings and inputs on answers: the window, the language, pieces of documents, the extras."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.accounting import allocated_bytes
from benchmarks.quality.tables import table
from sonicpy import Index
from sonicpy.config import load
from sonicpy.evaluation import relevance
from sonicpy.evaluation.inputs import Collection
from sonicpy.lexer import lexer
from sonicpy.lexer.segmenters import Segmenters
from tests.support.texts import messages

PIECES_BYTES = (None, 400, 200, 100)
QUERY_LANGUAGES = (None, "none", "eng", "nld", "spa", "zul")
WINDOWS = (1000, 0)


@contextmanager
def fresh(window: int = 0) -> Iterator[tuple[Index, Path]]:
    """Yield an empty index and its folder; `window`: the setting store.kv.retain_word_objects."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"store.kv.path": folder, "store.kv.retain_word_objects": window}
        with Index(config=load(None, {}, settings).config) as index, index.batch():
            yield index, Path(folder)


def window_table(collection: Collection, beside: int) -> str:
    """Return a table of the costs and gains of the window in a collection to which `beside` chat messages are added.

    The messages are pushed after the documents, so they displace documents from the postings lists of common words.
    """
    chat = {f"message {number}": text for number, text in enumerate(messages(beside))}
    crowded = replace(collection, documents=collection.documents | chat)
    rows = []
    for window in WINDOWS:
        with fresh(window) as (index, folder):
            figures = relevance.evaluate(index, "crowded", crowded)
            index.engine.store.sync()
            disk = allocated_bytes(folder) - allocated_bytes(folder / "log")
        rows.append(
            [
                f"{window}" if window else "0 (every object)",
                f"{figures.ndcg_10:.4f}",
                f"{figures.recall_100:.4f}",
                f"{figures.query_us:.0f}",
                f"{figures.push_us:.0f}",
                f"{disk / 1e6:.1f}",
            ]
        )
    return table(["retain_word_objects", "nDCG@10", "Recall@100", "us a query", "us a PUSH", "MB on disk"], rows)


def language_table(collections: Sequence[Collection]) -> str:
    """Return a table of nDCG@10 for right and wrong languages of queries; the language of documents is guessed."""
    rows = []
    for collection in collections:
        cells = []
        with fresh() as (index, _):
            for number, lang in enumerate(QUERY_LANGUAGES):
                figures = relevance.evaluate(index, f"c{number}", collection, query_lang=lang)
                cells.append(f"{figures.ndcg_10:.4f}" + (f", {figures.empty} empty" if figures.empty else ""))
        rows.append([collection.name, *cells])
    return table(["collection", *(lang or "guessed" for lang in QUERY_LANGUAGES)], rows)


def pieces_table(collections: Sequence[Collection]) -> str:
    """Return a table of nDCG@10 for documents that are pushed in pieces."""
    rows = []
    for collection in collections:
        cells = []
        for most_bytes in PIECES_BYTES:
            with fresh() as (index, _):
                cells.append(f"{relevance.evaluate(index, 'c', collection, most_bytes=most_bytes).ndcg_10:.4f}")
        rows.append([collection.name, *cells])
    return table(["collection", *(f"{size} bytes" if size else "whole" for size in PIECES_BYTES)], rows)


def extras_table(collections: Sequence[Collection]) -> str:
    """Return a table of nDCG@10 with and without dictionaries for Chinese and Japanese.

    Raises:
        ModuleNotFoundError: the extra [ja] is not installed.
    """
    rows = []
    for collection in collections:
        cells = []
        for made in (partial(Segmenters, has_ja=True), partial(Segmenters, has_zh=False, has_ja=False)):
            with patch.object(lexer, "Segmenters", made), fresh() as (index, _):
                figures = relevance.evaluate(index, "c", collection)
            cells += [f"{figures.ndcg_10:.4f}", f"{figures.query_us:.0f}"]
        rows.append([collection.name, *cells])
    return table(["collection", "with dictionaries", "us a query", "without", "us a query"], rows)
