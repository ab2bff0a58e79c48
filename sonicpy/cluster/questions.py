"""Questions about one partition: commands and methods of Index by name, as JSON from node to node.

Query, Pop, ...   a command: the answer is its reply, of a change its number and its position
count_buckets     a method that several partitions are asked for: the answer is its result as JSON
snapshot          take a snapshot: the answer is its position
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sonicpy.channel.commands import (
    Count,
    CountB,
    CountO,
    Exists,
    Explain,
    FlushB,
    FlushC,
    FlushO,
    List,
    Objects,
    Pop,
    Query,
    Suggest,
)
from sonicpy.index.replica import Recorder, ReplicaIndex
from sonicpy.server.committer import Committer
from sonicpy.server.dispatch import CALLS

COMMANDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Count, CountB, CountO, Exists, Explain, FlushB, FlushC, FlushO, List, Objects, Pop, Query, Suggest)
}
SNAPSHOT = "snapshot"
CHANGES = frozenset({"Pop", "FlushB", "FlushC", "FlushO"})
METHODS = frozenset(
    {
        *("buckets_after", "collections_after", "count_buckets", "count_objects", "position_after", "stats"),
        *("spread_find", "spread_list", "spread_terms", "spread_word"),
    }
)
COMMIT_BEFORE = frozenset({"stats"})
"""Methods that are to see what was applied since the last commit."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a node asks about a partition.

    Attributes:
        kind: the name of a command or method.
        fields: of the command, or the arguments of the method.
        position: the answer has to know the log up to there.
        is_strong: it has to know all that any node acknowledged before.
    """

    kind: str
    fields: tuple[Any, ...]
    position: int = 0
    is_strong: bool = False

    def with_position(self, position: int, is_strong: bool) -> "Question":
        """Return the same question for a node that has acknowledged changes up to `position`."""
        return replace(self, position=position, is_strong=is_strong)


def is_read(question: Question) -> bool:
    """Return whether a question changes nothing, and is answered from what a replica holds."""
    return question.kind not in CHANGES and question.kind != SNAPSHOT


def subject_of_questions(partition: int) -> str:
    """Return the subject on which the replicas of a partition are asked."""
    return f"sonicpy.ask.{partition}"


def pack_question(partition: int, question: Question) -> bytes:
    """Return a question as bytes."""
    return json.dumps([partition, question.kind, question.fields, question.position, question.is_strong]).encode()


def unpack_question(packed: bytes) -> tuple[int, Question]:
    """Return the partition and the question of some bytes, which a node of the same cluster has sent."""
    partition, kind, fields, position, is_strong = json.loads(packed)
    return partition, Question(kind, tuple(fields), position, is_strong)


def answer_read(index: ReplicaIndex, committer: Committer, question: Question) -> bytes:
    """Return the answer to a question that changes nothing.

    Raises:
        CommandError: it is refused.
        StoreError: the replica cannot be read.
    """
    if question.kind in METHODS:
        if question.kind in COMMIT_BEFORE:
            committer.commit()
        method: Callable[..., Any] = getattr(index, question.kind)
        return json.dumps(method(*question.fields)).encode()
    kind = COMMANDS[question.kind]
    return CALLS[kind](index, kind(*question.fields))


def make_record(recorder: Recorder, question: Question) -> bytes:
    """Return the record of the log of a question that changes something.

    Raises:
        CommandError: it is refused.
        StoreError: the record is too long.
    """
    kind = COMMANDS[question.kind]
    CALLS[kind](recorder, kind(*question.fields))
    return recorder.take_record()
