"""How far an import has come, so that the next one can go on there: a small file, replaced once rows are safe.

It never stands before what was stored: a position is written after the rows before it were. Rows behind it may have
been stored too; pushed again they change nothing. For a folder it stands in the folder, and goes with it; for a server
among the user's state ($XDG_STATE_HOME, ~/.local/state).
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sonicpy.errors import SonicError

HEAD_BYTES = 1 << 16
"""Of a file are looked at, to tell whether it is still the same."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far an import has come.

    Attributes:
        rows: read so far.
        indexed, refused: what became of them.
        bad_bytes: how long the file of refused rows was.
        head, head_bytes: digest of so many bytes at the begin of the file.
    """

    rows: int = 0
    indexed: int = 0
    refused: int = 0
    bad_bytes: int = 0
    head: str = ""
    head_bytes: int = 0


def position_file(folder: Path, source: Path, meaning: str) -> Path:
    """Return where the position of an import is kept.

    Args:
        folder: of positions.
        source: the file that is imported.
        meaning: what decides which rows it has and what they mean: with another one, it is another import.
    """
    name = hashlib.blake2b(f"{source.resolve()}\0{meaning}".encode("utf-8", "surrogateescape"), digest_size=10)
    return folder / f"{name.hexdigest()}.json"


def user_folder() -> Path:
    """Return the folder of positions of imports into servers."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "sonicpy" / "import"


def read_position(path: Path, source: Path) -> Position:
    """Return how far the import of a file has come; the beginning, if none was interrupted.

    Raises:
        SonicError: the file has changed since, or the position cannot be read.
    """
    try:
        position = Position(**json.loads(path.read_text()))
        head, _ = head_of(source, position.head_bytes)
    except FileNotFoundError:
        return Position()
    except (OSError, ValueError, TypeError) as error:
        raise SonicError(f"cannot tell where the import of {source} was interrupted: {path}: {error}") from error
    if head != position.head:
        raise SonicError(f"{source} has changed since its import was interrupted; import it without --resume")
    return position


def write_position(path: Path, position: Position) -> None:
    """Replace the position by a later one. Raises SonicError if it cannot be written."""
    temporary = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(asdict(position)))
        os.replace(temporary, path)
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error


def forget_position(path: Path) -> None:
    """Forget the position of an import that has ended."""
    path.unlink(missing_ok=True)


def head_of(source: Path, size: int = HEAD_BYTES) -> tuple[str, int]:
    """Return a digest of the first `size` bytes of a file, and how many there were. Raises OSError."""
    with open(source, "rb") as file:
        head = file.read(size)
    return hashlib.blake2b(head, digest_size=16).hexdigest(), len(head)
