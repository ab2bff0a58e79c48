"""Index documents of Meilisearch, and search them: `python migrate.py documents.json "watreproof jackt"`."""

import json
import sys
from pathlib import Path

import sonicpy

SEARCHABLE = ("title", "body")
"""The searchableAttributes of the old index."""


def main(path: str, text: str) -> None:
    """Index the documents of a file, and print the answer to a text."""
    documents = json.loads(Path(path).read_text(encoding="utf-8"))["results"]
    titles = {str(document["id"]): document["title"] for document in documents}
    with sonicpy.open("./data/meilisearch") as index:
        articles = index.bucket("shop", "articles")
        print(articles.push_many(documents, text=SEARCHABLE))
        for name in articles.query(text):
            print(name, titles[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
