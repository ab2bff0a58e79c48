"""What the last commits changed, as a row of `meta`: what a reader has cached of everything else stays true.

    row      number of the newest commit u64, then an entry of each commit, the newest first    (little-endian)
    entry    size of what follows u16, then of each bucket that the commit changed:
             v(bucket) v(number of rows of lengths) v(row)* v(1 + number of terms, 0: too many) v(term id)*

New objects only lengthen lists: a reader sees by the row of a word whether its list grew, and reads the rest of it. So an
entry names the words whose postings or impacts changed in other ways, and the rows of `lengths` that were written. The
row holds as many commits as fit into ROW_BYTES; a reader that missed more than that begins afresh, and so does one whose
commit is newer than the row, which a version of sonicpy without it wrote.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged
from sonicpy.store.environment import Transaction
from sonicpy.store.meta import CHANGES

NEWEST = struct.Struct("<Q")
SIZE = struct.Struct("<H")
ROW_BYTES = 1_500
"""Below half a page, so that LMDB keeps the row in the page of the table, which each commit writes anyway."""
ENTRY_BYTES = 700
"""An entry that would be larger does not name words."""


@dataclass(slots=True)
class Touched:
    """What changed in a bucket.

    Attributes:
        rewritten: the ids of the words whose lists changed other than by new postings at their end; None: any may have.
        length_rows: the numbers of the rows of `lengths` that were written.
    """

    rewritten: set[int] | None = field(default_factory=set)
    length_rows: set[int] = field(default_factory=set)

    def add(self, other: "Touched") -> None:
        """Add what a later commit changed."""
        self.length_rows |= other.length_rows
        if self.rewritten is not None:
            self.rewritten = None if other.rewritten is None else self.rewritten | other.rewritten


class RecentChanges:
    """The entries of the last commits, in the process that makes them."""

    def __init__(self) -> None:
        self._newest = -1
        self._entries: list[bytes] = []

    def note(self, commit: int, touched: dict[int, Touched]) -> bytes:
        """Add the entry of a commit that is about to be made; return the row."""
        if commit != self._newest + 1:  # one before it failed, or is not known
            self._entries.clear()
        self._newest = commit
        entry = pack_entry(touched)
        self._entries.insert(0, SIZE.pack(len(entry)) + entry if len(entry) <= ROW_BYTES else b"")
        size = 0
        for place, packed in enumerate(self._entries):
            size += len(packed)
            if size > ROW_BYTES or not packed:
                del self._entries[place:]
                break
        return NEWEST.pack(commit) + b"".join(self._entries)


def pack_entry(touched: dict[int, Touched]) -> bytes:
    """Return the entry of a commit; where it would be too large, one that names no words."""
    entry = pack_varints(_numbers(touched))
    if len(entry) > ENTRY_BYTES:
        entry = pack_varints(_numbers({bucket: Touched(None, one.length_rows) for bucket, one in touched.items()}))
    return entry


def _numbers(touched: dict[int, Touched]) -> Iterator[int]:
    for bucket, one in touched.items():
        yield from (bucket, len(one.length_rows), *sorted(one.length_rows))
        if one.rewritten is None:
            yield 0
        else:
            yield from (1 + len(one.rewritten), *sorted(one.rewritten))


def changes_since(transaction: Transaction, commit: int) -> dict[int, Touched] | None:
    """Return what the commits behind a commit changed, by bucket, up to that of a transaction; None: it is not known.

    Raises:
        StoreDamaged: the row cannot be read.
    """
    row = CHANGES.read(transaction)
    number = transaction.number
    if row is None or commit > number or row[: NEWEST.size] != NEWEST.pack(number):
        return None
    found: dict[int, Touched] = {}
    at = NEWEST.size
    try:
        for _ in range(number - commit):
            if at >= len(row):
                return None
            (size,) = SIZE.unpack_from(row, at)
            at += SIZE.size + size
            _take_entry(found, row[at - size : at])
    except (struct.error, DamagedBytes, StopIteration) as error:
        raise StoreDamaged("the row 'changes' of meta is cut off") from error
    return found


def _take_entry(found: dict[int, Touched], entry: bytes) -> None:
    numbers = iter(unpack_varints(entry))
    for bucket in numbers:
        rows = {next(numbers) for _ in range(next(numbers))}
        terms = next(numbers)
        touched = Touched({next(numbers) for _ in range(terms - 1)} if terms else None, rows)
        if bucket in found:
            found[bucket].add(touched)
        else:
            found[bucket] = touched
