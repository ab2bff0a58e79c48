"""A small disk for one test, which can be filled to the last page."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DISK_BYTES = 6 << 20


@contextmanager
def disk(folder: Path, size_bytes: int = DISK_BYTES) -> Iterator[Path]:
    """Mount a small disk at `folder` inside a `with` block; skip the test where that is not allowed."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "sonicpy-test", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"needs the right to mount a disk in memory: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, leave_bytes: int = 0) -> Path:
    """Fill the disk except for `leave_bytes`; return the file to delete to get the space back."""
    room = folder / "room"
    room.write_bytes(b"x" * leave_bytes)
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:  # full: try smaller pieces
                continue
    room.unlink()
    return filler
