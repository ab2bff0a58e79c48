"""The answer of a query: the objects, best first, and the score of each.

Iterating gives the names of objects, so code that only needs those can ignore scores.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from sonicpy.api.html import html_table


class Hit(NamedTuple):
    """One object that answers.

    Attributes:
        object: its name.
        score: how well it answers, at most the score of the hit before it; None: unknown, or the ranking has no
            scores. With "bm25" the whole number says how the object was found (3: it holds every word of the query as
            typed, 2: some of them, 1: completions, 0: corrections), and the fraction is its share of the best possible
            score.
    """

    object: str
    score: float | None


class Hits:
    """The objects that answer a query, best first; immutable.

    `hits[0]` is a Hit, a slice is Hits, and iterating gives the names of the objects. Hits equal every list and tuple
    of the same names.

    Args:
        objects: their names.
        scores: their scores; None: there are none.
        total: how many objects answer on all pages together; None: the query did not ask for it.
    """

    __slots__ = ("_objects", "_scores", "_total")

    def __init__(
        self, objects: Iterable[str] = (), scores: Iterable[float] | None = None, total: int | None = None
    ) -> None:
        self._objects = tuple(objects)
        self._scores = None if scores is None else tuple(scores)
        self._total = total
        if self._scores is not None and len(self._scores) != len(self._objects):
            raise ValueError(f"{len(self._objects)} objects need as many scores, not {len(self._scores)}")

    @property
    def objects(self) -> list[str]:
        """The names of the objects."""
        return list(self._objects)

    @property
    def scores(self) -> list[float] | None:
        """The scores of the objects, or None if there are none."""
        return None if self._scores is None else list(self._scores)

    @property
    def total(self) -> int | None:
        """How many objects answer in all, or None if the query did not ask for it."""
        return self._total

    def pairs(self) -> list[tuple[str, float | None]]:
        """Return (object, score) of every hit."""
        scores: Sequence[float | None] = self._scores or [None] * len(self._objects)
        return list(zip(self._objects, scores, strict=True))

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._objects)

    def __contains__(self, object: Any) -> bool:
        return object in self._objects

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> "Hits": ...
    def __getitem__(self, place: int | slice) -> "Hit | Hits":
        if isinstance(place, slice):
            return Hits(self._objects[place], None if self._scores is None else self._scores[place], self.total)
        return Hit(self._objects[place], None if self._scores is None else self._scores[place])

    def index(self, object: str, *bounds: int) -> int:
        """Return the place of an object. Raise ValueError if it is not among the hits."""
        return self._objects.index(object, *bounds)

    def count(self, object: str) -> int:
        """Return 1 if an object is among the hits, else 0."""
        return self._objects.count(object)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Hits):
            return self._objects == other._objects
        if isinstance(other, list | tuple):
            return self._objects == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._objects)

    def __repr__(self) -> str:
        total = "" if self.total is None else f", total={self.total}"
        return f"Hits({list(self._objects)!r}{total})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        caption = "" if self.total is None else f"{len(self)} of {self.total} objects"
        if self._scores is None:
            return html_table(("", "object"), enumerate(self._objects, 1), caption)
        rows = [(place, object, score) for place, (object, score) in enumerate(self.pairs(), 1)]
        return html_table(("", "object", "score"), rows, caption)


Sequence.register(Hits)
