"""GROUP over a spread bucket: each part returns the best objects of its groups, and this node merges them."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Query
from sonicpy.filters.grouping import GroupKey
from sonicpy.filters.sorting import highest_factor
from sonicpy.index.search.grouped import after_of
from sonicpy.index.search.likeness import check_ranking, check_vectors
from sonicpy.index.search.meaning import MeantRows, merge_meant
from sonicpy.index.search.parts import Page
from sonicpy.index.search.plan import to_plain
from sonicpy.index.search.refine import check_spread
from sonicpy.index.search.spread_groups import GroupPage, GroupRows, merge_groups
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.search.how import HowFound
    from sonicpy.index.search.plan import Plan


class Planned(Protocol):
    """The plan of a search; see `spread`."""

    @property
    def plan(self) -> "Plan": ...
    @property
    def how(self) -> Callable[[], "HowFound"]: ...
    @property
    def corrected(self) -> str | None: ...
    @property
    def parts(self) -> Sequence[int] | None: ...
    def with_column(self, command: Query) -> Query: ...


class AsksParts(Protocol):
    """Asks the parts of spread buckets; see `Spread`."""

    @property
    def config(self) -> "Config": ...
    async def planned(self, command: Search) -> Planned | None: ...
    async def behind(self, command: Query, name: str) -> Sequence[Any]: ...
    async def highest(self, command: Query) -> int | None: ...
    async def ask(
        self, collection: str, bucket: str, kind: str, *fields: Any, parts: Sequence[int] | None = None
    ) -> list[bytes]: ...


async def grouped(spread: AsksParts, command: Query) -> bytes:
    """Return the reply to a QUERY with groups."""
    if command.is_by_score:
        check_spread(command, spread.config)
    planned, behind = None, None
    if command.has_words:
        planned = await spread.planned(command)
        if planned is None:
            none = 0 if command.total else None
            return replies.hits([], none, scores=command.scores, counts_whole=command.counts_whole,
                                whole=0 if command.is_by_score else None, hows=[] if command.how else None)  # fmt: skip
    if planned is not None and command.is_by_score and command.vector is not None:
        return await grouped_by_meaning(spread, command, planned)
    last, after = after_of(command)
    if after is not None:
        behind = [*await spread.behind(command, after), last]
    plan = None if planned is None else planned.plan
    page = await _page_of_groups(spread, command, planned, behind)
    names, scores = [row[0] for row in page.rows], [None] * len(page.rows)
    hows, corrected = None, None
    if plan is not None and planned is not None and command.is_by_score:
        if spread.config.search.ranking != "newest":
            most = highest_factor(command.boost)
            found = [(name, kind, score) for name, kind, score, _ in page.rows]
            scores = list(Page(names, found, plan.ceiling * most, page.total).scores)  # type: ignore[arg-type]
        if page.hows is not None:
            how = planned.how()
            hows, corrected = [how.of(held) for held in page.hows], planned.corrected
    elif command.how:
        hows = [()] * len(names)
    return replies.hits(
        zip(names, scores, strict=True), page.total, scores=command.scores, counts_whole=command.counts_whole,
        whole=page.whole, hows=hows, corrected=corrected, groups=page.keys,
    )  # fmt: skip


async def _page_of_groups(
    spread: AsksParts, command: Query, planned: Planned | None, behind: Sequence[Any] | None
) -> GroupPage:
    """Return a page of the best objects of groups, of as many groups of each part as it takes to be sure of the page.

    Args:
        planned: the plan of the text; None: it is empty.
        behind: as in `group_rows`.
    """
    plan, parts = (None, None) if planned is None else (to_plain(planned.plan), planned.parts)
    asked, highest = command.offset + command.limit, await spread.highest(command)
    while True:
        search = list(Search(*command)._replace(offset=0, limit=asked))
        answers = await spread.ask(*command.scope, "spread_grouped", search, plan, behind, highest, parts=parts)
        page = merge_groups([GroupRows(*json.loads(answer)) for answer in answers], command, behind, asked)
        if page.is_sure:  # at last when each part returns all of its groups
            return page
        asked *= 2


class BestOfGroup(NamedTuple):
    """The best object of a group.

    Attributes:
        key: the group; None: the object is a group of its own.
        words: the numbers of the words of the plan that it holds.
    """

    name: str
    score: float
    key: GroupKey | None
    words: Sequence[int]


async def grouped_by_meaning(spread: AsksParts, command: Query, planned: Planned) -> bytes:
    """Return the reply to a QUERY with groups and a vector: first the groups of the objects that the vector reorders,
    then the other groups by words.
    """
    check_ranking(spread.config)
    command, parts = planned.with_column(command), planned.parts
    plan, highest = to_plain(planned.plan), await spread.highest(command)
    first = Search(*command)._replace(limit=command.depth, offset=0, total=False)
    fields = (list(first), plan, command.depth, highest)
    answers = await spread.ask(*command.scope, "spread_scored", *fields, parts=parts)
    best, seen, names = _first_groups([json.loads(answer) for answer in answers], first, planned)
    end = command.offset + command.limit
    rest = first._replace(vector=None, limit=end + len(best), total=command.total)
    answers = await spread.ask(*command.scope, "spread_grouped", list(rest), plan, None, highest, parts=parts)
    page = merge_groups([GroupRows(*json.loads(answer)) for answer in answers], rest, None)
    by_words: list[Any] = [tuple(row[:3]) for row in page.rows]
    scores = Page([], by_words, planned.plan.ceiling * highest_factor(command.boost), None).scores
    for row, score, key, words in zip(page.rows, scores, page.keys, page.hows or [[]] * len(scores), strict=True):
        if key not in seen if key is not None else row[0] not in names:
            best.append(BestOfGroup(row[0], score, key, words))
    best = best[command.offset : end]
    hows = list(map(planned.how().of, (each.words for each in best))) if command.how else None
    return replies.hits(
        [(each.name, each.score) for each in best], page.total, scores=command.scores,
        counts_whole=command.counts_whole, whole=page.whole, hows=hows, corrected=planned.corrected,
        groups=[each.key for each in best],
    )  # fmt: skip


def _first_groups(
    answers: Sequence[Sequence[Any]], search: Search, planned: Planned
) -> tuple[list[BestOfGroup], set[GroupKey], set[str]]:
    """Return the best objects of the groups among the first objects of all parts, these groups, and the objects."""
    check_vectors(refusal for *_, refusal in answers)
    found = [MeantRows(rows, sums, None) for rows, _, _, sums, *_ in answers]
    names, scores, _ = merge_meant(found, planned.plan, search, highest_factor(search.boost))
    of_object = {
        row[0]: (keys, words)
        for rows, _, held, _, groups, _ in answers
        for row, keys, words in zip(rows, groups, held or [()] * len(rows), strict=True)
    }
    best: list[BestOfGroup] = []
    seen = set[GroupKey]()
    for name, score in zip(names, scores, strict=True):
        keys, words = of_object[name]
        best += [BestOfGroup(name, score, key, words) for key in keys or [None] if key is None or key not in seen]
        seen.update(keys)
    return best, seen, set(names)
