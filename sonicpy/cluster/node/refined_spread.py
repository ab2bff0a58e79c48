"""Filters, orders and facets over a spread bucket: each part answers for its objects, and this node merges the
answers.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from sonicpy.arguments import nothing_behind
from sonicpy.channel import replies
from sonicpy.channel.commands import CountFacets, Query
from sonicpy.cluster.peers.questions import Question
from sonicpy.filters.sorting import NEWEST, facets_of
from sonicpy.index.search.faceting import merge_facets, no_facets
from sonicpy.index.search.plan import to_plain
from sonicpy.index.search.refine import merge_sorted
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.cluster.node.desk import Desk
    from sonicpy.cluster.node.grouped_spread import Planned
    from sonicpy.cluster.node.places import Places

Ask = Callable[..., Awaitable[list[bytes]]]
"""Asks parts of a bucket: (collection, bucket, kind of question, fields, parts) -> answers; see `Spread.ask`."""
PlanOf = Callable[[Any], Awaitable["Planned | None"]]
"""Returns the plan of a search; None: its text has no words."""


class RefinedSpread:
    """Answers commands with filters, orders or facets in spread buckets.

    Args:
        ask: see `Ask`.
        plan_of: see `PlanOf`.
    """

    def __init__(self, desk: "Desk", places: "Places", ask: Ask, plan_of: PlanOf) -> None:
        self._desk = desk
        self._places = places
        self._ask = ask
        self._plan_of = plan_of

    async def query(self, command: Query) -> bytes:
        """Return the reply to a QUERY with SORT, or with a filter and no text."""
        plan, parts = None, None
        if command.has_words:
            planned = await self._plan_of(command)
            if planned is None:
                return _event(command, [], 0)
            plan, parts = to_plain(planned.plan), planned.parts
        behind = None if command.after is None else await self.behind(command, command.after)
        fields = (list(Search(*command)), plan, behind)
        found = list(map(json.loads, await self._ask(*command.scope, "spread_sorted", *fields, parts=parts)))
        names = merge_sorted([rows for rows, _ in found], command.limit, command.offset)
        return _event(command, names, sum(int(count) for _, count in found) if command.total else 0)

    async def facets(self, command: CountFacets) -> bytes:
        """Return the reply to FACETS."""
        plan, parts = None, None
        if command.search.has_words:
            planned = await self._plan_of(command.search)
            if planned is None:
                return replies.result(no_facets(facets_of(command.of, command.ranges)).to_json())
            plan, parts = to_plain(planned.plan), planned.parts
        answers = await self._ask(*command.scope, "spread_facets", list(command), plan, parts=parts)
        return replies.result(merge_facets(list(map(json.loads, answers)), command.limit).to_json())

    async def behind(self, command: Query, name: str) -> Sequence[Any]:
        """Return the key, the age and the name of the object that a page follows, from the part that holds it. Raises
        InvalidArgument if there is no such object.
        """
        partition = self._places.partition_of(*command.scope, name)
        question = Question("spread_place", (*command.scope, name, command.sort or NEWEST))
        found: Sequence[Any] | None = json.loads(await self._desk.ask(partition, question))
        if found is None:
            raise nothing_behind(command.bucket, name)
        return found


def _event(command: Query, names: Sequence[str], total: int) -> bytes:
    """Return the reply with a page of an order that is not by score: the words by which objects answer are not known,
    nor how many answer by whole words.
    """
    return replies.hits(
        [(name, None) for name in names], total if command.total else None, scores=command.scores,
        counts_whole=command.counts_whole, hows=[()] * len(names) if command.how else None,
    )  # fmt: skip
