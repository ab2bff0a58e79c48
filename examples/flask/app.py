"""Search in Flask: a table of SQLite, and an index of it in the same process."""

import sqlite3
from functools import cache

from flask import Flask, request

import sonicpy

app = Flask(__name__)
ARTICLES = [
    (1, "Rain jacket", "Light and waterproof, with a hood"),
    (2, "Party hat", "Paper, in six colours"),
    (3, "Art supplies", "Brushes, paper and paint for children"),
]


@cache
def articles() -> sonicpy.Bucket:
    """Return the bucket of the articles; the first call opens the index."""
    return sonicpy.open("./data/flask").bucket("shop", "articles")


def find(text: str, limit: int = 20) -> list[dict[str, object]]:
    """Return the rows that answer a text, best first."""
    ids = [int(name) for name in articles().query(text, limit=limit)]
    marks = ", ".join("?" * len(ids))
    with sqlite3.connect("shop.db") as db:
        titles = dict(db.execute(f"SELECT id, title FROM articles WHERE id IN ({marks})", ids))
    return [{"id": id, "title": titles[id]} for id in ids if id in titles]


@app.get("/search")
def search() -> list[dict[str, object]]:
    """Answer /search?q=TEXT."""
    return find(request.args.get("q", "")[:200])


@app.cli.command("fill")
def fill() -> None:
    """Make the table, and index it."""
    with sqlite3.connect("shop.db") as db:
        db.execute("CREATE TABLE IF NOT EXISTS articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
        db.executemany("INSERT OR REPLACE INTO articles VALUES (?, ?, ?)", ARTICLES)
        articles().flush()
        rows = db.execute("SELECT id, title || ' ' || body FROM articles")
        print(articles().push_many(rows))
