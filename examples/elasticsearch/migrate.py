"""Index a dump of Elasticsearch, and search it: `python migrate.py articles.jsonl "watreproof jackt"`."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import sonicpy

TEXT_FIELDS = ("title", "body")


def rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the id and the text fields of each document."""
    for line in lines:
        document = json.loads(line)
        yield {"id": document["_id"], **{field: document["_source"].get(field) for field in TEXT_FIELDS}}


def main(path: str, text: str) -> None:
    """Index the documents of a file, and print the answer to a text."""
    with sonicpy.open("./data/elasticsearch") as index, open(path, encoding="utf-8") as lines:
        articles = index.bucket("shop", "articles")
        print(articles.push_many(rows(lines), text=TEXT_FIELDS))
        # Titles come from where the documents live: a database, or in this example the dump.
        lines.seek(0)
        titles = {row["id"]: row["title"] for row in rows(lines)}
        for name in articles.query(text):
            print(name, titles[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
