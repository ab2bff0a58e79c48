"""Questions between nodes: their bytes, and their meaning for nodes of other versions."""

import asyncio
import json
from pathlib import Path

import pytest

from sonicpy.channel.commands import Objects, Query
from sonicpy.cluster.peers import questions
from sonicpy.cluster.peers.questions import (
    COMMANDS,
    Question,
    UnknownQuestion,
    answer_read,
    make_record,
    pack_command,
    pack_question,
    unpack_question,
)
from sonicpy.config import Config
from sonicpy.index.recorder import Recorder
from sonicpy.index.replica_index import ReplicaIndex
from sonicpy.server.jobs.committer import Committer

PLAIN = Query("c", "b", "red apple", 10, 0, None)


@pytest.mark.parametrize(
    "command", [PLAIN, PLAIN._replace(scores=True), PLAIN._replace(stem=False), Objects("c", "b", 5, None, "o1", None)]
)
def test_a_command_comes_as_it_was(command: Query | Objects) -> None:
    packed = pack_command(7, command, 99, True)
    partition, question = unpack_question(packed)
    assert (partition, question.position, question.is_strong) == (7, 99, True)
    assert COMMANDS[question.kind](*question.fields) == command
    assert pack_question(7, Question(type(command).__name__, tuple(command), 99, True)) == packed


def test_fields_with_their_default_are_left_out_at_the_end() -> None:
    """Thus a node of an older version can read the question, unless a new field has another value."""
    assert json.loads(pack_command(0, PLAIN, 0, False))[2] == list(PLAIN[:6])
    assert json.loads(pack_command(0, PLAIN._replace(scores=True), 0, False))[2] == list(PLAIN[:6]) + [True]
    assert json.loads(pack_command(0, PLAIN._replace(stem=False), 0, False))[2] == list(PLAIN[:6]) + [False, False]


def test_defaults_are_those_of_the_commands() -> None:
    for name, kind in COMMANDS.items():
        assert tuple(reversed(questions.DEFAULTS[name])) == tuple(
            kind._field_defaults[field] for field in kind._fields if field in kind._field_defaults
        )


@pytest.mark.parametrize(
    "packed", [b"", b"\xff", b"{}", b"[1]", b'[1, "Query", [], 0, false, "new"]', b'[1, "Query", 5, 0, 0]']
)
def test_another_form_is_named(packed: bytes) -> None:
    with pytest.raises(UnknownQuestion, match="form that this sonicpy .* does not know: upgrade it"):
        unpack_question(packed)


@pytest.mark.parametrize(
    "question",
    [
        Question("Guess", ("c",)),
        Question("collect_garbage", ()),
        Question("Query", (*PLAIN, "more")),
        Question("Query", ("c", "b")),
        Question("close", ()),
    ],
)
def test_an_unknown_question_is_named(question: Question, tmp_path: Path) -> None:
    async def test() -> None:
        recorder = Recorder(Config())
        index = ReplicaIndex(tmp_path / "replica", recorder)
        says = f"does not know the question {question.kind} with {len(question.fields)} fields: upgrade it"
        try:
            with pytest.raises(UnknownQuestion, match=says):
                answer_read(index, Committer(index.engine, syncs_before_reply=False), question)
            with pytest.raises(UnknownQuestion, match=says):
                make_record(recorder, question)
        finally:
            index.close()

    asyncio.run(test())
