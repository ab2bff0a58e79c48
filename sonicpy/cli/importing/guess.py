"""The mapping that the columns of a file suggest, as the command to type."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from sonicpy.api.columns import ID_NAMES, columns_like, columns_of_texts


def guessed_command(path: Path, columns: Sequence[str], *flags: str) -> str | None:
    """Return the command that imports a file with these columns; None: the columns suggest none.

    Args:
        flags: the flags with which the file was read, such as --delimiter and its value.
    """
    ids = columns_like(columns, ID_NAMES) or list(columns[:1])
    texts = [name for name in columns_of_texts(columns) if name != ids[0]] or list(columns[1:2])
    if not texts or any(not name for name in (*ids[:1], *texts)):
        return None
    words = ["sonicpy", "import", str(path), *flags, "--id", ids[0]]
    for name in texts:
        words += ["--text", name]
    return shlex.join([*words, "--collection", _collection(path)])


def _collection(path: Path) -> str:
    """Return a name of a collection for a file: the first part of its name in lower case, with _ in place of other
    characters than ASCII letters and digits.
    """
    name = path.name.partition(".")[0]
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).lower()[:64] or "texts"
