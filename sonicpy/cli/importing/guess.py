"""The mapping that the columns of a file suggest, as the command to type."""

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

ID_NAMES = (
    "id", "object", "sku", "key", "uuid", "guid", "isbn", "asin", "ean", "code", "number", "no", "nr", "slug", "url",
)  # fmt: skip
"""Names of columns that hold the name of a row, the likeliest first."""
TEXT_NAMES = (
    "text", "title", "name", "headline", "subject", "body", "description", "summary", "content", "message", "comment",
)  # fmt: skip
"""Names of columns that hold texts, in the order in which they are joined."""


def guessed_command(path: Path, columns: Sequence[str], *flags: str) -> str | None:
    """Return the command that imports a file with these columns; None: they suggest none.

    Args:
        flags: with which the file was read, such as --delimiter and its value.
    """
    ids = _like(columns, ID_NAMES) or list(columns[:1])
    likely = chain.from_iterable(_like(columns, [name]) for name in TEXT_NAMES)
    texts = [name for name in dict.fromkeys(likely) if name != ids[0]] or list(columns[1:2])
    if not texts or any(not name for name in (*ids[:1], *texts)):
        return None
    words = ["sonicpy", "import", str(path), *flags, "--id", ids[0]]
    for name in texts:
        words += ["--text", name]
    return shlex.join([*words, "--collection", _collection(path)])


def _like(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns that have one of some names, or end in it (product_id), in the order of the names."""
    found = dict.fromkeys(column for name in names for column in columns if column.casefold() == name)
    more = (column for name in names for column in columns if column.casefold().endswith((f"_{name}", f" {name}")))
    return list(found) or list(dict.fromkeys(more))


def _collection(path: Path) -> str:
    """Return a name of a collection for a file: the first part of the file's own, as far as it is ASCII."""
    name = path.name.partition(".")[0]
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).lower()[:64] or "texts"
