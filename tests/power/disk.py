"""A simulated disk: the states that a loss of power may leave of the files that a recorded process wrote.

The model promises no more than POSIX does:

- The content of a file at the start of its last completed sync is on the disk. After later writes, each page of 4 KiB
(in some states each sector of 512 bytes) has its content after some of the writes to it, in their order.
- Punching a hole counts as a write of zeros.
- The size of a file is any that it has had since its last sync; bytes that were never written are zeros.
- A name that was made, replaced or removed since the last sync of its folder may exist or not. A rename happens as a
whole, and for one name an operation happens only if those before it did.
"""

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.disk_recorder import Event

HOLE = struct.Struct("=Q")
PAGE_BYTES = 4096
SECTOR_BYTES = 512
VOLATILE = "lock.mdb"
"""The name of the lock file, which is not recorded: LMDB writes it through a mapping, and makes a new one at the first
open after a start.
"""


@dataclass(slots=True)
class Change:
    """A write of `content` at `place`; without content, a change of the file's size to `place`."""

    at: int
    place: int
    content: bytes | None


@dataclass(slots=True)
class File:
    """A file: the content that is on the disk for certain, and the changes since then."""

    durable: bytearray = field(default_factory=bytearray)
    changes: list[Change] = field(default_factory=list)

    def settle(self, before: int) -> None:
        """Record that the disk holds the changes before an event."""
        while self.changes and self.changes[0].at < before:
            _apply(self.durable, self.changes.pop(0))

    def left(self, dice: random.Random, share: float, grain: int) -> bytes:
        """Return a content that a loss of power may leave: about `share` of the changes, in pieces of `grain` bytes."""
        if any(change.content is None for change in self.changes):
            content = bytearray(self.durable)
            for change in self.changes[: dice.randint(0, len(self.changes))]:
                _apply(content, change)
            return bytes(content)
        return self._mixed(dice, share, grain)

    def _mixed(self, dice: random.Random, share: float, grain: int) -> bytes:
        by_piece: dict[int, list[Change]] = {}
        sizes = [len(self.durable)]
        for change in self.changes:
            assert change.content is not None
            end = change.place + len(change.content)
            sizes.append(max(sizes[-1], end))
            for piece in range(change.place // grain, (end - 1) // grain + 1):
                by_piece.setdefault(piece, []).append(change)
        content = bytearray(sizes[-1])
        content[: len(self.durable)] = self.durable
        for piece, changes in by_piece.items():
            kept = sum(dice.random() < share for _ in changes)
            for change in changes[:kept]:
                assert change.content is not None
                first = max(piece * grain, change.place)
                last = min((piece + 1) * grain, change.place + len(change.content))
                content[first:last] = change.content[first - change.place : last - change.place]
        return bytes(content[: dice.choice(sizes) if dice.random() < 0.5 else sizes[-1]])


@dataclass(frozen=True, slots=True)
class Naming:
    """A change of names: each name leads to a file from then on, or to None if it was removed, or to FOLDER for a
    folder.
    """

    at: int
    names: tuple[tuple[str, int | None], ...]


FOLDER = -1


class Disk:
    """The disk of a recorded process.

    Args:
        root: the folder of the process before the recording; all its content is on the disk.
    """

    def __init__(self, root: Path) -> None:
        self._files: dict[int, File] = {}
        self._of_inode: dict[int, int] = {}
        self._names: dict[str, int] = {}
        self._namings: list[Naming] = []
        self._syncs: dict[int, tuple[int, int, str]] = {}
        self.replies: list[str] = []
        self._root = str(root)
        for path in sorted(root.rglob("*")):
            self._names[str(path)] = FOLDER if path.is_dir() else self._new_file(path.stat().st_ino)
            if path.is_file():
                self._files[self._names[str(path)]].durable = bytearray(path.read_bytes())

    def play(self, at: int, event: Event) -> None:
        """Apply an event; `at` is its place."""
        match event.kind:
            case "c":
                self._namings.append(Naming(at, ((event.path, self._new_file(event.number)),)))
            case "t":
                self._changes(event).append(Change(at, event.other, None))
            case "w":
                self._changes(event).append(Change(at, event.other, event.content))
            case "h":
                self._changes(event).append(Change(at, event.other, bytes(*HOLE.unpack(event.content))))
            case "s":
                self._syncs[event.other] = (at, self._of_inode.get(event.number, FOLDER), event.path)
            case "e":
                self._synced(*self._syncs.pop(event.other))
            case "r":
                before, after = event.path.split("\0")
                self._namings.append(Naming(at, ((before, None), (after, self._standing_for(before)))))
            case "u":
                self._namings.append(Naming(at, ((event.path, None),)))
            case "d":
                self._namings.append(Naming(at, ((event.path, FOLDER),)))
            case "a":
                self.replies += event.content.decode().splitlines()

    def leave(self, dice: random.Random, folder: Path) -> None:
        """Write a state that a loss of power may leave into a folder, which represents the root."""
        share = dice.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        grain = dice.choice((PAGE_BYTES, PAGE_BYTES, SECTOR_BYTES))
        names = self._names_left(dice, dice.choice((0.0, 0.5, 1.0)))
        folder.mkdir()
        folders = {self._root}
        for name, number in sorted(names.items()):
            if os.path.dirname(name) not in folders:
                continue
            path = folder / os.path.relpath(name, self._root)
            if number == FOLDER:
                path.mkdir()
                folders.add(name)
            elif path.name != VOLATILE:
                path.write_bytes(self._files[number].left(dice, share, grain))

    def _names_left(self, dice: random.Random, share: float) -> dict[str, int]:
        names = dict(self._names)
        stuck: set[str] = set()
        for naming in self._namings:
            touched = {name for name, _ in naming.names}
            if stuck & touched or dice.random() >= share:
                stuck |= touched
            else:
                _rename(names, naming)
        return names

    def _new_file(self, inode: int) -> int:
        number = len(self._files)
        self._files[number] = File()
        self._of_inode[inode] = number
        return number

    def _changes(self, event: Event) -> list[Change]:
        return self._files[self._of_inode[event.number]].changes

    def _standing_for(self, name: str) -> int | None:
        for naming in reversed(self._namings):
            for changed, number in naming.names:
                if changed == name:
                    return number
        return self._names.get(name)

    def _synced(self, at: int, number: int, folder: str) -> None:
        if number != FOLDER:
            self._files[number].settle(at)
            return
        for naming in [naming for naming in self._namings if naming.at < at]:
            if os.path.dirname(naming.names[0][0]) == folder:
                _rename(self._names, naming)
                self._namings.remove(naming)


def states(disk: Disk, events: list[Event], count: int, seed: str) -> Iterator[tuple[int, random.Random]]:
    """Play events up to `count` moments; yield each moment with the random generator for a state that may be left."""
    dice = random.Random(seed)
    moments = sorted(dice.randrange(len(events)) for _ in range(count))
    played = 0
    for turn, moment in enumerate(moments):
        while played <= moment:
            disk.play(played, events[played])
            played += 1
        yield moment, random.Random(f"{seed}-{turn}")


def _rename(names: dict[str, int], naming: Naming) -> None:
    for name, number in naming.names:
        if number is None:
            names.pop(name, None)
        else:
            names[name] = number


def _apply(content: bytearray, change: Change) -> None:
    if change.content is None:
        del content[change.place :]
        content.extend(bytes(change.place - len(content)))
        return
    content.extend(bytes(max(0, change.place - len(content))))
    content[change.place : change.place + len(change.content)] = change.content
