"""Questions about one partition: commands and methods of Index by name, as JSON from node to node.

Query, Pop, ...   a command: the answer is its reply; for a change, its result and its position in the log
count_buckets     a method, called at several partitions: the answer is its result as JSON

Nodes of several versions work side by side while a cluster is upgraded. Fields of a command at its end that have their
default are left out, so that an older node without these fields reads the question. A question that a node cannot read
raises UnknownQuestion there, and another node is asked.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sonicpy.channel.commands import (
    Claim,
    Count,
    CountB,
    CountFacets,
    CountO,
    Exists,
    Explain,
    FlushB,
    FlushC,
    FlushO,
    FlushV,
    List,
    Objects,
    Pop,
    Query,
    SetSynonyms,
    Similar,
    Suggest,
    Tag,
)
from sonicpy.errors import SonicError
from sonicpy.server.connections import dispatch
from sonicpy.version import VERSION

if TYPE_CHECKING:
    from sonicpy.index.recorder import Recorder
    from sonicpy.index.replica_index import ReplicaIndex
    from sonicpy.server.jobs.committer import Committer

COMMANDS: dict[str, Any] = {
    **{
        kind.__name__: kind
        for kind in (
            Claim,
            Count,
            CountB,
            CountFacets,
            CountO,
            Exists,
            FlushB,
            FlushC,
            FlushO,
            FlushV,
            List,
            Objects,
            Pop,
            Query,
            Similar,
            SetSynonyms,
            Suggest,
            Tag,
        )
    },
    "Reasons": Explain,
}
NAMES = {kind: name for name, kind in COMMANDS.items()}
"""Class of a command -> its name in questions."""
DEFAULTS: dict[str, tuple[Any, ...]] = {
    name: tuple(reversed(kind._field_defaults.values())) for name, kind in COMMANDS.items()
}
"""Name of a command -> the defaults of its last fields, the last one first."""
CHANGES = frozenset({"Claim", "Pop", "Tag", "FlushB", "FlushC", "FlushO", "FlushV", "SetSynonyms"})
# A method whose arguments change gets another name, so that nodes of other versions refuse it.
METHODS = frozenset(
    {
        *("bucket_rules", "buckets_after", "collections_after"),
        *("count_buckets", "count_objects", "position_after", "stats"),
        *("spread_completions", "spread_find", "spread_list", "spread_terms", "spread_word"),
        *("spread_asked", "spread_fields", "spread_how"),
        *("spread_together", "spread_typed", "spread_passing_together", "spread_scored"),
        *("spread_meant", "vector_refusal", "synonyms_from", "claim_state"),
        *("spread_grouped", "spread_passing", "spread_highest"),
        *("spread_aged", "spread_facets", "spread_find_filtered", "spread_place", "spread_sorted"),
    }
)
COMMIT_BEFORE = frozenset({"stats"})
"""Methods that need a commit first, to include applied changes."""


class UnknownQuestion(SonicError):
    """This version cannot read a question, because a node of another version has sent it; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a node about a partition.

    Attributes:
        kind: the name of a command or method.
        fields: the fields of the command, or the arguments of the method.
        position: the position in the log up to which the answer has to include all changes.
        is_strong: whether the answer has to include all changes that any node acknowledged before.
    """

    kind: str
    fields: tuple[Any, ...]
    position: int = 0
    is_strong: bool = False

    def with_position(self, position: int, is_strong: bool) -> "Question":
        """Return the question with the position up to which its answer has to include all changes."""
        return replace(self, position=position, is_strong=is_strong)


def is_read(question: Question) -> bool:
    """Return whether a question only reads a replica."""
    return question.kind not in CHANGES


def question_of(command: Any) -> Question:
    """Return the question of a command."""
    return Question(NAMES[type(command)], tuple(command))


def subject_of_questions(partition: int) -> str:
    """Return the subject on which the replicas of a partition are asked."""
    return f"sonicpy.ask.{partition}"


def pack_question(partition: int, question: Question) -> bytes:
    """Return a question as bytes."""
    defaults = DEFAULTS.get(question.kind)
    fields = question.fields if defaults is None else without_defaults(question.fields, defaults)
    return json.dumps([partition, question.kind, fields, question.position, question.is_strong]).encode()


def pack_command(partition: int, command: Any, position: int, is_strong: bool) -> bytes:
    """Return the question of a command as bytes, as `pack_question` does."""
    kind = NAMES[type(command)]
    fields = without_defaults(command, DEFAULTS[kind])
    return json.dumps((partition, kind, fields, position, is_strong)).encode()


def without_defaults(fields: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return fields without the last ones, as far as these have their defaults."""
    count = len(fields)
    for default in defaults:
        if fields[count - 1] != default:
            break
        count -= 1
    return fields[:count]


def unpack_question(packed: bytes) -> tuple[int, Question]:
    """Return the partition and the question in the bytes that a node of the same cluster has sent.

    Raises:
        UnknownQuestion: the bytes have another form.
    """
    try:
        partition, kind, fields, position, is_strong = json.loads(packed.decode())
        return partition, Question(kind, tuple(fields), position, is_strong)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnknownQuestion(f"a question has a form that this sonicpy {VERSION} does not know: upgrade it") from error


def answer_read(index: "ReplicaIndex", committer: "Committer", question: Question) -> bytes:
    """Return the answer to a question that changes nothing.

    Raises:
        CommandError: it is refused.
        StoreError: the replica cannot be read.
        UnknownQuestion: this version has no such question.
    """
    if question.kind in METHODS:
        if question.kind in COMMIT_BEFORE:
            committer.commit()
        method: Callable[..., Any] = getattr(index, question.kind)
        return json.dumps(method(*question.fields)).encode()
    command = command_of(question)
    return dispatch.CALLS[type(command)](index, command)


def make_record(recorder: "Recorder", question: Question) -> bytes:
    """Return the log record of a question that changes something.

    Raises:
        CommandError: it is refused.
        StoreError: the record is too long.
        UnknownQuestion: this version has no such question.
    """
    command = command_of(question)
    dispatch.CHANGES[type(command)](recorder, command)
    return recorder.take_record()


def reasons_of(question: Question) -> Question:
    """Return the question EXPLAIN of version 1.0 in the form of the present version."""
    try:
        collection, bucket, text, limit, lang, *stem = question.fields
    except ValueError:
        return question
    return replace(question, kind="Reasons", fields=(collection, bucket, text, limit, 0, lang, False, *stem))


OLD_FORMS: dict[str, Callable[[Question], Question]] = {"Explain": reasons_of}
"""Name of a question -> function that converts it from the form of an older version."""


def command_of(question: Question) -> Any:
    """Return the command of a question. Raises UnknownQuestion."""
    question = OLD_FORMS.get(question.kind, replace)(question)
    kind = COMMANDS.get(question.kind)
    count = len(question.fields)
    if kind is None or not len(kind._fields) - len(kind._field_defaults) <= count <= len(kind._fields):
        raise UnknownQuestion(
            f"a node of sonicpy {VERSION} does not know the question {question.kind} with {count} fields: upgrade it"
        )
    return kind(*(tuple(each) if isinstance(each, list) else each for each in question.fields))
