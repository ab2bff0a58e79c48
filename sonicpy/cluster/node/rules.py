"""The rules of buckets, at a node that cuts the texts of a PUSH: replicas never cut.

A bucket has the rules of its parts, which are those of its first text. A node that holds no replica of it asks one that
does. What is not the newest is asked again after a while: FLUSHB, and the bucket may come again with the newest rules.
"""

import json
import time
from typing import TYPE_CHECKING

from sonicpy.cluster.log.versions import LISTED, Agreement
from sonicpy.cluster.peers.questions import Question
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows.uses import FACTS, RULES_8

if TYPE_CHECKING:
    from sonicpy.cluster.node.node import Node

KEPT_S = 2.0
"""Seconds for which older rules are remembered."""
BUCKETS_MAX = 10_000
"""Buckets whose rules are remembered, at most."""


def rules_of(agreed: Agreement) -> int:
    """Return the rules of new buckets: the newest ones once all nodes know them."""
    return NEWEST if agreed.version >= LISTED and {RULES_8, FACTS} <= agreed.names else FIRST


class BucketRules:
    """The rules of the buckets that a node cuts texts for.

    Args:
        node: the node.
    """

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    def known(self, collection: str, bucket: str) -> int | None:
        """Return the rules of a bucket, for a PUSH that is answered in this turn; None: `find` has to ask for them."""
        newest = self._node.recorder.lexer.rules
        if newest == FIRST:
            return FIRST
        held = self._known.get((collection, bucket))
        if held is not None and held[0] > time.monotonic():
            return held[1]
        parts = self._node.parts_of(collection, bucket)
        replica = self._node.replicas.get(parts[0]) if len(parts) == 1 else None
        if replica is None or replica.fault is not None or replica.applied < self._node.written[parts[0]]:
            return None
        return self._keep(collection, bucket, replica.to_read().bucket_rules(collection, bucket), newest)

    async def find(self, collection: str, bucket: str) -> int:
        """Return the rules of a bucket; ask those who hold it, if need be. Raises as `Node.ask`."""
        found = self.known(collection, bucket)
        if found is not None:
            return found
        for part in self._node.parts_of(collection, bucket):
            answer = await self._node.ask(part, Question("bucket_rules", (collection, bucket)))
            if (rules := json.loads(answer)) is not None:
                return self._keep(collection, bucket, rules, self._node.recorder.lexer.rules)
        return self._keep(collection, bucket, None, self._node.recorder.lexer.rules)

    def forget(self, collection: str) -> None:
        """Ask anew for the rules of a collection's buckets: some were flushed."""
        for scope in [scope for scope in self._known if scope[0] == collection]:
            del self._known[scope]

    def _keep(self, collection: str, bucket: str, rules: int | None, newest: int) -> int:
        if len(self._known) >= BUCKETS_MAX:
            self._known.clear()
        found = newest if rules is None else rules
        until = float("inf") if rules == newest else time.monotonic() + KEPT_S
        if rules is not None:  # a bucket that does not exist yet may come with other rules from another node
            self._known[collection, bucket] = until, found
        return found
