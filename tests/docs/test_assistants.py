"""Tests of the memory in docs/recipes/assistants.md with real text: sentences, and questions that people asked."""

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, blocks
from tests.support.shared_data import shared_data

PAGE = DOCS / "recipes" / "assistants.md"
EVERY = 45
"""One sentence in this many is remembered, so that there are many subjects."""
BAR = 0.95
"""The share of questions whose sentence is among the first five answers."""


@pytest.fixture(scope="module")
def memory_class() -> Any:
    """Return the class of the memory on the page."""
    (block,) = (block.code for block in blocks(PAGE) if block.language == "python" and "class Memory" in block.code)
    namespace: dict[str, Any] = {}
    exec(compile(block.partition("\nCHAT = [")[0], str(PAGE), "exec"), namespace)
    return namespace["Memory"]


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    """Return sentences, each with an identifier."""
    lines = shared_data("ir/squad_sentences_dev/docs.jsonl").read_text("utf-8").splitlines()
    return [(row["id"], row["text"]) for row in map(json.loads, lines[::EVERY])]


@pytest.fixture(scope="module")
def questions(texts: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """Return questions, each with the number of the sentence that answers it."""
    folder = shared_data("ir/squad_sentences_dev")
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    asked = {row["id"]: row["text"] for row in map(json.loads, lines)}
    with open(folder / "qrels.tsv", encoding="utf-8") as file:
        judged = [(asked[query], document) for query, document, *_ in csv.reader(file, delimiter="\t")]
    numbers = {document: number for number, (document, _) in enumerate(texts, 1)}
    return [(text, numbers[document]) for text, document in judged if document in numbers]


def share(questions: list[tuple[str, int]], recall: Callable[[str], list[int]]) -> float:
    return sum(number in recall(text) for text, number in questions) / len(questions)


@pytest.fixture
def by_fts5(texts: list[tuple[str, str]]) -> Iterator[Callable[[str], list[int]]]:
    """Return a function that asks FTS5 for any word of a question, as the memory of assistants usually does."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter')")
        db.executemany("INSERT INTO said VALUES (?)", [(text,) for _, text in texts])

        def recall(question: str) -> list[int]:
            match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
            rows = db.execute("SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT 5", (match,))
            return [number for (number,) in rows]

        yield recall


def misspelt(question: str) -> str:
    """Return the question with the third letter of its longest word left out."""
    longest = max(question.split(), key=len)
    return question.replace(longest, longest[:2] + longest[3:])


@pytest.mark.full
def test_questions_of_people_find_what_was_said(
    memory_class: Any,
    texts: list[tuple[str, str]],
    questions: list[tuple[str, int]],
    by_fts5: Callable[[str], list[int]],
    tmp_path: Path,
) -> None:
    memory = memory_class(tmp_path)

    def recall(question: str) -> list[int]:
        return [number for number, *_ in memory.recall(question, k=5)]

    with closing(memory):
        for day, (_, text) in enumerate(texts):
            memory.remember("encyclopaedia", "user", day, text)
        wrong = [(misspelt(text), number) for text, number in questions]
        assert len(questions) > 150
        assert share(questions, recall) >= BAR
        assert share(wrong, recall) >= max(BAR, share(wrong, by_fts5))
        prompt = memory.prompt(questions[0][0], k=5)
    assert texts[questions[0][1] - 1][1] in prompt and prompt.endswith(questions[0][0])
