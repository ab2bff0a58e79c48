"""Searches with a filter, an order of their own, or facets.

A filter is a mask, through which the same plan is carried out; an order by a value, and facets, look at all objects
that answer, as bits.
"""

from typing import NamedTuple

from sonicpy._native.column_mask import InRange
from sonicpy._native.mask import AllOf, Bits, Mask, NotIn, settled
from sonicpy._native.ordered import best_by_value
from sonicpy._native.term_mask import matching as all_matching
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.arguments import nothing_behind
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument
from sonicpy.filters.conditions import INT_MAX, INT_MIN, Condition
from sonicpy.filters.grammar import parse
from sonicpy.filters.orders import NEWEST, SCORE, Sort, parse_sort
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.masks import everybody, mask_of, window_count
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part, bind, merge
from sonicpy.index.search.ranking import carry_out, count_whole, plan_of
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.values import pack_point

BY_SCORE = Sort(SCORE)


class Question(NamedTuple):
    """A search with what its text and its filter mean.

    Attributes:
        terms: of the text.
        matching: of families; None: no word has one.
    """

    search: Search
    terms: Terms
    config: Config
    matching: Matching | None

    @property
    def sort(self) -> Sort:
        """The order of the answer."""
        return BY_SCORE if self.search.sort is None else parse_sort(self.search.sort)

    @property
    def condition(self) -> Condition | None:
        """The filter; None: there is none."""
        return None if self.search.filter is None else parse(self.search.filter)

    @property
    def is_about_all(self) -> bool:
        """Whether the text is empty: then all objects answer."""
        return not self.search.text.strip()


class Ordered(NamedTuple):
    """A page of objects.

    Attributes:
        names: of the objects.
        keys: by which they are ordered: (0, key) of a value, (1, 0) without one.
        ages: of the objects in their bucket, from 0 (the oldest) to 1.
        total: the number of all objects that answer; None: not counted.
    """

    names: list[str]
    keys: list[tuple[int, int]]
    ages: list[float]
    total: int | None


def refined(lexicon: Lexicon, question: Question) -> Hits:
    """Return the answer to a search with a filter or an order of its own."""
    search, condition = question.search, question.condition
    if question.is_about_all or question.sort != BY_SCORE:
        page = ordered(lexicon, question, search.offset + search.limit)
        if page is None:
            return Hits(total=0 if search.total else None, whole=None)
        return Hits(page.names[search.offset :], None, page.total)
    if search.after is not None:
        raise InvalidArgument("after is given without sort; allowed is a page behind an object of a search with sort")
    if not len(question.terms):
        return Hits(total=0, whole=0) if search.total else Hits()
    mask = None if condition is None else mask_of(lexicon.reader, condition)
    plan, part = carry_out(
        lexicon, question.terms, question.config, question.matching, search.offset + search.limit,
        total=search.total, mask=mask,
    )  # fmt: skip
    assert isinstance(part, Part)  # compat mode has no filters
    page = merge([part], plan, search.limit, search.offset)
    whole = count_whole(lexicon, plan, part, question.config, mask)
    return Hits(page.names, None if question.config.search.ranking == "newest" else page.scores, page.total, whole)


def matching(lexicon: Lexicon, question: Question, condition: Condition | None) -> Mask | None:
    """Return all objects that answer a search under a condition; None: its text has no words, so nobody does."""
    reader = lexicon.reader
    if question.is_about_all:
        return everybody(reader, condition)
    if not len(question.terms):
        return None
    mask = None if condition is None else mask_of(reader, condition)
    plan = plan_of(lexicon, question.terms, question.config, question.matching)
    return all_matching(bind(plan, reader, question.config.store.kv.retain_word_objects, mask=mask))


def ordered(lexicon: Lexicon, question: Question, wanted: int) -> Ordered | None:
    """Return the best `wanted` objects by an order other than that of scores; None: nobody answers."""
    found = matching(lexicon, question, question.condition)
    if found is None:
        return None
    reader, search = lexicon.reader, question.search
    if search.total:
        found = settled(found)
    best = _in_order(reader, found, question, wanted)
    iids = [iid for iid, _ in best]
    count = reader.state.next_iid
    keys = [(1, 0) if key is None else (0, key) for _, key in best]
    return Ordered(reader.oids(iids), keys, [iid / count for iid in iids], found.total() if search.total else None)


def _in_order(reader: BucketReader, found: Mask, question: Question, wanted: int) -> list[tuple[int, int | None]]:
    """Return (IID, key) of the best objects: those without a value come last, and have no key."""
    sort, after = question.sort, question.search.after
    behind = None if after is None else _place_of(reader, after, question)
    windows = None if sort.name in (NEWEST, SCORE) else _windows(reader, sort)
    if windows is None:
        return [(iid, None) for iid in found.newest(wanted, 1 << 32 if behind is None else behind[1])]
    best: list[tuple[int, int | None]] = []
    if behind is None or behind[0] is not None:
        point = None if sort.point is None else pack_point(*sort.point)
        best += best_by_value(found, windows, wanted, descending=sort.descending, point=point, after=behind)
    if len(best) < wanted:
        below = behind[1] if behind is not None and behind[0] is None else 1 << 32
        without = without_value(found, windows)
        best += [(iid, None) for iid in without.newest(wanted - len(best), below)]
    return best


def _windows(reader: BucketReader, sort: Sort) -> list[object] | None:
    """Return the values that order objects; None: nobody has one."""
    columns = reader.columns
    column = None if columns is None else columns.names.get(sort.name)
    if columns is None or column is None or (sort.point is not None and not columns.is_point(column)):
        return None
    return list(columns.windows(column))


def _place_of(reader: BucketReader, name: str, question: Question) -> tuple[int | None, int]:
    """Return the key and the IID of the object that a page follows. Raises InvalidArgument if there is none."""
    iid = reader.number_of(name)
    if iid is None:
        raise nothing_behind(question.search.bucket, name)
    sort = question.sort
    windows = None if sort.name in (NEWEST, SCORE) else _windows(reader, sort)
    if windows is None:
        return None, iid
    point = None if sort.point is None else pack_point(*sort.point)
    only = Bits(window_count(reader), [iid])
    keys = best_by_value(only, windows, 1, descending=sort.descending, point=point)
    return (keys[0][1] if keys else None), iid


def without_value(found: Mask, windows: list[object]) -> Mask:
    """Return the objects of a mask that have none of some values."""
    every = InRange(found.count, windows, INT_MIN, INT_MAX)
    return AllOf(found.count, [found, NotIn(found.count, every)])

