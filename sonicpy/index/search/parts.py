"""The execution of a plan: `bind` gives it to a bucket, `find` answers there, `merge` makes a page of all parts.

These three calls serve one bucket, several buckets of an index, and parts of a bucket on other nodes, whose answers are
RemoteParts.

Objects with equal scores are ordered by age, newest first, as far as possible: each part numbers its own objects. All
parts get about equally many objects, so objects at the same share of their parts are about equally old.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

from sonicpy._native.find import BestObjects, find_all, find_top, parts, shown_scores
from sonicpy._native.find import bind as bind_plan
from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan, Slot
from sonicpy._native.query_state import QueryState
from sonicpy.store.views.bucket_reader import BucketReader

__all__ = ["bind", "find", "merge"]

WHOLLY = 3
"""The whole part of the score of an object that holds every word as typed; 2 means some words as typed, 1 completions,
0 corrections.
"""
HIGHEST_SHARE = 0.999999
"""The highest fractional part of a score: rounded to six digits, it does not reach the next whole number."""

Found = tuple[int, int, float]
"""(IID, kind, score) of an object; kinds are 0: it holds every word, 1: words as typed, 2: completions, 3:
corrections.
"""

NamedObject = tuple[str, int, float, float]
"""An object for JSON: its name, its kind (see `Found`), its score, its age in its part, from 0 (the oldest) to 1."""


class Word(NamedTuple):
    """A word of a plan.

    Attributes:
        term: the number of its term.
        slot: the slot that it belongs to.
        word: the word itself.
    """

    term: int
    slot: Slot
    word: bytes

    @property
    def how(self) -> str:
        """The relation to the typed word: "exact", "form", "completion", "correction" or "synonym"."""
        is_form = self.slot.how == "exact" and self.word != self.slot.words[0]
        return "form" if is_form else self.slot.how


MadeOf = tuple[list[tuple[Word, int, float]], int, float]
"""The parts of a score: ([(word, term frequency, part of the score)], number of other parts, their sum)."""


class AnyPart(Protocol):
    """The findings in one of several parts."""

    @property
    def total(self) -> int | None:
        """The number of objects of the part that answer; None: not counted."""
        ...

    def rows(self) -> Sequence[NamedObject]:
        """Return the best objects of the part, best first."""
        ...


class Part(BestObjects):
    """The findings of a bucket."""

    __slots__ = ()
    reader: BucketReader

    def rows(self) -> list[NamedObject]:
        """Return the best objects of the bucket, best first."""
        count = self.reader.state.next_iid
        names = self.reader.oids([iid for iid, _, _ in self.found])
        return [(name, kind, score, iid / count) for name, (iid, kind, score) in zip(names, self.found, strict=True)]

    def names(self, found: list[Found]) -> list[str]:
        """Return the names of some objects."""
        return self.names_of([iid for iid, _, _ in found])

    def names_of(self, iids: list[int]) -> list[str]:
        """Return the names of some objects, by IID."""
        return self.reader.oids(iids)

    def parts(self, iids: list[int], listed_max: int) -> list[MadeOf]:
        """Return the parts of the scores of found objects.

        Args:
            listed_max: the most parts of an object that are listed one by one, the largest ones.
        """
        words = self._words_held()
        apart = bind(self.query.plan, self.reader, self.query.newest, apart=True)
        return [
            ([(words[number], tf, part) for number, tf, part in listed], others, others_sum)
            for listed, others, others_sum in parts(apart, iids, listed_max)
        ]

    def held(self, iids: list[int], listed_max: int) -> list[list[int]]:
        """Return the numbers of the words of the plan that found objects hold; see `words_of`.

        Args:
            listed_max: as for `parts`.
        """
        apart = bind(self.query.plan, self.reader, self.query.newest, apart=True)
        numbers = [number for number, row in enumerate(self.query.rows) if row is not None]
        return [[numbers[place] for place, _, _ in listed] for listed, _, _ in parts(apart, iids, listed_max)]

    def _words_held(self) -> list[Word]:
        """Return the words of the plan that the bucket holds."""
        words = words_of(self.query.plan)
        return [word for word, row in zip(words, self.query.rows, strict=True) if row is not None]


class RemotePart(NamedTuple):
    """The findings of a part on another node, from JSON."""

    found: Sequence[NamedObject]
    total: int | None

    def rows(self) -> Sequence[NamedObject]:
        """Return the best objects of the part, best first."""
        return self.found


class Page:
    """A page of the best objects of all parts.

    Args:
        names: the names of the objects.
        found: the same objects, as (name or IID, kind, score, ...).
        ceiling: the highest possible score of the plan; see `Plan`.
        total: the number of all objects that answer; None: not counted.
    """

    __slots__ = ("_ceiling", "_found", "names", "total")

    def __init__(self, names: list[str], found: Sequence[tuple[object, int, float]], ceiling: float, total: int | None):
        self.names = names
        self.total = total
        self._found = found
        self._ceiling = ceiling

    @property
    def scores(self) -> list[float]:
        """The scores of the objects for users: one number that combines kind and score."""
        return shown_scores(list(self._found), self._ceiling, WHOLLY, HIGHEST_SHARE)


def bind(
    plan: Plan, reader: BucketReader, newest: int = 0, *, apart: bool = False, mask: Mask | None = None
) -> QueryState:
    """Return a plan bound to a bucket, with the phrases of the plan; see `_native.find.bind`."""
    if plan.phrases and not apart:
        from sonicpy.index.search.phrases import masked  # noqa: PLC0415  loaded when it is needed

        mask = masked(plan, reader, mask)
    return bind_plan(plan, reader, newest, apart=apart, mask=mask)


def find(query: QueryState, wanted: int, *, total: bool = False, floor: tuple[int, float] | None = None) -> Part:
    """Return the best `wanted` objects of a bucket, and, if `total`, the number of all that answer.

    Args:
        query: the result of `bind`.
        floor: a kind and a score: objects that are not better may be left out; None: all objects are considered.
    """
    return Part(query, *find_top(query, wanted, total=total, floor=floor))


def find_by_plan(
    plan: Plan,
    reader: BucketReader,
    wanted: int,
    newest: int = 0,
    *,
    mask: Mask | None = None,
    total: bool = False,
    floor: tuple[int, float] | None = None,
) -> Part:
    """Return the result of `find` for a plan bound to a bucket. Without `total`, phrases are first looked for in the
    best objects alone.

    Args:
        wanted, total, floor: as in `find`.
        newest: only this many objects of each word are read, the newest ones; 0: all.
        mask: the objects that pass a filter; None: all.
    """
    if plan.phrases:
        from sonicpy.index.search.phrases import best_with_phrases, masked  # noqa: PLC0415  loaded when it is needed

        bound = partial(bind_plan, plan, reader, newest, mask=mask)
        found = None if total else best_with_phrases(plan, reader, bound, wanted, floor)
        if found is not None:
            return Part(*found, None)
        mask = masked(plan, reader, mask)
    return Part(*find_all(plan, reader, wanted, newest, mask, total, floor))


def merge(parts: Sequence[AnyPart], plan: Plan, limit: int, offset: int, boost: float = 1.0) -> Page:
    """Return a page of the best objects of some parts: at most `limit` behind the first `offset`.

    Args:
        parts: each with its best `offset` + `limit` objects.
        plan: the plan of all parts.
        boost: the upper bound of factors of a score.
    """
    if len(parts) == 1 and isinstance(parts[0], Part):
        part = parts[0]
        return Page(*part.page(offset, limit), plan.ceiling * boost, part.total)
    rows = [row for part in parts for row in part.rows()]
    rows.sort(key=lambda row: (row[1], -row[2], -row[3], row[0]))
    page = rows[offset : offset + limit]
    counts = [part.total for part in parts if part.total is not None]
    found = [(name, kind, score) for name, kind, score, _ in page]
    total = sum(counts) if len(counts) == len(parts) else None
    return Page([name for name, _, _ in found], found, plan.ceiling * boost, total)


def share_of(score: float, ceiling: float) -> float:
    """Return a score, or a part of one, as a share of `ceiling`, the highest score of the plan."""
    return min(score / ceiling, HIGHEST_SHARE) if ceiling > 0 else 0.0


def words_of(plan: Plan) -> list[Word]:
    """Return the words of a plan, in the order in which `bind` reads them."""
    return [
        Word(clause.term, slot, word)
        for clause in plan.clauses
        for slot in clause.slots
        for word in (slot.words if not slot.together else named_together(slot))
    ]


def named_together(slot: Slot) -> list[bytes]:
    """Return the words of a slot whose groups of words an object holds together: each group counts as one list, under
    its first word.
    """
    firsts = [slot.words[sum(slot.together[:group])] for group in range(len(slot.together))]
    return [b" ".join(firsts), *slot.words[1:]]
