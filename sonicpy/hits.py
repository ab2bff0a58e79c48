"""Hit and Hits: placeholder of this branch until the real file is merged."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Hit(NamedTuple):
    """An object that answers a query."""

    object: str
    score: float | None


class Hits:
    """Hits, best first."""

    def __init__(self, hits: Iterable[Hit], total: int | None = None) -> None:
        self._hits = tuple(hits)
        self.total = total

    @property
    def objects(self) -> list[str]:
        """The ids."""
        return [hit.object for hit in self._hits]

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, place: int) -> Hit:
        return self._hits[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.objects)

    def __eq__(self, other: object) -> bool:
        return self.objects == list(other) if isinstance(other, Hits | list | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._hits)

    def __repr__(self) -> str:
        return f"Hits({self.objects})"
