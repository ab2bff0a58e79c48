"""The ways to cut a word into pieces that objects hold, and the evidence for them: one object holds all pieces."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from sonicpy.index.search.statistics import Statistics

Piece = tuple[bytes, ...]
"""The spellings of a piece of a word, which differ in accents."""
LOOKUPS_MAX = 24
"""The most look-ups of evidence for one word: each may read the lists of holders of common words."""


class Evidence:
    """Whether one object holds all pieces of a way to cut a word, or of its beginning.

    Args:
        most: the most look-ups. After these, no further way has evidence.
    """

    def __init__(self, statistics: Statistics, most: int = LOOKUPS_MAX) -> None:
        self._statistics = statistics
        self._most = most
        self._known: dict[tuple[Piece, ...], bool] = {}

    @property
    def is_spent(self) -> bool:
        """Whether no more look-ups are allowed."""
        return len(self._known) >= self._most

    @property
    def found(self) -> list[list[Piece]]:
        """The ways, and beginnings of ways, that have evidence, in the order of the look-ups."""
        return [list(way) for way, is_held in self._known.items() if is_held]

    def is_for(self, way: list[Piece]) -> bool:
        """Return whether one object holds all pieces of a way."""
        key = tuple(way)
        if key not in self._known and not self.is_spent:
            self._known[key] = self._statistics.holds_together([list(piece) for piece in way])
        return self._known.get(key, False)


class Ways:
    """The ways to cut a word into at least two pieces.

    Args:
        text: the word, without accents.
        most: the most pieces of a way.
        firsts: returns the pieces with which a rest of the word may begin, each with its number of letters.
    """

    def __init__(self, text: str, most: int, firsts: Callable[[str], Iterable[tuple[int, Piece]]]) -> None:
        self._text = text
        self._most = most
        self._firsts = firsts
        self._begun: dict[str, dict[int, Piece]] = {}
        self._least: dict[tuple[str, int], int] = {}

    def in_order(self, evidence: Evidence | None = None, least: int = 1) -> Iterator[list[Piece]]:
        """Yield the ways with the fewest pieces first; of these, the ones whose shortest piece is longest; of these,
        the ones with the shortest first piece.

        Args:
            evidence: leaves out the ways without evidence, and all others that begin as they do; None: none is left
                out.
            least: the fewest letters of a piece.
        """
        for number in range(2, self._most + 1):
            heap: list[tuple[int, tuple[int, ...], list[Piece]]] = []
            self._put_longer(heap, number, (), [])
            while heap and -heap[0][0] >= least and not (evidence is not None and evidence.is_spent):
                _, sizes, way = heappop(heap)
                if evidence is not None and len(way) > 1 and not evidence.is_for(way):
                    continue
                if len(way) == number:
                    yield way
                else:
                    self._put_longer(heap, number, sizes, way)

    def _put_longer(
        self,
        heap: list[tuple[int, tuple[int, ...], list[Piece]]],
        number: int,
        sizes: tuple[int, ...],
        way: list[Piece],
    ) -> None:
        """Put the beginnings of ways with one more piece than `way` into a heap, if `number` pieces can be a whole way.

        An entry is the negative number of letters that the shortest piece may have in the whole way, the numbers of
        letters of the pieces, and the pieces.
        """
        rest = self._text[sum(sizes) :]
        least = min(sizes, default=len(self._text))
        for size, piece in self._pieces(rest).items():
            shortest = min(least, size, self._shortest(rest[size:], number - len(way) - 1))
            if shortest:
                heappush(heap, (-shortest, (*sizes, size), [*way, piece]))

    def _shortest(self, rest: str, number: int) -> int:
        """Return the most letters that the shortest of `number` pieces of a rest can have; 0: it cannot be cut so."""
        if not rest or not number:
            return 0 if rest or number else len(self._text)
        key = rest, number
        if key not in self._least:
            sizes = self._pieces(rest)
            self._least[key] = max((min(size, self._shortest(rest[size:], number - 1)) for size in sizes), default=0)
        return self._least[key]

    def _pieces(self, rest: str) -> dict[int, Piece]:
        if rest not in self._begun:
            self._begun[rest] = dict(self._firsts(rest))
        return self._begun[rest]
