"""Vectors and the order by meaning, computed slowly: signs as lists, sums one by one."""

from math import sqrt
from typing import NamedTuple

WIDE = 2


class Columns:
    """The vectors of a bucket: its columns, and the signs of each object by column."""

    def __init__(self) -> None:
        self.lengths: dict[str, int] = {}
        self.objects: dict[str, dict[str, tuple[bool, ...]]] = {}

    def takes(self, name: str, length: int) -> str | None:
        """Return the column that takes a vector; None: no column does."""
        if not name and len(self.lengths) == 1:
            (name,) = self.lengths
        if name in self.lengths:
            return name if self.lengths[name] == length else None
        if self.lengths and (not name or len(self.lengths) == WIDE):
            return None
        return name or "vector"

    def give(self, oid: str, name: str, numbers: list[float]) -> bool:
        """Give an object a vector; return whether it was taken."""
        column = self.takes(name, len(numbers))
        if column is None:
            return False
        self.lengths[column] = len(numbers)
        self.objects.setdefault(oid, {})[column] = tuple(number > 0 for number in numbers)
        return True

    def drop(self, name: str) -> int:
        """Remove a column, or all columns (""); return the number of columns removed."""
        gone = [column for column in self.lengths if name in ("", column)]
        for column in gone:
            del self.lengths[column]
            for held in self.objects.values():
                held.pop(column, None)
        return len(gone)


class Scored(NamedTuple):
    """An object and its score by words."""

    object: str
    score: float


def reordered(
    hits: list[Scored],
    signs: dict[str, tuple[bool, ...]],
    numbers: list[int],
    meaning: float,
    depth: int,
) -> list[Scored]:
    """Return hits in the order of words and meaning: the first `depth` by score + meaning * cosine."""
    first, rest = hits[:depth], hits[depth:]
    norm = sqrt(sum(number * number for number in numbers)) * sqrt(len(numbers))
    cosines = {
        hit.object: sum(
            number if up else -number for number, up in zip(numbers, signs[hit.object], strict=True)
        ) / norm
        for hit in first
        if hit.object in signs
    }  # fmt: skip
    mean = sum(cosines.values()) / len(cosines) if cosines else 0.0
    scored = [Scored(hit.object, hit.score + meaning * cosines.get(hit.object, mean)) for hit in first]
    return sorted(scored, key=lambda hit: -round(hit.score, 9)) + rest
