"""Copy a table of FTS5 into an index, and send the same query to both."""

import sqlite3

import sonicpy

ARTICLES = [
    ("Rain jacket", "Light and waterproof, with a hood"),
    ("Party hat", "Paper, in six colours"),
    ("Art supplies", "Brushes, paper and paint for children"),
]


def main() -> None:
    """Make the table, copy it, and send the query."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE articles USING fts5(title, body)")
    db.executemany("INSERT INTO articles VALUES (?, ?)", ARTICLES)
    with sonicpy.open(":memory:") as index:
        rows = db.execute("SELECT rowid, title || ' ' || body FROM articles")
        print(index.push_many(rows, collection="shop", bucket="articles", lang="eng"))
        for text in ("waterproof", "watreproof", "jackets", "paint paper"):
            matches = db.execute("SELECT rowid FROM articles WHERE articles MATCH ? ORDER BY rank", [text])
            before = [number for (number,) in matches]
            after = [int(name) for name in index.query("shop", "articles", text, lang="eng")]
            print(f"{text:<15}  FTS5 {before!s:<10} sonicpy {after}")
    db.close()


if __name__ == "__main__":
    main()
