"""The changes of the last commits, as a row of `meta`. Readers keep all cached rows that these commits did not change.

    row      number of the newest commit u64, then an entry of each commit, the newest first    (little-endian)
    entry    size of the rest u16 | size of the numbers u16 | numbers | the new pending words, one behind the other
    numbers  of each bucket that the commit changed: v(bucket), v(number of rows of lengths), v(row) of each,
             v(1 + number of terms, 0: too many), v(term id) of each,
             v(1 + number of words, 0: too many), v(size) of each

New objects only lengthen lists: the row of a word shows a reader whether its list grew, and the reader reads the rest
of it. So an entry names the words whose postings or impacts changed in other ways, and the written rows of `lengths`.
It also contains the new pending words. Entries of older commits lose long lists of words. A reader begins with an empty
cache if it missed more commits than the row holds, or if its commit is newer than the row, because an older version of
sonicpy wrote that commit.
"""

import struct
from collections import deque
from collections.abc import Mapping, Sequence
from typing import cast

from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged
from sonicpy.store.rows.bucket_state import BucketCounts

NEWEST = struct.Struct("<Q")
SIZE = struct.Struct("<H")
SIZE_MAX = 0xFFFF
OLDER_BYTES = 1_400
"""The most bytes of all older entries together, and so of the whole row if the newest entry is small: below half a
page, so that LMDB keeps it in the page of the table, which each commit writes anyway."""
ENTRY_BYTES = 12_000
"""The most bytes of an entry; a larger one leaves out the words, and if that is not enough, the lists."""
SLIM_BYTES = 100
"""The most bytes of an entry that keeps its words when later commits follow."""

KEPT_WEIGHT = 20_000
"""The most numbers and words that the committing process keeps of the newest commits, about 1.5 MB: the row of `meta`
has no room for commits that change many buckets."""
NUMBERS_LEAST = 4
"""The fewest numbers that an entry holds for a bucket."""
BUCKET_WEIGHT = 8
"""The weight of a bucket with neither numbers nor words."""


class Touched:
    """The changes of a bucket.

    Attributes:
        rewritten: the ids of the words whose lists changed in other ways than by new postings at their end; None: any
            word.
        length_rows: the numbers of the written rows of `lengths`.
        words: the new pending words, in the order of their numbers; None: not known.
    """

    __slots__ = ("length_rows", "rewritten", "words")

    def __init__(self, rewritten: set[int] | None, length_rows: set[int], words: list[bytes] | None) -> None:
        self.rewritten = rewritten
        self.length_rows = length_rows
        self.words = words

    @classmethod
    def nothing(cls) -> "Touched":
        """Return an object without any changes."""
        return cls(set(), set(), [])

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same changes."""
        if not isinstance(other, Touched):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return f"Touched({self.rewritten}, {self.length_rows}, {self.words})"

    @property
    def weight(self) -> int:
        """The number of numbers and words that are held."""
        return len(self.length_rows) + len(self.rewritten or ()) + len(self.words or ())

    def add(self, other: "Touched") -> None:
        """Add the changes of a later commit."""
        self.length_rows |= other.length_rows
        if self.rewritten is not None:
            self.rewritten = None if other.rewritten is None else self.rewritten | other.rewritten
        if self.words is not None:
            self.words = None if other.words is None else self.words + other.words


class ChangesBetween:
    """The changes of several commits, by bucket; they are merged for a bucket on demand.

    Args:
        commits: the changes of each commit by bucket, the oldest commit first.
    """

    def __init__(self, commits: Sequence[Mapping[int, Touched]]) -> None:
        self._commits = commits

    def get(self, bucket: int) -> Touched | None:
        """Return the changes of a bucket; None: the bucket has not changed."""
        found = [touched[bucket] for touched in self._commits if bucket in touched]
        if len(found) < 2:
            return found[0] if found else None
        together = Touched.nothing()
        for one in found:
            together.add(one)
        return together


class RecentChanges:
    """The changes of the last commits, in the committing process: the entries of the row, and older ones.

    Attributes:
        bucket_counts: a commit, and the counts of buckets that the writer knew for it: see `WriteCache`.
    """

    def __init__(self) -> None:
        self.bucket_counts: tuple[int, BucketCounts] = (-1, {})
        self._newest = -1
        self._newest_slim = b""
        self._older: list[bytes] = []
        self._kept: deque[tuple[int, int, dict[int, Touched]]] = deque()  # commit, weight, changes
        self._weight = 0

    def clear(self) -> None:
        """Forget everything, because the last noted commit may have failed."""
        self.bucket_counts = (-1, {})
        self._newest = -1
        self._newest_slim = b""
        self._older = []
        self._kept.clear()
        self._weight = 0

    def bucket_counts_at(self, commit: int) -> BucketCounts:
        """Return the known counts of buckets at a commit. Any thread may call it."""
        known, counts = self.bucket_counts
        return counts.copy() if commit == known else {}

    def since(self, commit: int, number: int) -> "ChangesBetween | None":
        """Return the changes of the commits after `commit`, up to `number`; None: some are no longer kept.

        Any thread may call it.
        """
        kept = list(self._kept)
        if not kept or kept[0][0] > commit + 1 or kept[-1][0] < number:
            return None
        return ChangesBetween([touched for other, _, touched in kept if commit < other <= number])

    def _keep(self, commit: int, touched: dict[int, Touched]) -> None:
        if commit != self._newest + 1:
            self._kept.clear()
            self._weight = 0
        weight = sum(BUCKET_WEIGHT + one.weight for one in touched.values())
        self._kept.append((commit, weight, touched))
        self._weight += weight
        while self._weight > KEPT_WEIGHT:
            self._weight -= self._kept.popleft()[1]

    def note(self, commit: int, touched: dict[int, Touched]) -> bytes:
        """Add the changes of the commit under way; return the row to write."""
        self._keep(commit, touched)
        if commit == self._newest + 1 and self._newest_slim:
            self._older.insert(0, self._newest_slim)
        else:  # one before it failed, or is not known
            self._older.clear()
        size = 0
        for place, entry in enumerate(self._older):
            size += len(entry)
            if size > OLDER_BYTES:
                del self._older[place:]
                break
        newest, self._newest_slim = pack_entry(touched)
        self._newest = commit
        return NEWEST.pack(commit) + newest + (b"".join(self._older) if newest else b"")


def pack_entry(touched: dict[int, Touched]) -> tuple[bytes, bytes]:
    """Return the entry of a commit, and a shorter form for the time when later commits follow; b"": too large."""
    whole = _packed_within(ENTRY_BYTES, touched)
    if sum(NUMBERS_LEAST + len(one.length_rows) for one in touched.values()) > OLDER_BYTES:
        return whole, b""
    if 0 < len(whole) <= SLIM_BYTES:
        return whole, whole
    slim = _packed_within(
        OLDER_BYTES, {bucket: Touched(one.rewritten, one.length_rows, None) for bucket, one in touched.items()}
    ) or _packed_within(OLDER_BYTES, {bucket: Touched(None, one.length_rows, None) for bucket, one in touched.items()})
    return whole or slim, slim


def _packed_within(most: int, touched: dict[int, Touched]) -> bytes:
    """Return an entry of at most `most` bytes; b"": it would be larger. An estimate saves packing much larger ones."""
    least = NUMBERS_LEAST * len(touched)  # each number takes a byte, or more
    if least > most:
        return b""
    for one in touched.values():
        least += one.weight + sum(map(len, one.words or ()))
        if least > most:
            return b""
    packed = _packed(touched)
    return packed if len(packed) <= most else b""


def _packed(touched: dict[int, Touched]) -> bytes:
    """Return an entry; b"": it is too large for its size field."""
    numbers = pack_varints(_numbers(touched))
    words = b"".join(word for one in touched.values() for word in one.words or ())
    size = SIZE.size + len(numbers) + len(words)
    return b"" if size > SIZE_MAX else SIZE.pack(size) + SIZE.pack(len(numbers)) + numbers + words


def _numbers(touched: dict[int, Touched]) -> list[int]:
    numbers: list[int] = []
    for bucket, one in touched.items():
        numbers += (bucket, len(one.length_rows), *sorted(one.length_rows))
        numbers += (0,) if one.rewritten is None else (1 + len(one.rewritten), *sorted(one.rewritten))
        numbers += (0,) if one.words is None else (1 + len(one.words), *map(len, one.words))
    return numbers


def changes_since(commit: int, number: int, row: bytes | None) -> dict[int, Touched] | None:
    """Return the changes of the commits after `commit`, by bucket; None: the row does not hold all of them.

    Args:
        number: the number of the last of these commits.
        row: the row of `meta` in that commit.

    Raises:
        StoreDamaged: the row cannot be read.
    """
    if row is None or commit > number or row[: NEWEST.size] != NEWEST.pack(number):
        return None
    found: dict[int, Touched] = {}
    entries: list[bytes] = []
    at = NEWEST.size
    try:
        while len(entries) < number - commit:
            if at >= len(row):
                return None
            (size,) = SIZE.unpack_from(row, at)
            at += SIZE.size + size
            entries.append(row[at - size : at])
        for entry in entries:
            _take_entry(found, entry)
    except (struct.error, DamagedBytes, StopIteration) as error:
        raise StoreDamaged("the row 'changes' of meta is cut off") from error
    return found


def _take_entry(found: dict[int, Touched], entry: bytes) -> None:
    """Add the changes of an entry to those of later commits."""
    (size,) = SIZE.unpack_from(entry, 0)
    at = SIZE.size + size
    numbers = iter(unpack_varints(entry[SIZE.size : at]))
    for bucket in numbers:
        touched = Touched.nothing()
        touched.length_rows = {next(numbers) for _ in range(next(numbers))}
        terms = next(numbers)
        touched.rewritten = {next(numbers) for _ in range(terms - 1)} if terms else None
        count = next(numbers)
        touched.words = [] if count else None
        for _ in range(count - 1):
            start, at = at, at + next(numbers)
            cast(list[bytes], touched.words).append(entry[start:at])
        if bucket in found:
            touched.add(found[bucket])
        found[bucket] = touched
