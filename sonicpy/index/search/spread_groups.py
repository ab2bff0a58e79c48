"""GROUP over the parts of a spread bucket: each part returns the best objects of its groups, of which the best one of
each group is kept.

The best object of a group is the best one in its part, too, and fewer groups come before it there than in all parts: so
for a first page, it suffices that each part returns as many groups as are wanted.

Behind a place, it may not: a group counts there whose best object in the part is behind the place, although one before
it is in another part. So `merge_groups` says whether the page is sure: up to the last group of each part that may have
more, all groups are known. The parts are asked for more groups until it is.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy._native.plan import Plan
from sonicpy.filters.grouping import GroupKey, parse_group
from sonicpy.index.search.grouped import best_by_plan, best_in_order, check_grouped, count_groups, is_later, shown_keys
from sonicpy.index.search.how import WORDS_SHOWN
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.refine import Wanted, check_ranking, place_by_age
from sonicpy.index.search.value_groups import CountedGroups, groups_in
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import BucketReader

if TYPE_CHECKING:
    from sonicpy.config import Config

PlainCounted = tuple[list[GroupKey], int]
"""Groups, and the number of objects without one, for JSON."""


class GroupRows(NamedTuple):
    """The findings of a part, for JSON.

    Attributes:
        rows: the best object of each of its groups, as `Part.rows` or `sorted_rows` returns it.
        keys: the group of each object; None: it is a group of its own.
        hows: the numbers of the words of the plan that each object holds; None: they were not asked for.
        counted: all groups of the part; None: they were not asked for.
        of_whole: those groups with an object that answers by whole words; None: they were not asked for, or the order
            is not by score.
    """

    rows: list[Any]
    keys: list[GroupKey | None]
    hows: list[list[int]] | None = None
    counted: PlainCounted | None = None
    of_whole: PlainCounted | None = None


def group_rows(
    lexicon: Lexicon,
    search: Search,
    plan: Plan | None,
    behind: Sequence[Any] | None,
    config: "Config",
    highest: int | None = None,
) -> GroupRows:
    """Return the findings of a part.

    Args:
        plan: the plan of the text; None: the text is empty.
        behind: (key, age, name, tag) of the object behind which the page begins, the tag for groups of tags; None: the
            page is the first.
        highest: the highest value, in all parts, under the name that BOOST gives; None: the highest one of this part.
    """
    wanted = search.offset + search.limit
    if plan is None or not search.is_by_score:
        check_ranking(config)
        return _rows_in_order(lexicon, search, plan, behind, config)
    check_grouped(search, config)
    best = best_by_plan(lexicon, plan, config, search, wanted, highest)
    hows = None
    if search.how:
        iids: list[Any] = [row[0] for row in best.part.found]
        hows = best.part.held(iids, WORDS_SHOWN)
    rows: list[Any] = best.part.rows()  # type: ignore[union-attr]  # of one bucket
    return GroupRows(rows, best.keys, hows, _plain(best.counted), _plain(best.of_whole))


def groups_shown(reader: BucketReader, group: str, iids: list[int]) -> list[list[GroupKey]]:
    """Return the groups of each of some objects, as answers show them."""
    groups = groups_in(reader, parse_group(group))
    return [[groups.shown(key) for key in held] for held in groups.of(iids)]


def _rows_in_order(
    lexicon: Lexicon, search: Search, plan: Plan | None, behind: Sequence[Any] | None, config: "Config"
) -> GroupRows:
    reader, end = lexicon.reader, search.offset + search.limit
    wanted = Wanted(reader, plan, config.store.kv.retain_word_objects)
    place, last = None, None
    if behind is not None:
        place = place_by_age(reader, *behind[:3])
        last = (0, behind[3]) if reader.number_of(behind[2]) is not None else None
    finder, kept = best_in_order(lexicon, [wanted], search, [place], last, end)
    names, count = reader.oids([iid for _, (_, iid), _ in kept]), reader.state.next_iid
    rows = [(name, row[0], at[1] / count) for name, (row, at, _) in zip(names, kept, strict=True)]
    counted = _plain(count_groups(finder, finder.passing)) if search.total else None
    return GroupRows(rows, shown_keys(finder.groups, kept), None, counted)


def _plain(counted: CountedGroups | None) -> PlainCounted | None:
    return None if counted is None else (list(counted.keys), counted.alone)


class GroupPage(NamedTuple):
    """A page of the best objects of groups of all parts.

    Attributes:
        rows: the rows of the objects.
        keys: the groups of the objects.
        hows: as in GroupRows.
        total, whole: the number of groups, and of those with an object that answers by whole words; None: not asked
            for, or, the second, not known, because the order is not by score.
        is_sure: whether nothing that the parts did not return belongs on the page.
    """

    rows: list[Any]
    keys: list[GroupKey | None]
    hows: list[list[int]] | None
    total: int | None
    whole: int | None
    is_sure: bool = True


def merge_groups(
    parts: Sequence[GroupRows], search: Search, behind: Sequence[Any] | None, asked: int | None = None
) -> GroupPage:
    """Return a page of the best objects of the groups of all parts.

    Args:
        behind: as in `group_rows`.
        asked: the number of groups that each part was asked for; None: those up to the end of the page.
    """
    rank = _by_score if search.is_by_score else _by_order
    found = [
        (row, key, part.hows[place] if part.hows else [])
        for part in parts
        for place, (row, key) in enumerate(zip(part.rows, part.keys, strict=True))
    ]
    found.sort(key=lambda one: rank(one[0]))
    first, last = (None, None) if behind is None else (_by_order((behind[2], behind[0], behind[1])), behind[3])

    def is_behind(row: Sequence[Any], key: GroupKey | None) -> bool:
        return first is None or rank(row) > first or (rank(row) == first and is_later(key, last))

    seen: set[GroupKey] = set()
    best = []
    for row, key, how in found:
        if key is None or key not in seen:
            if is_behind(row, key):
                best.append((row, key, how))
            if key is not None:
                seen.add(key)
    end = search.offset + search.limit
    page = best[search.offset : end]
    enough = end if asked is None else asked
    ends = [  # of the parts that may have more groups
        rank(part.rows[-1])
        for part in parts
        if len(part.rows) >= max(enough, 1) and sum(map(is_behind, part.rows, part.keys)) >= enough
    ]
    is_sure = not ends or sum(rank(row) <= min(ends) for row, _, _ in best[:end]) == end
    hows = [how for _, _, how in page] if search.how else None
    total = _number(part.counted for part in parts) if search.total else None
    whole = _number(part.of_whole for part in parts) if search.total and search.is_by_score else None
    return GroupPage([row for row, _, _ in page], [key for _, key, _ in page], hows, total, whole, is_sure)


def _number(counted: Iterable[PlainCounted | None]) -> int:
    keys, alone = set[GroupKey](), 0
    for each in counted:
        if each is not None:
            keys.update(each[0])
            alone += each[1]
    return len(keys) + alone


def _by_score(row: Sequence[Any]) -> tuple[Any, ...]:
    name, kind, score, age = row
    return kind, -score, -age, name


def _by_order(row: Sequence[Any]) -> tuple[Any, ...]:
    name, key, age = row
    return key is None, -(key or 0), -age, name


NO_ROWS = GroupRows([], [], [], ([], 0), ([], 0))
"""The findings of a part that does not have the bucket."""
