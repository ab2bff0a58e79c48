"""The write-ahead log: acknowledged changes that may not be in the environment yet.

    segment   <first position, 16 hex digits>.log
    header    "SONICLOG" | format version u16 | first position u64                 (little-endian)
    record    size u32 | CRC-32 of the payload u32 | payload (never empty)         (little-endian)

A position counts the bytes of records since the store was made, without headers. Only complete records count:
everything from the first damaged record on was never acknowledged, or the disk has lost it.
"""

import contextlib
import errno
import os
import re
import struct
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from sonicpy._native.held import Descriptor, Held
from sonicpy._native.records import RECORD_BYTES_MAX, frame_records
from sonicpy.disk import sync_file, sync_folder
from sonicpy.errors import StoreDamaged, StoreError, StoreFull
from sonicpy.files import PRIVATE, Access, make_fresh
from sonicpy.store.disk.lasting_sync import LastingSync
from sonicpy.store.disk.platform import make_folder

MAGIC = b"SONICLOG"
FORMAT_VERSION = 1
HEADER = struct.Struct("<8sHQ")
RECORD = struct.Struct("<II")
RECORD_MAX_BYTES = RECORD_BYTES_MAX
READ_BYTES = 1 << 20
PAYLOAD_SOUGHT_BYTES = 1 << 16
"""The bytes among which the end of a payload is sought whose size is damaged: a long record that was cut short is read
quickly, and matches no checksum by chance."""
SEGMENT_NAME = r"[0-9a-f]{16}\.log"


class Segment(NamedTuple):
    """A file of the log and the position of its first record."""

    path: Path
    start: int


class Records(Protocol):
    """The methods of a log that a store needs. It holds the records since the last commit, and perhaps older ones;
    `Log` documents each method.

    Attributes:
        position: the end of the last record.
    """

    position: int

    @property
    def file(self) -> Path | None: ...
    def replay(self, position: int) -> Iterator[tuple[int, bytes]]: ...
    def start(self, position: int) -> list[Path]: ...
    def append(self, payloads: list[bytes]) -> int: ...
    def cut_rest(self) -> None: ...
    def rotate(self) -> None: ...
    def retire(self, position: int) -> None: ...
    def sync(self) -> int: ...
    def bytes_in_segment(self) -> int: ...
    def size_bytes(self) -> int: ...
    def close(self) -> None: ...


class Log:
    """Appends records and reads them back; positions rise and are never reused.

    Args:
        folder: created if it is missing.
        access: modes of new files.

    Raises:
        StoreError: the folder cannot be used, or a segment has an unknown format version.
    """

    def __init__(self, folder: Path, access: Access = PRIVATE) -> None:
        self._folder = folder
        self._access = access
        self._file: Descriptor  # of the current segment, from `start` on
        self._descriptor = -1  # its number
        self._unsynced: list[Descriptor] = []  # of older segments that no sync has covered yet
        self._switching = threading.RLock()  # between a rotation and a sync on another thread
        self._syncs = LastingSync(f"the log in {folder}")
        self._older: list[Segment] = []
        self._current: Segment  # from `start` on
        self._begun = 0  # segments
        self._synced = -1  # the position up to which the disk has the log
        self._listed = 0  # how many of them the folder's list on the disk names
        self._may_have_rest = False  # something may follow the last acknowledged record
        self.position: int
        """The position of the next record, valid after `start`: the end of the last acknowledged record."""
        try:
            make_folder(folder, access)
        except OSError as error:
            raise StoreError(f"cannot use {folder} for the log: {error.strerror}") from error

    def replay(self, position: int) -> Iterator[tuple[int, bytes]]:
        """Yield every complete record from `position` on, oldest first, with the position behind it.

        Raises:
            StoreDamaged: the log begins only behind `position`.
            StoreError: a segment cannot be read, or has an unknown format version.
        """
        segments = segments_in(self._folder)
        if segments and segments[0].start > position:
            raise StoreDamaged(
                f"the log in {self._folder} begins at {segments[0].start}, but the store needs it from {position} on: "
                "put back the log files that were here, or move the folder away to go on without their changes"
            )
        for segment in _needed(segments, position):
            if segment.start > position:  # the segment before is damaged: no later record counts
                return
            for end, payload in read_segment(segment, position):
                position = end
                yield position, payload

    def start(self, position: int) -> list[Path]:
        """Begin a new segment at `position`, where replay ended; return damaged files that were set aside.

        Nothing is ever appended behind a damaged record: older segments stay until `retire`, except segments that begin
        at or behind `position`, which were never acknowledged or cannot be read, and the one that is damaged there.

        Raises:
            StoreError: a file cannot be set aside, begun or synced.
        """
        set_aside = []
        segments = segments_in(self._folder)
        before = [segment for segment in segments if segment.start < position]
        if before and _holds_more(last := before[_last_filled(before)], position):
            before.remove(last)  # `retire` would delete whole records behind the damage
        self._older += before
        for segment in segments:
            if segment in before:
                continue
            aside = segment.path.with_suffix(".damaged")
            try:
                os.replace(segment.path, aside)
                if aside.stat().st_size > HEADER.size:
                    set_aside.append(aside)
                else:
                    aside.unlink()
            except OSError as error:
                raise StoreError(f"cannot set aside the log file {segment.path}: {error.strerror}") from error
        self._open_segment(position)
        self.sync()
        return set_aside

    def append(self, payloads: list[bytes]) -> int:
        """Write the records with one call; return the new `position` behind them.

        Raises:
            StoreFull: the records could not be written; the log is unchanged.
            StoreError: a record is too long.
        """
        try:
            framed = frame_records(payloads)
        except ValueError as error:
            raise StoreError(str(error)) from None
        try:
            if self._may_have_rest:
                self._cut_rest()
            self._may_have_rest = True
            written = os.write(self._descriptor, framed)
            if written != len(framed):
                raise OSError(errno.ENOSPC, f"only {written} of {len(framed)} bytes were taken")
        except OSError as error:
            with contextlib.suppress(OSError):  # the next append tries again before it writes
                self._cut_rest()
            raise StoreFull(f"cannot write the log in {self._folder}: {error.strerror}") from error
        self._may_have_rest = False
        self.position = position = self.position + written  # no exception comes between these two
        return position

    def cut_rest(self) -> None:
        """Cut off the bytes that a failed or interrupted append left behind the last complete record.

        Raises:
            StoreFull: the bytes cannot be cut off.
        """
        if not self._may_have_rest:
            return
        try:
            self._cut_rest()
        except OSError as error:
            raise StoreFull(f"cannot write the log in {self._folder}: {error.strerror}") from error

    def rotate(self) -> None:
        """Begin a new segment, so that the older ones can be deleted once a sync of the environment covers them.

        Raises:
            StoreFull: the new segment could not be begun; the old one stays in use.
        """
        if self.position > self._current.start:
            self.cut_rest()  # else the bytes would count as records of the next segment
            self._open_segment(self.position)

    def retire(self, position: int) -> None:
        """Delete the segments whose records all lie before `position`.

        Raises:
            StoreError: a segment could not be deleted; a later call tries again.
        """
        segments = [*self._older, self._current]
        for segment, following in zip(segments, segments[1:], strict=False):
            if following.start <= position:
                try:
                    segment.path.unlink(missing_ok=True)
                except OSError as error:
                    raise StoreError(f"cannot delete the log file {segment.path}: {error.strerror}") from error
                self._older.remove(segment)

    def sync(self) -> int:
        """Wait until the log is on the disk; return the position up to which it is there. Any thread may call this.

        Threads that call it during a sync share the next one.

        Raises:
            SyncFailed: the disk failed, now or in an earlier call; nothing counts as synced any more.
            StoreError: the disk has no room, or no file can be opened; nothing counts as synced.
        """
        asked, begun = self.position, self._begun
        self._syncs.run(partial(self._sync, asked, begun))
        return max(asked, self._synced)

    def _sync(self, asked: int, begun: int) -> None:
        """Wait for the disk, unless it has everything up to the position `asked`, and the names of `begun` segments.
        Raises OSError."""
        if self._synced >= asked and self._listed >= begun:
            return
        with Held(self._switching):
            position = self.position  # read first: records appended meanwhile are not covered
            begun = self._begun
            older = self._unsynced
            # Duplicates: an interrupted sync may leave these open, while `close` closes the others.
            files = [Descriptor(os.dup, file.number) for file in (self._file, *older)]
        for file in files:
            sync_file(file.number)
        if self._listed < begun:
            sync_folder(self._folder)
        with Held(self._switching):
            self._listed = max(self._listed, begun)
            self._synced = max(self._synced, position)
            self._unsynced = [file for file in self._unsynced if file not in older]

    @property
    def file(self) -> Path | None:
        """The file of the current segment; None: no segment has begun."""
        return self._current.path

    def bytes_in_segment(self) -> int:
        """Return the number of bytes of the records in the current segment."""
        return self.position - self._current.start

    def size_bytes(self) -> int:
        """Return the number of bytes of the records in all segments."""
        return self.position - min(segment.start for segment in (*self._older, self._current))

    def close(self) -> None:
        """Close the files; no sync may be under way."""
        self._descriptor = -1
        for file in (*self._unsynced, getattr(self, "_file", None)):
            if file is not None:
                file.close()

    def _open_segment(self, position: int) -> None:
        path = self._folder / f"{position:016x}.log"
        try:
            file = Descriptor(make_fresh, path, os.O_WRONLY | os.O_APPEND, self._access)
        except OSError as error:
            raise StoreFull(f"cannot begin the log file {path}: {error.strerror}") from error
        try:
            try:
                if os.write(file.number, HEADER.pack(MAGIC, FORMAT_VERSION, position)) != HEADER.size:
                    raise OSError(errno.ENOSPC, "its header was not taken whole")
            except OSError as error:
                raise StoreFull(f"cannot begin the log file {path}: {error.strerror}") from error
            with Held(self._switching):
                self._adopt(file, Segment(path, position))
        except BaseException:
            if getattr(self, "_file", None) is not file:
                file.close()
                with contextlib.suppress(OSError):  # replay passes over a segment without records
                    path.unlink()
            raise

    def _adopt(self, file: Descriptor, current: Segment) -> None:
        """Make a new segment the current one."""
        number, older, unsynced = file.number, self._older, self._unsynced
        if self._begun:
            older, unsynced = [*older, self._current], [*unsynced, self._file]
        # No exception comes between these.
        self._older, self._unsynced, self._file, self._current = older, unsynced, file, current
        self._descriptor = number
        self._begun += 1
        self._may_have_rest = False
        self.position = current.start

    def _cut_rest(self) -> None:
        os.ftruncate(self._descriptor, HEADER.size + self.position - self._current.start)
        self._may_have_rest = False


def read_segment(segment: Segment, position: int) -> Iterator[tuple[int, bytes]]:
    """Yield (end, payload) of the complete records of a segment from `position` on, which is in the segment, or before
    it; stop at the first incomplete one.

    Records before `position` are not read: the tables hold them, and damage there must not hide later records.

    Raises:
        StoreError: the segment cannot be read, or has an unknown format version.
    """
    try:
        yield from _records_of(segment, max(position, segment.start))
    except OSError as error:
        raise _unreadable(segment, error) from error


def _records_of(segment: Segment, position: int) -> Iterator[tuple[int, bytes]]:
    with open(segment.path, "rb", buffering=READ_BYTES) as file:
        header = file.read(HEADER.size)
        if len(header) < HEADER.size:
            return
        magic, version, start = HEADER.unpack(header)
        if magic != MAGIC or start != segment.start:
            return
        if version != FORMAT_VERSION:
            raise StoreError(
                f"the log {segment.path} has format version {version}, this sonicpy reads {FORMAT_VERSION}: "
                "open the store once with the version that wrote it, then upgrade"
            )
        file.seek(_place_of(segment, position))
        while True:
            frame = file.read(RECORD.size)
            if len(frame) < RECORD.size:
                return
            size, checksum = RECORD.unpack(frame)
            if not 0 < size <= RECORD_MAX_BYTES:
                return
            payload = file.read(size)
            if len(payload) < size or zlib.crc32(payload) != checksum:
                return
            position += RECORD.size + size
            yield position, payload


def log_faults(folder: Path, position: int) -> Iterator[str]:
    """Yield the fault of a log that no process writes, behind which `Log.replay` yields nothing.

    An incomplete record at the very end is no fault: it was never acknowledged.

    Args:
        position: the log position of the environment; from there on the log has to be complete.
    """
    segments = _needed(segments_in(folder), position)
    if segments and segments[0].start > position:
        yield f"the log begins at {segments[0].start}, but the tables only hold changes before {position}"
        return
    last = segments[_last_filled(segments)] if segments else None
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        try:
            position = max((end for end, _ in read_segment(segment, position)), default=position)
            is_cut = following is not None and position < following.start
            is_damaged = is_cut or (segment is last and _holds_more(segment, position))
        except StoreError as error:
            yield str(error)
            return
        if is_damaged:
            yield f"the log {segment.path} is damaged at position {position}: the rest is lost"
            return


def _needed(segments: list[Segment], position: int) -> list[Segment]:
    """Return the segments that may hold records from `position` on.

    Raises:
        StoreError: a segment cannot be read.
    """
    covered = sum(segment.start <= position for segment in segments)
    return segments[_last_filled(segments[:covered]) :]


def _last_filled(segments: list[Segment]) -> int:
    """Return the index of the last segment that may hold records; 0: none does.

    An interrupted rotation may leave a segment without records, while the segment before goes on behind its position.

    Raises:
        StoreError: a segment cannot be read.
    """
    for place in range(len(segments) - 1, 0, -1):
        try:
            if segments[place].path.stat().st_size > HEADER.size:
                return place
        except OSError as error:
            raise _unreadable(segments[place], error) from error
    return 0


def _place_of(segment: Segment, position: int) -> int:
    """Return the place of the record at `position` in the file of its segment."""
    return HEADER.size + position - segment.start


def _holds_more(segment: Segment, position: int) -> bool:
    """Return whether a segment is damaged at `position`, where its complete records end, and not only cut short.

    An append that was cut short leaves a part of a record, or zeros after a loss of power.

    Raises:
        StoreError: the segment cannot be read.
    """
    try:
        with open(segment.path, "rb") as file:
            file.seek(_place_of(segment, position))
            rest = file.read()
    except OSError as error:
        raise _unreadable(segment, error) from error
    if len(rest) < RECORD.size or not rest.strip(b"\0"):
        return False
    size, checksum = RECORD.unpack_from(rest)
    if not 0 < size <= RECORD_MAX_BYTES or size <= len(rest) - RECORD.size:
        return True
    # It is damage, too, if only the size is wrong, and a whole payload with this checksum follows.
    found = 0
    for at in range(RECORD.size, min(len(rest), PAYLOAD_SOUGHT_BYTES)):
        found = zlib.crc32(rest[at : at + 1], found)
        if found == checksum:
            return True
    return False


def _unreadable(segment: Segment, error: OSError) -> StoreError:
    return StoreError(f"cannot read the log file {segment.path}: {error.strerror}")


def segments_in(folder: Path) -> list[Segment]:
    """Return the segments of a log, oldest first."""
    found = []
    for path in folder.glob("*.log"):
        if re.fullmatch(SEGMENT_NAME, path.name):  # the others belong to other programs
            found.append(Segment(path, int(path.stem, 16)))
    return sorted(found, key=lambda segment: segment.start)
