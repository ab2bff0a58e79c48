"""A search box in Flask: a table of SQLite, and an index of it in the same process."""

import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask, Response, request, send_file

import sonicpy

app = Flask(__name__)
PAGE = Path(__file__).with_name("page.html")
ARTICLES = [
    (1, "Rain jacket", "Light and waterproof, with a hood"),
    (2, "Party hat", "Paper, in six colours"),
    (3, "Art supplies", "Brushes, paper and paint for children"),
]


@cache
def articles() -> sonicpy.Bucket:
    """Return the bucket of the articles; the first call opens the index."""
    return sonicpy.open("./data/flask").bucket("shop", "articles")


def find(text: str, limit: int = 20) -> list[dict[str, Any]]:
    """Return the rows that answer a text, best first, with its words marked."""
    explained = articles().explain(text, limit=limit)
    ids = [int(hit.object) for hit in explained.hits]
    asked = f"SELECT id, title, body FROM articles WHERE id IN ({', '.join('?' * len(ids))})"
    with sqlite3.connect("shop.db") as db:
        rows = {row[0]: row[1:] for row in db.execute(asked, ids)}
    hits = []
    for id in (id for id in ids if id in rows):
        title, body = (sonicpy.highlight(each, explained, escape=True) for each in rows[id])
        hits.append({"id": id, "title": title, "text": body})
    return hits


def completions(text: str) -> list[str]:
    """Return words that complete the last word of a text."""
    try:
        return articles().suggest(text, limit=5)
    except sonicpy.CommandError:  # no word yet, or two in one, such as "a/b"
        return []


@app.get("/search")
def search() -> dict[str, Any]:
    """Answer /search?text=TEXT."""
    text = request.args.get("text", "")[:200]
    return {"hits": find(text), "suggestions": completions(text)}


@app.get("/")
def page() -> Response:
    """Return the page with the search box."""
    return send_file(PAGE)


@app.cli.command("fill")
def fill() -> None:
    """Make the table, and index it."""
    with sqlite3.connect("shop.db") as db:
        db.execute("CREATE TABLE IF NOT EXISTS articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
        db.executemany("INSERT OR REPLACE INTO articles VALUES (?, ?, ?)", ARTICLES)
        articles().flush()
        rows = db.execute("SELECT id, title || ' ' || body FROM articles")
        print(articles().push_many(rows))
