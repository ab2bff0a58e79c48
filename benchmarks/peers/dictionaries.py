"""Dictionaries of Python: the lower limit of the cost of names, and of keys with values."""

import importlib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from benchmarks.peers.kinds import NOTHING, KeyValuePeer, NamePeer, Rows


class DictNames(NamePeer):
    """Names in a dict, added if they are new."""

    name, durability = "dict", NOTHING

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def add(self, rows: Rows) -> None:
        for name, text in rows:
            self._held.setdefault(name, text)

    def has(self, name: str) -> bool:
        return name in self._held


class DictKeys(KeyValuePeer):
    """Keys and values in a dict."""

    name, durability = "dict", NOTHING

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._held: MutableMapping[bytes, bytes] = self.empty()

    def empty(self) -> Any:
        """Return a new, empty dictionary."""
        return {}

    def set(self, key: bytes, value: bytes) -> None:
        self._held[key] = value

    def get(self, key: bytes) -> bytes | None:
        return self._held.get(key)

    def delete(self, key: bytes) -> object:
        return self._held.pop(key, None)


class SortedKeys(DictKeys):
    """Keys and values in a dict, in the order of the keys."""

    name = module = "sortedcontainers"

    def empty(self) -> Any:
        return importlib.import_module("sortedcontainers").SortedDict()
