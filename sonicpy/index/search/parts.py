"""A plan carried out: `bind` gives it to a bucket, `find` answers there, `merge` makes a page of what all parts found.

One bucket, several buckets of an index, and parts of a bucket on other nodes are the same three calls; what other nodes
answer comes as a RemotePart.

Equal scores are ordered newest object first, as far as parts can tell: each numbers its own objects. As many objects
come to each part, so the middle one of a part is about as old as the middle one of another.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sonicpy._native.find import bind, find_top, parts, shown_scores
from sonicpy._native.plan import Plan, Slot
from sonicpy._native.query_state import QueryState
from sonicpy.store.views.bucket_reader import BucketReader

__all__ = ["bind", "find", "merge"]

WHOLLY = 3
"""The whole number of the score of an object that holds every word as typed; 2 stands for some of the words, 1 for
completions, 0 for corrections."""
FULL = 0
"""The kind of an object that holds every word."""
HIGHEST_SHARE = 0.999999
"""The highest fraction of a score: it does not round up to the next whole number when six digits of it are written."""

Found = tuple[int, int, float]
"""An object's IID, how it was found (0: it holds every word, 1: words as typed, 2: completions, 3: corrections),
and its score."""

NamedObject = tuple[str, int, float, float]
"""An object for JSON: its name, how it was found, its score, its age in its part, from 0 (the oldest) to 1."""


class Word(NamedTuple):
    """A word of a plan.

    Attributes:
        term: the number of its term.
        slot: the words that it stands among.
        word: itself.
    """

    term: int
    slot: Slot
    word: bytes

    @property
    def how(self) -> str:
        """How it was found: "exact", "form", "completion" or "correction"."""
        is_form = self.slot.how == "exact" and self.word != self.slot.words[0]
        return "form" if is_form else self.slot.how


MadeOf = tuple[list[tuple[Word, int, float]], int, float]
"""The parts of a score: ([(word, term frequency, part of the score)], number of other parts, their sum)."""


class AnyPart(Protocol):
    """The findings of one part of all objects."""

    @property
    def total(self) -> int | None:
        """The number of its objects that answer; None: it was not asked for."""
        ...

    def rows(self) -> Sequence[NamedObject]:
        """Return its best objects, best first."""
        ...


class Part:
    """The findings of a bucket.

    Args:
        query: that was answered.
        found: its best objects, best first.
        total: the number of objects that answer; None: it was not asked for.
    """

    __slots__ = ("_query", "_reader", "found", "total")

    def __init__(self, query: QueryState, found: list[Found], total: int | None) -> None:
        self._query = query
        self._reader: BucketReader = query.reader
        self.found = found
        self.total = total

    def rows(self) -> list[NamedObject]:
        """Return its best objects, best first."""
        count = self._reader.state.next_iid
        names = self._reader.oids([iid for iid, _, _ in self.found])
        return [(name, kind, score, iid / count) for name, (iid, kind, score) in zip(names, self.found, strict=True)]

    def page(self, offset: int, limit: int) -> tuple[list[str], list[Found]]:
        """Return the names of the objects from place `offset` on, at most `limit`, and the objects."""
        found = self.found[offset : offset + limit]
        return self._reader.oids([iid for iid, _, _ in found]), found

    def is_full(self, wanted: int) -> bool:
        """Return whether it found as many objects as wanted that hold every word."""
        return len(self.found) >= wanted and all(kind == FULL for _, kind, _ in self.found)

    def parts(self, iids: list[int], listed_max: int) -> list[MadeOf]:
        """Return what the scores of objects that were found are made of.

        Args:
            listed_max: at most this many parts of an object are listed one by one, the largest ones.
        """
        words = self._words_held()
        apart = bind(self._query.plan, self._reader, self._query.newest, apart=True)
        return [
            ([(words[number], tf, part) for number, tf, part in listed], others, others_sum)
            for listed, others, others_sum in parts(apart, iids, listed_max)
        ]

    def _words_held(self) -> list[Word]:
        """Return the words of the plan that the bucket has rows of."""
        words = words_of(self._query.plan)
        return [word for word, row in zip(words, self._query.rows, strict=True) if row is not None]


class RemotePart(NamedTuple):
    """The findings of a part on another node, as JSON brings them."""

    found: Sequence[NamedObject]
    total: int | None

    def rows(self) -> Sequence[NamedObject]:
        """Return its best objects, best first."""
        return self.found


class Page:
    """A page of the best objects of all parts.

    Args:
        names: of the objects.
        found: the same objects, as (name or IID, kind, score, ...).
        ceiling: of the plan.
        total: the number of all objects that answer; None: it was not asked for.
    """

    __slots__ = ("_ceiling", "_found", "names", "total")

    def __init__(self, names: list[str], found: Sequence[tuple[object, int, float]], ceiling: float, total: int | None):
        self.names = names
        self.total = total
        self._found = found
        self._ceiling = ceiling

    @property
    def scores(self) -> list[float]:
        """The scores of the objects as users see them: they order objects as the kinds and the scores together do."""
        return shown_scores(list(self._found), self._ceiling, WHOLLY, HIGHEST_SHARE)


def find(query: QueryState, wanted: int, *, total: bool = False) -> Part:
    """Return the best `wanted` objects of a bucket, and the number of all that answer, if `total` asks for it.

    Args:
        query: a plan that `bind` gave to the bucket.
    """
    return Part(query, *find_top(query, wanted, total=total))


def merge(parts: Sequence[AnyPart], plan: Plan, limit: int, offset: int) -> Page:
    """Return a page of the best objects of some parts: at most `limit` behind the first `offset`.

    Args:
        parts: each with its best `offset` + `limit` objects.
        plan: that they carried out.
    """
    if len(parts) == 1 and isinstance(parts[0], Part):
        part = parts[0]
        return Page(*part.page(offset, limit), plan.ceiling, part.total)
    rows = [row for part in parts for row in part.rows()]
    rows.sort(key=lambda row: (row[1], -row[2], -row[3], row[0]))
    page = rows[offset : offset + limit]
    counts = [part.total for part in parts if part.total is not None]
    found = [(name, kind, score) for name, kind, score, _ in page]
    return Page([name for name, _, _ in found], found, plan.ceiling, sum(counts) if len(counts) == len(parts) else None)


def share_of(score: float, ceiling: float) -> float:
    """Return a score, or a part of one, as a share of the highest score that the query allows."""
    return min(score / ceiling, HIGHEST_SHARE) if ceiling > 0 else 0.0


def words_of(plan: Plan) -> list[Word]:
    """Return the words of a plan, in the order in which `bind` reads them."""
    return [Word(clause.term, slot, word) for clause in plan.clauses for slot in clause.slots for word in slot.words]
