"""GROUP over a spread bucket: each part returns the best objects of its groups, and answers are merged."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Query
from sonicpy.errors import InvalidArgument
from sonicpy.filters.sorting import parse_boost
from sonicpy.index.search.grouped import after_of
from sonicpy.index.search.parts import Page
from sonicpy.index.search.plan import to_plain
from sonicpy.index.search.refine import check_spread
from sonicpy.index.search.spread_groups import GroupRows, merge_groups
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


class AsksParts(Protocol):
    """Asks the parts of spread buckets; see `spread`."""

    @property
    def config(self) -> "Config": ...
    async def planned(self, command: Search) -> Planned | None: ...
    async def behind(self, command: Query, name: str) -> Sequence[Any]: ...
    async def highest(self, command: Query) -> int | None: ...
    async def ask(self, collection: str, bucket: str, kind: str, *fields: Any) -> list[bytes]: ...


async def grouped(spread: AsksParts, command: Query) -> bytes:
    """Return the reply to a QUERY with groups."""
    if command.is_by_score:
        check_spread(command, spread.config)
        if command.vector is not None:
            raise InvalidArgument("group and vector are both given, of a bucket that is spread; allowed is one of them")
    planned, behind = None, None
    if command.has_words:
        planned = await spread.planned(command)
        if planned is None:
            none = 0 if command.total else None
            return replies.hits([], none, scores=command.scores, whole=0 if command.whole else None,
                                hows=[] if command.how else None)  # fmt: skip
    last, after = after_of(command)
    if after is not None:
        behind = [*await spread.behind(command, after), last]
    plan = None if planned is None else planned.plan
    answers = await spread.ask(
        *command.scope, "spread_grouped", list(Search(*command)), None if plan is None else to_plain(plan), behind,
        await spread.highest(command),
    )  # fmt: skip
    page = merge_groups([GroupRows(*json.loads(answer)) for answer in answers], command, behind)
    names, scores = [row[0] for row in page.rows], [None] * len(page.rows)
    hows, corrected = None, None
    if plan is not None and planned is not None and command.is_by_score:
        if spread.config.search.ranking != "newest":
            most = 1.0 if command.boost is None else parse_boost(command.boost).most
            found = [(name, kind, score) for name, kind, score, _ in page.rows]
            scores = list(Page(names, found, plan.ceiling * most, page.total).scores)  # type: ignore[arg-type]
        if page.hows is not None:
            how = planned.how()
            hows, corrected = [how.of(held) for held in page.hows], planned.corrected
    elif command.how:
        hows = [()] * len(names)
    return replies.hits(
        zip(names, scores, strict=True), page.total, scores=command.scores,
        whole=page.whole if command.whole else None, hows=hows, corrected=corrected, groups=page.keys,
    )  # fmt: skip
