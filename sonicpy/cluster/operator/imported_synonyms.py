"""The synonyms of an import into a cluster: counted first, because replicas leave out rules beyond RULES_MAX."""

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from nats.aio.client import Client

from sonicpy.cluster.operator.emptiness import answer_of
from sonicpy.cluster.peers.questions import Question
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.index.recorder import Recorder
from sonicpy.index.report.export import synonyms_of
from sonicpy.store.rows.synonym_rules import RULES_MAX

RULES_AT_ONCE = 500
"""The most rules of synonyms in a record, and in an answer of a partition."""

InCluster = Callable[[str], Awaitable[set[str]]]
"""Returns the rules of synonyms that a collection of the cluster has."""


class SynonymRecords:
    """The records that add the synonyms of indexes, each rule once: all partitions of a cluster hold the same ones."""

    def __init__(self, recorder: Recorder, in_cluster: InCluster) -> None:
        self._recorder = recorder
        self._in_cluster = in_cluster
        self._held: dict[str, set[str]] = {}  # by the cluster, before the import
        self._known: dict[str, set[str]] = {}  # from indexes

    async def of(self, source: Path, index: Index) -> Iterator[bytes]:
        """Return the records of the rules of an index that were in none before, some rules in each.

        Args:
            source: the folder of the index, for the message.

        Raises:
            StoreError: with these rules a collection would have more than RULES_MAX; or the cluster does not answer.
        """
        with index.engine.read() as view:
            found = synonyms_of(view, None)
        for collection, rules in found.items():
            if collection not in self._held:
                self._held[collection] = await self._in_cluster(collection)
            number = len(self._held[collection].union(self._known.get(collection, ()), rules))
            if number > RULES_MAX:
                raise StoreError(
                    f"nothing of {source} is imported: with its rules of synonyms, the collection {collection} of the "
                    f"cluster would have {number} rules; allowed are {RULES_MAX}"
                )
        return self._records(found)

    def _records(self, found: dict[str, list[str]]) -> Iterator[bytes]:
        for collection, rules in found.items():
            known = self._known.setdefault(collection, set())
            new = [rule for rule in rules if rule not in known]
            known.update(new)
            for first in range(0, len(new), RULES_AT_ONCE):
                self._recorder.set_synonyms(collection, new[first : first + RULES_AT_ONCE], add=True)
                yield self._recorder.take_record()


async def rules_in_cluster(connection: Client, collection: str) -> set[str]:
    """Return the rules of synonyms that a collection of a cluster has, which all partitions hold.

    Raises:
        StoreError: partition 0 does not answer, or refuses the question.
    """
    held: set[str] = set()
    for first in range(0, RULES_MAX, RULES_AT_ONCE):
        question = Question("synonyms_from", (collection, first, RULES_AT_ONCE), is_strong=True)
        answer = await answer_of(connection, 0, question)
        if not answer.startswith(b"+"):
            raise StoreError(f"partition 0 answers: {answer[1:].decode()}")
        rules = json.loads(answer[1:])
        held.update(rules)
        if len(rules) < RULES_AT_ONCE:
            break
    return held
