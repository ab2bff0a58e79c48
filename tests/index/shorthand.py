"""Helpers of this folder: an index with some settings, and its state as a whole."""

from pathlib import Path
from typing import Any

from sonicpy import Config, Index

C, B = "collection", "bucket"


def open_index(folder: Path, *, commits_late: bool = False, **settings: object) -> Index:
    """Open an index; settings are named with `__` for dots, as in search__ranking="newest". No word is completed or
    corrected, unless search__query_alternates_try says so.
    """
    given: dict[str, Any] = {}
    for key, value in {"search__query_alternates_try": 0, **settings}.items():
        *path, name = key.split("__")
        section = given
        for part in path:
            section = section.setdefault(part, {})
        section[name] = value
    return Index(folder / "store", Config.model_validate(given), commits_late=commits_late)


def push(index: Index, oid: str, text: str, lang: str | None = "none") -> None:
    """Push into the usual bucket."""
    index.push(C, B, oid, text, lang)


def found(index: Index, text: str, limit: int = 1000, offset: int = 0, lang: str | None = "none") -> list[str]:
    """Return the objects that a query finds in the usual bucket."""
    return index.query(C, B, text, limit=limit, offset=offset, lang=lang).objects


def contents(index: Index, bucket: str = B) -> dict[str, set[str]]:
    """Return the objects that each word of a bucket finds; compare all figures that can be counted on the way."""
    words = index.words(C, bucket, limit=10_000)
    assert index.count_words(C, bucket) == len(words)
    finds = {word: set(index.query(C, bucket, word, limit=10_000, lang="none")) for word in words}
    objects = set().union(*finds.values()) if finds else set()
    assert index.count_objects(C, bucket) == len(objects)
    for oid in objects:
        assert index.count_object_words(C, bucket, oid) == sum(oid in held for held in finds.values()), oid
    return finds
