"""A small judged collection, as a folder."""

import json
from pathlib import Path

DOCUMENTS = {
    "d 1": ("", "The lighthouse keeper counts the ships that pass at night."),
    "d2": ("Harbour", "Ships unload timber and grain in the old harbour of the town."),
    "d3": ("", "A recipe for bread needs flour, water, salt and yeast."),
    "d4": ("", "The keeper of the museum shows paintings of ships."),
}
QUERIES = {
    "q1": "Which keeper counts ships at night?",
    "q2": "What is unloaded in the harbour?",
    "q3": "zzyzx",
    "unjudged": "bread",
}
JUDGEMENTS = [("q1", "d 1", 2), ("q1", "d4", 1), ("q2", "d2", 1), ("q2", "d3", 0), ("q3", "d3", 1)]


def write_collection(folder: Path, *, like_beir: bool = False) -> Path:
    """Write the collection with the names of files and keys of BEIR, or with the short ones; return the folder."""
    key = "_id" if like_beir else "id"
    folder.mkdir(parents=True)
    documents = [{key: name, "title": title, "text": text} for name, (title, text) in DOCUMENTS.items()]
    write_lines(folder / ("corpus.jsonl" if like_beir else "docs.jsonl"), map(json.dumps, documents))
    write_lines(folder / "queries.jsonl", (json.dumps({key: name, "text": text}) for name, text in QUERIES.items()))
    rows = [f"{query}\t{document}\t{grade}" for query, document, grade in JUDGEMENTS]
    if like_beir:
        (folder / "qrels").mkdir()
        write_lines(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])
    else:
        write_lines(folder / "qrels.tsv", rows)
    return folder


def write_lines(path: Path, lines: object) -> None:
    assert hasattr(lines, "__iter__")
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
