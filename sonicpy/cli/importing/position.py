"""Position: the progress of an import, in a small file, so that the next import can continue there.

The file is written after the rows before the position are stored durably, so no row before it is lost. Rows after it
may be stored too: pushing them again changes no object, and only counts their texts by language twice. The file is in
the folder of the index; for a server, it is in the folder of the user's state ($XDG_STATE_HOME, ~/.local/state).
"""

import errno
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sonicpy.errors import SonicError
from sonicpy.files import make_all, new_text

DIGESTED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Position:
    """The progress of an import.

    Attributes:
        rows: the number of rows read.
        indexed, refused: how many of them were indexed and refused.
        bad_bytes: the size in bytes of the file of refused rows.
        head, head_bytes: the digest of the first bytes of the imported file, and their number: all bytes that were
            read for these rows. Older versions digested at most 65,536.
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
        meaning: all arguments that affect the rows and their entries; other arguments make another import.
    """
    name = hashlib.blake2b(f"{source.resolve()}\0{meaning}".encode("utf-8", "surrogateescape"), digest_size=10)
    return folder / f"{name.hexdigest()}.json"


def user_folder() -> Path | None:
    """Return the folder of positions for imports into servers; None: the user has no home, as in some containers."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state")
    try:
        return state.expanduser() / "sonicpy" / "import"
    except RuntimeError:
        return None


def check_user_folder(folder: Path) -> None:
    """Raise SonicError unless the folder of positions can be written or created."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        raise SonicError(f"cannot look into {folder}: {error.strerror}") from error
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        code = errno.EACCES if there.is_dir() else errno.ENOTDIR
        raise SonicError(f"cannot write {folder}: {os.strerror(code)}")


def read_position(path: Path, source: Path) -> Position:
    """Return the position at which the import of a file was interrupted; the beginning if it was not interrupted.

    Raises:
        SonicError: the file has changed since, or the position cannot be read.
    """
    try:
        position = Position(**json.loads(path.read_text()))
        with FileHead(source) as head:
            has_changed = head.digest(position.head_bytes) != position.head or head.size != position.head_bytes
    except FileNotFoundError:
        return Position()
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise SonicError(f"cannot read where the import of {source} was interrupted: {path}: {error}") from error
    if has_changed:
        raise SonicError(f"{source} has changed since its import was interrupted; import it without --resume")
    return position


def write_position(path: Path, position: Position) -> None:
    """Replace the saved position. Raises SonicError if it cannot be written."""
    temporary = path.with_suffix(".new")
    try:
        make_all(path.parent)
        with new_text(temporary) as file:
            file.write(json.dumps(asdict(position)))
            file.flush()
            os.fsync(file.fileno())  # the name may not be there before the content; an older position does no harm
        os.replace(temporary, path)
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error


def remove_position(path: Path) -> None:
    """Remove the saved position of an import that is complete."""
    path.unlink(missing_ok=True)


class FileHead:
    """The bytes at the beginning of a file, whose digest is extended as the file is imported. Raises OSError.

    Attributes:
        size: the number of bytes digested.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115  __exit__ closes it
        self._hash = hashlib.blake2b(digest_size=16)
        self.size = 0

    def __enter__(self) -> "FileHead":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def digest(self, size: int) -> str:
        """Return the digest of the first `size` bytes, of fewer if the file is shorter. Raises OSError."""
        while part := self._file.read(min(max(size - self.size, 0), DIGESTED_AT_ONCE)):
            self._hash.update(part)
            self.size += len(part)
        return self._hash.hexdigest()
