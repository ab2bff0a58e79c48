"""The rules of buckets at a node, by which it cuts the text of a PUSH into words; replicas never do.

A bucket has the rules of its first text. A node without a replica of the bucket asks a node that has one. It asks again
after a while for rules that are not the newest, because a bucket that was flushed may have been created anew with the
newest rules.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from typing import TYPE_CHECKING

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.versions import LISTED
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.questions import Question
from sonicpy.ids import check_names
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows.uses import FACTS, RULES_8

if TYPE_CHECKING:
    from sonicpy.cluster.node.replica import Replica
    from sonicpy.index.recorder import Recorder

KEPT_S = 2.0
"""The time for which older rules are remembered, in seconds."""
BUCKETS_MAX = 10_000
"""The most buckets whose rules are remembered."""


def rules_of(agreed: Agreement) -> int:
    """Return the rules of new buckets: the newest ones once all nodes have them."""
    return NEWEST if agreed.version >= LISTED and {RULES_8, FACTS} <= agreed.names else FIRST


class KnownRules:
    """The rules of the buckets for which a node cuts texts.

    Args:
        held: partition -> the replica of this node; it may change at any time.
        recorder: cuts the texts of new buckets by the rules of the cluster.
        ask: returns the answer to a question about a partition, from here or from another node.
    """

    def __init__(
        self,
        places: Places,
        held: "Mapping[int, Replica]",
        writers: Writers,
        recorder: "Recorder",
        ask: Callable[[int, Question], Awaitable[bytes]],
    ) -> None:
        self._places = places
        self._held = held
        self._writers = writers
        self._recorder = recorder
        self._ask = ask
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    def at_once(self, collection: str, bucket: str) -> int | None:
        """Return the rules of a bucket for a PUSH that is answered within the turn; None: `find` has to ask for them.

        As long as the nodes have not agreed on newer rules, every bucket has the first ones.

        Raises:
            CommandError: a name is not valid.
            StoreError: the replica cannot be read.
        """
        newest = self._recorder.lexer.rules
        if newest == FIRST:
            return FIRST
        known = self._known.get((collection, bucket))
        if known is not None and known[0] > time.monotonic():
            return known[1]
        check_names(collection, bucket)
        parts = self._places.parts_of(collection, bucket)
        replica = self._held.get(parts[0]) if len(parts) == 1 else None
        # Where a full disk holds it up, other replicas may have flushed the bucket since, and created it anew.
        if replica is None or not replica.answers_at(self._writers.written[parts[0]]):
            return None
        return self._keep(collection, bucket, replica.to_read().bucket_rules(collection, bucket), newest)

    async def find(self, collection: str, bucket: str) -> int:
        """Return the rules of a bucket; ask the nodes that hold it, if need be. Raises as `Desk.ask`."""
        found = self.at_once(collection, bucket)
        if found is not None:
            return found
        rules: int | None = None
        for part in self._places.parts_of(collection, bucket):
            rules = json.loads(await self._ask(part, Question("bucket_rules", (collection, bucket))))
            if rules is not None:
                break
        return self._keep(collection, bucket, rules, self._recorder.lexer.rules)

    def forget(self, collection: str) -> None:
        """Forget the rules of the buckets of a collection, because some were flushed."""
        for scope in [scope for scope in self._known if scope[0] == collection]:
            del self._known[scope]

    def _keep(self, collection: str, bucket: str, rules: int | None, newest: int) -> int:
        """Return the rules of a bucket, and remember them.

        If `rules` is None, the bucket does not exist, and another node may create it: return `newest`, and remember
        nothing.
        """
        if rules is None:
            return newest
        if len(self._known) >= BUCKETS_MAX:
            self._known.clear()
        self._known[collection, bucket] = inf if rules == newest else time.monotonic() + KEPT_S, rules
        return rules
