"""What changes the answers of one version: the window, the language that is given, pieces of documents, the extras."""

import importlib.util
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchmarks.data import messages
from benchmarks.quality.tables import table
from benchmarks.versus.accounting import allocated_bytes
from sonicpy import Index
from sonicpy.config import load
from sonicpy.evaluation import relevance
from sonicpy.evaluation.inputs import Collection
from sonicpy.index.search import ranking
from sonicpy.lexer import segmenters

PIECES_BYTES = (None, 400, 200, 100)
QUERY_LANGUAGES = (None, "none", "eng", "nld", "spa", "zul")
WINDOWS = (1000, 0)


SENTENCES_FROM = {"every query": 10**6, "keyword queries": ranking.KEYWORDS_MAX, "no query": -1}
"""Of which queries special words are required: up to so many other words."""
CLAIM_WORDS = (8, 14)
CLAIM_REPLACED = 0.4
SEED = 7


@contextmanager
def fresh(window: int = 1000) -> Iterator[tuple[Index, Path]]:
    """Yield an empty index and its folder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"store.kv.path": folder, "store.kv.retain_word_objects": window}
        with Index(config=load(None, {}, settings).config) as index, index.batch():
            yield index, Path(folder)


def window_table(collection: Collection, beside: int) -> str:
    """Return what the window costs and gains in a collection with so many chat messages beside its documents.

    The messages are pushed after the documents, so they take the places of common words.
    """
    chat = {f"message {number}": text for number, text in enumerate(messages(beside))}
    crowded = replace(collection, documents=collection.documents | chat)
    rows = []
    for window in WINDOWS:
        with fresh(window) as (index, folder):
            figures = relevance.evaluate(index, "crowded", crowded)
            index.maintainer.sync()
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
    """Return nDCG@10 when the language of queries is given, rightly or wrongly; that of documents is guessed."""
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
    """Return nDCG@10 when documents are pushed in pieces."""
    rows = []
    for collection in collections:
        cells = []
        for most_bytes in PIECES_BYTES:
            with fresh() as (index, _):
                cells.append(f"{relevance.evaluate(index, 'c', collection, most_bytes=most_bytes).ndcg_10:.4f}")
        rows.append([collection.name, *cells])
    return table(["collection", *(f"{size} bytes" if size else "whole" for size in PIECES_BYTES)], rows)


def extras_table(collections: Sequence[Collection]) -> str:
    """Return nDCG@10 with and without dictionaries for Chinese and Japanese."""
    missing = dict.fromkeys(("rjieba", "fugashi", "unidic_lite"))
    rows = []
    for collection in collections:
        cells = []
        for hidden in ({}, missing):
            with (
                patch.object(
                    segmenters, "find_spec", lambda name, hidden=hidden: None if name in hidden else _find_spec(name)
                ),
                fresh() as (index, _),
            ):
                figures = relevance.evaluate(index, "c", collection)
            cells += [f"{figures.ndcg_10:.4f}", f"{figures.query_us:.0f}"]
        rows.append([collection.name, *cells])
    return table(["collection", "with extras", "us a query", "without", "us a query"], rows)


def special_table(collections: Sequence[Collection]) -> str:
    """Return nDCG@10 and empty answers when special words are required of every query, of keyword queries, of none."""
    rows = []
    for collection in (*collections, *(claims(of) for of in collections if of.name.endswith("_en"))):
        cells = []
        for most in SENTENCES_FROM.values():
            with patch.object(ranking, "KEYWORDS_MAX", most), fresh() as (index, _):
                figures = relevance.evaluate(index, "c", collection)
            cells += [f"{figures.ndcg_10:.4f}", str(figures.empty)]
        rows.append([collection.name, *cells])
    return table(["collection", *(cell for name in SENTENCES_FROM for cell in (f"of {name}", "empty"))], rows)


def claims(collection: Collection) -> Collection:
    """Return the documents with queries that are parts of their sentences, four words of ten replaced by others."""
    chance = random.Random(SEED)
    others = [word for text in collection.documents.values() for word in text.split()]
    queries, relevant = {}, {}
    for name, text in collection.documents.items():
        sentences = [words for words in map(str.split, text.split(". ")) if len(words) >= CLAIM_WORDS[0]]
        for number, words in enumerate(chance.sample(sentences, min(3, len(sentences)))):
            count = chance.randint(*CLAIM_WORDS)
            start = chance.randrange(max(1, len(words) - count + 1))
            kept = (chance.choice(others) if chance.random() < CLAIM_REPLACED else word for word in words)
            queries[f"{name} {number}"] = " ".join(list(kept)[start : start + count])
            relevant[f"{name} {number}"] = {name: 1}
    return Collection(f"claims of {collection.name}", collection.documents, queries, relevant)


_find_spec = importlib.util.find_spec
