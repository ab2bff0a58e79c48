"""The inputs of an evaluation: judged collections in the layout of BEIR, misspelt words, sentences by language.

A collection is a folder:

    docs.jsonl or corpus.jsonl    {"id" or "_id", "text", "title" (optional)} on each line
    queries.jsonl                 {"id" or "_id", "text"} on each line
    qrels.tsv or qrels/test.tsv   query, document, relevance; a header is skipped

Misspelt words are a file of `wrong<TAB>right`, further columns are ignored. Sentences are a file of
`language<TAB>...<TAB>text` with four columns, the language in ISO 639-3.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sonicpy.errors import EvaluationError
from sonicpy.langcodes import LANG_CODES

DOCUMENT_FILES = ("docs.jsonl", "corpus.jsonl")
QUERIES_FILE = "queries.jsonl"
JUDGEMENT_FILES = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")
SENTENCE_COLUMNS = 4
COUNT_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries, and the relevant documents of each query."""

    name: str
    documents: dict[str, str]
    """Id -> text of each document, with its title in front."""
    queries: dict[str, str]
    """Id -> text of each judged query."""
    relevant: dict[str, dict[str, int]]
    """Query id -> document id -> grade above 0."""


@dataclass(frozen=True, slots=True)
class Typos:
    """A list of misspelt words with the right ones."""

    name: str
    pairs: list[tuple[str, str]]
    """The pairs (wrong word, right word)."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences of known languages."""

    name: str
    texts: list[tuple[str, str]]
    """The pairs (ISO 639-3 code, text)."""


Input = Collection | Typos | Sentences


def read_inputs(path: Path) -> Iterator[Input]:
    """Yield the inputs in a path: a collection, all collections and files of a folder in order of name, or one file.

    Raises:
        EvaluationError: there is no input, or a line cannot be read; the message names the file and the line.
    """
    if path.is_file():
        yield read_rows(path)
    elif _first(path, DOCUMENT_FILES):
        yield read_collection(path)
    elif path.is_dir() and (parts := _parts(path)):
        for part in parts:
            yield from read_inputs(part)
    else:
        raise EvaluationError(
            f"{path} holds nothing to evaluate; allowed are a folder with {' or '.join(DOCUMENT_FILES)}, a folder of "
            "such folders, and a TSV file of misspelt words or of sentences by language"
        )


def read_collection(folder: Path) -> Collection:
    """Return the judged collection in a folder. Raises EvaluationError as `read_inputs` does."""
    documents = {}
    file = _needed(folder, DOCUMENT_FILES)
    for identity, row in _json_rows(file):
        title = row.get("title") or ""
        documents[identity] = f"{title}\n{row['text']}" if title else row["text"]
    if not documents:
        raise EvaluationError(f"{file} holds no document; allowed is one or more, each on a line")
    relevant: dict[str, dict[str, int]] = {}
    for query, document, grade in _judgements(_needed(folder, JUDGEMENT_FILES)):
        if grade > 0:
            relevant.setdefault(query, {})[document] = grade
    asked = _json_rows(_needed(folder, (QUERIES_FILE,)))
    queries = {identity: row["text"] for identity, row in asked if identity in relevant}
    if not queries:
        raise EvaluationError(f"{folder} has no judged query: ids in {QUERIES_FILE} and in the judgements differ")
    return Collection(folder.resolve().name, documents, queries, {query: relevant[query] for query in queries})


def read_rows(path: Path) -> Typos | Sentences:
    """Return the content of a TSV file of misspelt words or of sentences. Raises EvaluationError as `read_inputs`
    does."""
    rows = [line.split("\t") for line in _lines(path) if line]
    if rows and all(len(row) == SENTENCE_COLUMNS for row in rows[:5]) and rows[0][0] in LANG_CODES:
        return Sentences(path.stem, [(row[0], row[-1]) for row in rows if len(row) == SENTENCE_COLUMNS])
    for number, row in enumerate(rows, 1):
        if len(row) < 2:
            raise EvaluationError(f"{path}, row {number}: there is no tab; allowed is wrong<TAB>right")
    return Typos(path.stem, [(row[0], row[1]) for row in rows])


def read_words(path: Path) -> dict[str, int]:
    """Return word -> count from a file with one word a line; a count may follow a word after white space.

    Raises:
        EvaluationError: the file cannot be read, or a count is not a whole number of at most 18 digits.
    """
    words = {}
    for number, line in enumerate(_lines(path), 1):
        word, *counts = line.lstrip("\ufeff").split()[:2] or [""]
        if counts and re.fullmatch(r"\d{1,18}", counts[0]) is None:
            given = counts[0] if len(counts[0]) <= COUNT_SHOWN else f"{counts[0][:COUNT_SHOWN]}..."
            raise EvaluationError(
                f"{path}, line {number}: {given!r} is no count; allowed is a whole number of at most 18 digits"
            )
        if word:
            words[word] = int(counts[0]) if counts else 1
    return words


def _parts(folder: Path) -> list[Path]:
    return sorted(
        part for part in folder.iterdir() if part.suffix == ".tsv" or (part.is_dir() and _first(part, DOCUMENT_FILES))
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _needed(folder: Path, names: tuple[str, ...]) -> Path:
    found = _first(folder, names)
    if found is None:
        raise EvaluationError(f"{folder} has no {' or '.join(names)}")
    return found


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the id and the JSON object of each line of a file. Raises EvaluationError if a line is no object with an
    id.
    """
    for number, line in enumerate(_lines(path), 1):
        if not line:
            continue
        try:
            row = json.loads(line)
            identity = row["_id"] if "_id" in row else row["id"]
            row["text"] = row.get("text") or ""
            if not isinstance(row["text"], str):
                raise TypeError(row["text"])
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise EvaluationError(
                f'{path}, line {number}: this is no {{"id": ..., "text": ...}} or {{"_id": ..., "text": ...}}'
            ) from error
        yield str(identity), row


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        if len(columns) == 4:  # as in TREC: query, iteration, document, relevance
            del columns[1]
        if not line or (number == 1 and not columns[-1].lstrip("-").isdecimal()):
            continue  # a header
        if len(columns) != 3 or re.fullmatch(r"-?[0-9]{1,9}", columns[2]) is None:
            raise EvaluationError(f"{path}, line {number}: allowed is query<TAB>document<TAB>relevance, a whole number")
        yield columns[0], columns[1], int(columns[2])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise EvaluationError(f"{path} cannot be read: {reason}") from error
