"""Tests of the soak: its checker accepts only answers that some order of changes explains; its judge finds figures that
grow; and five minutes of it find no fault.
"""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.published.plots import Plot, svg
from benchmarks.soak.__main__ import soak
from benchmarks.soak.clock import Clock
from benchmarks.soak.history import SHARED_WORDS, Change, History, Key, Objects, Read, Value
from benchmarks.soak.rounds import Rounds
from benchmarks.soak.samples import Sample, judge, points
from benchmarks.soak.world import World

QUERY: Key = ("QUERY", "one")
SOME, NONE = frozenset({"a"}), frozenset[str]()


def history() -> History:
    """Return a history: "one" is pushed from 10 to 20, popped from 30 to 40, and pushed again at 50, without an
    answer.
    """
    past = History({})
    for sent, verb, answered in ((10, "PUSH", 20), (30, "POP", 40), (50, "PUSH", None)):
        past.send(Change(verb, "a", ("one",)), sent)
        if answered is not None:
            past.answer(answered)
    return past


@pytest.mark.parametrize(
    ("reads", "wrong"),
    [
        ([(1, 5, NONE)], 0),
        ([(1, 5, SOME)], 1),  # before it was sent
        ([(15, 18, SOME), (15, 18, NONE)], 0),  # while it was under way
        ([(21, 25, NONE)], 1),  # acknowledged, and not there
        ([(21, 35, NONE), (21, 35, SOME)], 0),
        ([(41, 45, SOME)], 1),  # undone
        ([(11, 12, SOME), (13, 14, NONE)], 1),  # seen, and gone again
        ([(11, 14, SOME), (12, 13, NONE)], 0),  # side by side
        ([(31, 32, NONE), (33, 34, SOME)], 1),
        ([(55, 60, SOME), (70, 80, NONE)], 1),  # what was not acknowledged, but seen, stays
        ([(55, 60, NONE), (70, 80, SOME)], 0),
    ],
)
def test_reads_that_an_order_explains(reads: list[tuple[int, int, Value]], wrong: int) -> None:
    _, faults = history().check([Read(asked, came, QUERY, value) for asked, came, value in reads])
    assert len(faults) == wrong, faults


def test_every_key_follows_the_changes() -> None:
    past = History({"a": frozenset({"one", SHARED_WORDS[1]})})
    assert past.send(Change("PUSH", "b", ("two", SHARED_WORDS[0])), 1) == 0
    values = [past.value(key) for key in (("COUNT", "b"), ("EXISTS", "c"), ("OBJECTS", ""), ("WORDS", ""))]
    assert values == [2, 0, 2, 4]
    assert past.value(("LIST", "")) == SHARED_WORDS[:2]
    assert past.send(Change("POP", "b", ("two", "three")), 2) == 1
    assert past.send(Change("FLUSHO", "a"), 3) == 2
    assert past.objects == {"b": {SHARED_WORDS[0]}}
    assert past.send(Change("RESTORE", objects={"a": frozenset({"one"})}), 4) == 0
    assert past.objects == {"a": {"one"}}
    for _ in range(4):
        past.drop_last()
    assert past.objects == {"a": {"one", SHARED_WORDS[1]}}
    assert past.words() == ({"one", SHARED_WORDS[1]}, {"two", SHARED_WORDS[0]})


@pytest.mark.parametrize(
    ("found", "seen", "agrees"),
    [({"a": {"one"}}, 0, True), ({}, 0, True), ({}, 3, False), ({"a": {"two"}}, 0, False)],
)
def test_what_is_there_after_a_kill(found: dict[str, set[str]], seen: int, agrees: bool) -> None:
    """After two acknowledged changes and a kill, a third change may be in the store, and must be if a client has seen
    it.
    """
    past = history()
    held = {oid: frozenset(words) for oid, words in found.items()}
    assert past.settle(held, seen) is agrees
    assert past.objects == held
    assert past.sent == past.answered == 0


def test_the_states_that_a_backup_may_hold() -> None:
    past = history()
    one = {"a": frozenset({"one"})}
    assert past.has_been(one, 0, 1)
    assert not past.has_been(one, 2, 2)
    assert not past.has_been(one, 0, 0)
    assert past.objects == one, "looking changes nothing"


def test_a_restore_leaves_what_the_backup_does_not_hold(tmp_path: Path) -> None:
    world = World(tmp_path)
    held, flushed = {"a": frozenset({"one"})}, {"b": frozenset({"two"})}
    world.places[0].history = History(flushed)
    states: dict[str, Objects] = {"soak-1": held}
    world.begin_restore(states, 1)
    world.end_restore(states, 2)
    assert [place.history.objects for place in world.places] == [flushed, held, {}, {}]
    assert [place.history.answered for place in world.places] == [0, 1, 0, 0]


def sample(second: int, memory_mb: float) -> Sample:
    return Sample(second, second >= 100, memory_mb, 40, 0, 10.0, 1.0, 2.0, 1.0, 2.0, 100, 3.0)


@pytest.mark.parametrize(("growth_mb", "grows"), [(0.0, False), (0.01, False), (1.0, True)])
def test_what_is_flat(growth_mb: float, grows: bool) -> None:
    samples = [sample(second, 80 + growth_mb * max(0, second - 120)) for second in range(300)]
    (field, _, last, most), *others = judge(samples, 20)
    assert field == "memory_mb"
    assert (last > most) is grows
    assert all(last == first <= most for _, first, last, most in others)


def test_latencies_are_compared_with_the_machine() -> None:
    """Answers may take ten times as long if the machine has become ten times slower."""
    quick = [sample(second, 80.0) for second in range(200)]
    for slower, is_flat in ((10.0, True), (1.0, False)):
        slow = [replace(sample(second, 80.0), read_p99_ms=60.0, machine_ms=3.0 * slower) for second in range(200, 300)]
        found = {field: last <= most for field, _, last, most in judge([*quick, *slow], 20)}
        assert found.pop("read_p99_ms") is is_flat
        assert all(found.values())


def test_a_plot_of_many_samples_has_a_round_axis() -> None:
    line = points([sample(second, 80.0) for second in range(3600)], "memory_mb")
    assert len(line) <= 120
    drawn = svg(Plot("Memory", "seconds", "MB", {"memory_mb": line}))
    assert ">500</text>" in drawn
    assert "<circle" not in drawn
    assert drawn.count("<text") < 30


def test_a_clock_that_jumps(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    if clock.missing:
        pytest.skip(clock.missing)
    with clock:
        before, steady = times()
        clock.shift(86_400)
        after, later = times()
    assert 86_400 <= after - before < 86_460
    assert 0 < later - steady < 60


def times() -> tuple[float, float]:
    """Return both clocks of a new process."""
    said = subprocess.check_output([sys.executable, "-c", "import time; print(time.time(), time.monotonic())"])
    wall, steady = map(float, said.split())
    return wall, steady


class Forgetful(Rounds):
    """Deletes the log, which holds the changes since the last commit, before each start."""

    def start(self) -> None:
        for segment in (self.folder / "server" / "store").rglob("*.log"):
            segment.unlink()
        super().start()


@pytest.mark.full
@pytest.mark.parametrize("kind", [Rounds, Forgetful])
def test_a_round_that_kills_the_server(tmp_path: Path, kind: type[Rounds]) -> None:
    world = World(tmp_path / "server")
    rounds = kind(world, Clock(tmp_path), tmp_path, random.Random(1))
    rounds.start()
    for _ in range(60):  # a kill just behind a commit loses nothing, even without the log
        rounds.run("consolidate", 0.6, kill=True)
        if world.faults or (kind is Rounds and world.changes > 50 and world.reads > 20):
            break
    world.stop()
    assert bool(world.faults) is (kind is Forgetful), world.faults
    assert kind is Forgetful or (world.changes > 50 and world.reads > 20)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_five_minutes(tmp_path: Path) -> None:
    assert soak(tmp_path, 300, random.randrange(10**9)) == []
    assert (tmp_path / "memory.svg").exists()
