"""Reindexer with its engine inside this process."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.kinds import BOTH, IN_BACKGROUND, LIMIT, PREFIX, TYPO, WORD, Item, TextPeer


class Reindexer(TextPeer):
    name = "Reindexer, embedded"
    module = "pyreindexer"
    durability = IN_BACKGROUND

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._database: Any = importlib.import_module("pyreindexer").RxConnector(f"builtin://{folder}")
        self._database.namespace_open("items")
        for name, kind, field, is_key in (
            ("id", "hash", "int64", True), ("name", "hash", "string", False), ("year", "tree", "int", False),
            ("text", "text", "string", False),
        ):  # fmt: skip
            definition = {"name": name, "json_paths": [name], "field_type": field, "index_type": kind, "is_pk": is_key}
            self._database.index_add("items", definition)
        self._rows: dict[int, dict[str, Any]] = {}

    def load(self, items: Sequence[Item]) -> None:
        for number, name, year, text in items:
            row = self._rows[number] = {"id": number, "name": name, "year": year, "text": text}
            self._database.item_upsert("items", row)
        self.find(WORD, ["anything"])  # builds the text index

    def _ids(self, condition: str) -> list[int]:
        rows = self._database.exec_sql(f"SELECT id FROM items WHERE {condition} LIMIT {LIMIT}")
        return [row["id"] for row in rows]

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        signs = {BOTH: "+={}", PREFIX: "{}*", TYPO: "{}~"}.get(kind, "={}")
        return self._ids("text = '" + " ".join(signs.format(word) for word in words) + "'")

    def point(self, number: int) -> bool:
        return bool(self._ids(f"id = {number}"))

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        return self._ids(f"name = '{name}'" + (f" AND year > {year}" if year is not None else ""))

    def update(self, number: int, text: str) -> None:
        self._rows[number]["text"] = text
        self._database.item_upsert("items", self._rows[number])

    def close(self) -> None:
        self._database.close()
