"""Position: how far an import has come, in a small file, so that the next import can continue there.

The file is written after the rows before the position are stored durably, so these are never missing. Rows behind it
may be stored too; to push them again changes nothing. The file is in the folder of the index, or for a server in the
folder of the user's state ($XDG_STATE_HOME, ~/.local/state).
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sonicpy.errors import SonicError

HEAD_BYTES = 1 << 16
"""Bytes at the beginning of a file whose digest tells whether it is still the same file."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far an import has come.

    Attributes:
        rows: number of rows read.
        indexed, refused: how many of them were indexed and refused.
        bad_bytes: size of the file of refused rows.
        head, head_bytes: digest of the first bytes of the imported file, and how many they are.
    """

    rows: int = 0
    indexed: int = 0
    refused: int = 0
    bad_bytes: int = 0
    head: str = ""
    head_bytes: int = 0


def position_file(folder: Path, source: Path, meaning: str) -> Path:
    """Return the path of the file for the position of an import.

    Args:
        folder: the folder of positions.
        source: the file to import.
        meaning: everything that decides which rows the file has and what they mean; another one is another import.
    """
    name = hashlib.blake2b(f"{source.resolve()}\0{meaning}".encode("utf-8", "surrogateescape"), digest_size=10)
    return folder / f"{name.hexdigest()}.json"


def user_folder() -> Path | None:
    """Return the folder of positions for imports into servers; None: the user has no home folder."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state")
    try:
        return state.expanduser() / "sonicpy" / "import"
    except RuntimeError:  # there is neither HOME nor an entry of the user, as in many containers
        return None


def read_position(path: Path, source: Path) -> Position:
    """Return how far the import of a file had come when it was interrupted; the beginning if it was not.

    Raises:
        SonicError: the file has changed since, or the position cannot be read.
    """
    try:
        position = Position(**json.loads(path.read_text()))
        head, _ = head_of(source, position.head_bytes)
    except FileNotFoundError:
        return Position()
    except (OSError, ValueError, TypeError) as error:
        raise SonicError(f"cannot read where the import of {source} was interrupted: {path}: {error}") from error
    if head != position.head:
        raise SonicError(f"{source} has changed since its import was interrupted; import it without --resume")
    return position


def write_position(path: Path, position: Position) -> None:
    """Replace the saved position. Raises SonicError if it cannot be written."""
    temporary = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps(asdict(position)))
            file.flush()
            os.fsync(file.fileno())  # the name may not be there before the content; an older position does no harm
        os.replace(temporary, path)
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error


def remove_position(path: Path) -> None:
    """Remove the saved position of an import that is complete."""
    path.unlink(missing_ok=True)


def head_of(source: Path, size: int = HEAD_BYTES) -> tuple[str, int]:
    """Return a digest of the first `size` bytes of a file, and how many bytes it had. Raises OSError."""
    with open(source, "rb") as file:
        head = file.read(size)
    return hashlib.blake2b(head, digest_size=16).hexdigest(), len(head)
