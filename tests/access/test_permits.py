"""Commands with a permit: a bucket that was allowed before gets the same answers as if it were checked anew."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.access.admission import Keys, Permit
from sonicpy.access.grant import NotPermitted
from sonicpy.access.key import Key, hash_of, make_key
from sonicpy.channel import commands
from sonicpy.channel.commands import Command
from sonicpy.server.connections import permits
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.server.connections.permits import guarded, permitted
from sonicpy.server.connections.serving import CommandKind
from sonicpy.server.watching.server_statistics import Tally

NAMES = ["a", "b", "ab", "b*"]
ELEMENTS = ["a", "ab", "a*", '"b*"', "*"]
SCOPES = ["a", "a*/b", "ab/a*", "b/ab", "b%2A/a", "*"]


class Source:
    """A source of keys with the one key of a test."""

    def __init__(self, key: Key) -> None:
        self.key: Key | None = key

    def get(self, name: str) -> Key | None:
        return self.key


def permit_of(**rights: Any) -> tuple[Permit, Source]:
    source = Source(make_key("k", hash_of(b"k.secret"), rights))
    permit = Keys([source], None).admit(b"k.secret")
    assert permit is not None
    return permit, source


def echo(target: object, command: Command) -> bytes:
    return f"{type(command).__name__}{tuple(command)}".encode()


def kinds() -> Mapping[type, CommandKind]:
    return {kind: CommandKind(echo, Tally("any"), False, False) for kind in CALLS}


def said(call: Any, *given: Any) -> bytes:
    try:
        reply: bytes = call(*given)
    except NotPermitted as refused:
        return str(refused).encode()
    return reply


_name = st.sampled_from(NAMES)
_buckets = st.lists(st.sampled_from(ELEMENTS), max_size=2).map(tuple)
_commands = st.one_of(
    st.builds(lambda c, b, more: commands.Query(c, b, "x", 5, 0, None, buckets=more), _name, _name, _buckets),
    st.builds(lambda c, b, more: commands.Suggest(c, b, "x", 5, buckets=more), _name, _name, _buckets),
    st.builds(commands.Count, _name, st.none() | _name, st.none(), _buckets),
    st.builds(commands.CountB, _name, _name, _buckets),
    st.builds(commands.CountC, _name),
    st.builds(commands.Exists, _name, _name, st.just("o")),
    st.builds(lambda c, b: commands.Push(c, b, "o", "x", None), _name, _name),
    st.builds(commands.FlushB, _name, _name),
    st.builds(commands.FlushC, _name),
    st.builds(commands.Collections, st.just(5), st.none()),
)


@given(
    verbs=st.sampled_from([["all"], ["search"], ["query", "push"], ["count"], ["flush", "exists"]]),
    scopes=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=2),
    filter=st.sampled_from([None, None, "tag:a"]),
    asked=st.lists(_commands, min_size=1, max_size=12),
    room=st.sampled_from([1, 2, permits.REACHED_MAX]),
)
def test_each_answer_is_that_of_a_command_checked_anew(
    verbs: list[str], scopes: list[str], filter: str | None, asked: list[Any], room: int
) -> None:
    permit, _ = permit_of(verbs=verbs, scopes=scopes, **({} if filter is None else {"filter": filter}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permits, "REACHED_MAX", room)
        calls = guarded(kinds(), permit)
        for command in asked * 2:
            anew = said(lambda command=command: echo(None, permitted(permit, command, counts=True)))
            assert said(calls[type(command)].call, None, command) == anew


def test_only_so_many_buckets_are_kept() -> None:
    reached: set[tuple[Any, ...]] = set()
    for number in range(3 * permits.REACHED_MAX):
        permits._note(reached, ("c", str(number)))
        assert ("c", str(number)) in reached and len(reached) <= permits.REACHED_MAX
    permits._note(reached, ("c", "b", ("x" * 1000,)))
    assert ("c", "b", ("x" * 1000,)) not in reached


def test_a_bucket_allowed_before_counts_for_the_rate_and_ends_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seldom, _ = permit_of(scopes=["a"], rate=4)
    call = guarded(kinds(), seldom)[commands.Exists].call
    answers = [said(call, None, commands.Exists("a", "b", "o")) for _ in range(40)]
    assert [answer.startswith(b"Exists") for answer in answers[:4]] == [True] * 4
    assert sum(b"times a second" in answer for answer in answers) >= 30
    revoked, source = permit_of(scopes=["a"])
    expiring, _ = permit_of(scopes=["a"], expires=time.time() + 0.3)
    for permit, end in ((revoked, b"was revoked"), (expiring, b"has expired")):
        call = guarded(kinds(), permit)[commands.Exists].call
        assert said(call, None, commands.Exists("a", "b", "o")).startswith(b"Exists")
        source.key = None
        now, past = time.monotonic(), time.time()
        monkeypatch.setattr(time, "monotonic", lambda now=now: now + 0.6)
        monkeypatch.setattr(time, "time", lambda past=past: past + 0.6)
        assert end in said(call, None, commands.Exists("a", "b", "o"))
        monkeypatch.undo()
