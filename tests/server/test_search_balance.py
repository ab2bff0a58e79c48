"""The number of search processes and the distribution of connections, by the load of the event loops."""

import asyncio
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zlib import crc32

import pytest

from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.server.connections.connection import Connection
from sonicpy.server.connections.serving import limits_of
from sonicpy.server.searching import search_process
from sonicpy.server.searching import search_processes as pool
from sonicpy.server.searching.handover import CAN_HAND_OVER, Link
from sonicpy.server.searching.search_messages import AskReport, Handover, Report, Shed, Stop, Vacate
from sonicpy.server.searching.search_process import LATE_S, SearchProcess
from sonicpy.server.searching.search_processes import SearchProcesses
from sonicpy.server.server import find_search_processes
from sonicpy.server.service import Service
from sonicpy.store.disk.change_board import SLOTS, ChangeBoard, slot_of
from tests.processes import HOST
from tests.support.patience import WAIT_S, until_in_loop

pytestmark = pytest.mark.skipif(not CAN_HAND_OVER, reason="this system cannot hand over connections")

CORES = 4
TICKS = round(pool.BUSY_S / pool.TICK_S)


@dataclass(eq=False)
class Process:
    """A process that consists only of figures."""

    busy: float = 0.0
    fresh: int = 0
    active: int = 0
    connections: int = 1
    takes_connections: bool = True
    is_full: bool = False
    is_retiring: bool = False
    is_leaving: bool = False
    is_ready: bool = True
    was_ready: bool = True
    is_killed: bool = False
    pid: int = 0
    silence_s: float = 0.0
    idle_since_s: float = 0.0
    sent: list[object] = field(default_factory=list)

    def send(self, message: object) -> None:
        self.sent.append(message)

    def kill(self) -> None:
        self.is_killed = True


@dataclass
class Serving:
    """A main process that consists only of figures."""

    active: int = 0
    sheds: int = 0

    def count_active(self) -> int:
        return self.active


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


class Pool(SearchProcesses):
    """A pool whose processes are not started."""

    def __init__(self, setting: int | str, *processes: Process, here: float = 0.0, active: int = 0) -> None:
        self.serving = Serving(active)
        none: Any = None
        super().__init__(none, none, cast(Any, self.serving), setting)
        self._here.busy = here
        self._processes = cast(list[SearchProcess], list(processes))

    def become_busy(self, busy: float) -> None:
        self._here.busy = busy

    @property
    def wanted(self) -> int:
        return self._wanted


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pool, "time", clock)
    monkeypatch.setattr(pool, "processors", lambda: CORES)
    return clock


def ticks(subject: Pool, count: int) -> None:
    for _ in range(count):
        subject._adapt()


class TestHowMany:
    def test_one_more_after_two_busy_seconds(self) -> None:
        subject = Pool("auto", here=0.9)
        ticks(subject, TICKS - 1)
        assert subject.wanted == 0
        ticks(subject, 1)
        assert subject.wanted == 1

    def test_a_pause_begins_the_time_anew(self) -> None:
        subject = Pool("auto", here=0.9)
        ticks(subject, TICKS - 1)
        subject.become_busy(0.5)
        ticks(subject, 1)
        subject.become_busy(0.9)
        ticks(subject, TICKS - 1)
        assert subject.wanted == 0

    def test_none_while_one_of_the_loops_has_time(self) -> None:
        subject = Pool("auto", Process(busy=0.9), Process(busy=0.3), here=0.9)
        ticks(subject, 3 * TICKS)
        assert subject.wanted == 0

    def test_at_most_one_less_than_there_are_processors(self) -> None:
        subject = Pool("auto", here=1.0)
        ticks(subject, 10 * TICKS)
        assert subject.wanted == CORES - 1

    def test_one_that_was_idle_for_long_hands_its_connections_over_and_ends(self, clock: Clock) -> None:
        process = Process(idle_since_s=clock.now, connections=1)
        subject = Pool("auto", process)
        clock.now += pool.IDLE_S - 1
        ticks(subject, 1)
        assert not process.is_retiring
        clock.now += 2
        ticks(subject, 1)
        assert process.is_retiring
        assert process.sent == [Vacate(pool.VACATED_AT_ONCE)]
        process.connections = 0
        ticks(subject, 1)
        stop = process.sent[1]
        assert isinstance(stop, Stop)
        assert subject.connections == 0

    def test_one_that_leaves_is_kept_when_it_is_needed_again(self) -> None:
        process = Process(is_retiring=True, takes_connections=False)
        subject = Pool("auto", process, here=0.9)
        ticks(subject, TICKS)
        assert not process.is_retiring
        assert subject.wanted == 0, "it counts already"


def test_one_that_tells_nothing_is_asked_and_then_killed(clock: Clock) -> None:
    silent, talkative = Process(), Process()
    subject = Pool(2, silent, talkative)
    wait_for(subject, clock, pool.SILENCE_S / 2)
    assert silent.sent == []
    wait_for(subject, clock, pool.TICK_S)
    assert silent.sent == talkative.sent == [AskReport()]
    talkative.silence_s = 0.0
    wait_for(subject, clock, pool.SILENCE_S / 2)
    assert (silent.is_killed, talkative.is_killed) == (True, False)
    assert subject.connections == 1


@pytest.mark.parametrize("was_asked", [False, True])
def test_a_pause_of_the_main_process_is_not_the_silence_of_others(clock: Clock, was_asked: bool) -> None:
    process = Process()
    subject = Pool(1, process)
    wait_for(subject, clock, pool.SILENCE_S / 2 + (pool.TICK_S if was_asked else 0))
    clock.now += 10 * pool.SILENCE_S
    subject._end_silent()
    assert process.sent and not process.is_killed, "it has had no time to answer"
    wait_for(subject, clock, pool.SILENCE_S)
    assert process.is_killed


def wait_for(subject: Pool, clock: Clock, seconds: float) -> None:
    for _ in range(round(seconds / pool.TICK_S)):
        clock.now += pool.TICK_S
        subject._end_silent()


def test_an_unexpected_error_ends_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(pool, "TICK_S", 0.001)
    calls = 0

    def fail(subject: Pool) -> None:
        nonlocal calls
        calls += 1
        raise RuntimeError("unforeseen")

    async def run() -> None:
        monkeypatch.setattr(Pool, "_balance", fail)
        running = asyncio.create_task(Pool(0).run())
        await until_in_loop(lambda: calls > 2, "it is called again and again")
        assert not running.done()
        running.cancel()

    asyncio.run(run())
    assert caplog.text.count("Traceback") == 1, "of the same error, it is said once where it comes from"


class TestLate:
    """A process with an overdue report gets no connections; otherwise a stopped process would always look idle."""

    @pytest.fixture
    def process(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> SearchProcess:
        monkeypatch.setattr(search_process, "time", clock)
        index: Any = SimpleNamespace(engine=SimpleNamespace(graphs=SimpleNamespace(broken=set())))
        serving: Any = SimpleNamespace(statistics=SimpleNamespace(add=lambda counts: None))
        none: Any = None
        process = SearchProcess(index, none, serving, lambda: None, none)
        process._link = cast(Link, SimpleNamespace(is_blocked=False, pass_on=lambda handover, descriptor: True))
        process.is_ready = True
        return process

    def report(self, process: SearchProcess, busy: float) -> None:
        process._receive(Report(cast(Any, None), busy, 0, cast(Any, ()), 0, 100, was_asked=False), -1)

    def test_an_idle_one_owes_nothing(self, process: SearchProcess, clock: Clock) -> None:
        clock.now += 1000
        assert process.takes_connections
        self.report(process, 0.0)
        clock.now += 1000
        assert process.takes_connections

    def test_one_that_got_a_connection_has_to_report(self, process: SearchProcess, clock: Clock) -> None:
        handover = cast(Handover, None)
        assert process.take(handover, -1)
        clock.now += LATE_S / 2
        assert process.takes_connections
        assert process.take(handover, -1), "a later one does not prolong its time"
        clock.now += LATE_S / 2
        assert not process.takes_connections
        self.report(process, 0.0)
        assert process.takes_connections

    def test_a_busy_one_has_to_report_again(self, process: SearchProcess, clock: Clock) -> None:
        self.report(process, 0.5)
        assert process.takes_connections
        clock.now += LATE_S
        assert not process.takes_connections
        self.report(process, 0.0)
        clock.now += 1000
        assert process.takes_connections


class TestWhere:
    def test_connections_at_the_same_time_are_shared_out(self) -> None:
        process = Process()
        subject = Pool(1, process)
        chosen = []
        for _ in range(8):
            chosen.append(subject.choose())
            process.fresh += chosen[-1] is not None
        assert chosen.count(None) == 4

    def test_a_busy_loop_gets_none(self) -> None:
        idle = Process(busy=0.1)
        assert Pool(2, Process(busy=0.9), idle, here=0.8).choose() is cast(Any, idle)
        assert Pool(1, Process(busy=0.9), here=0.2).choose() is None
        assert Pool(1, Process(takes_connections=False), here=1.0).choose() is None

    def test_one_without_descriptors_gets_none(self) -> None:
        full, other = Process(is_full=True), Process(busy=0.5)
        assert Pool(2, full, other, here=0.8).choose() is cast(Any, other)
        assert Pool(1, full, here=1.0).choose() is None
        subject = Pool(1, full, here=1.0, active=8)
        subject._balance()
        assert subject.serving.sheds == 0

    @pytest.mark.parametrize(("room", "sent"), [(2, [Shed(2)]), (0, [])])
    def test_connections_move_through_descriptors_of_the_main_process(
        self, monkeypatch: pytest.MonkeyPatch, room: int, sent: list[object]
    ) -> None:
        monkeypatch.setattr(pool, "room_for_connections", lambda: room)
        busy = Process(busy=1.0, active=6, is_full=True)
        Pool(1, busy, here=0.0)._balance()
        assert busy.sent == sent

    def test_a_busy_main_process_gives_some_away(self) -> None:
        subject = Pool(1, Process(), here=1.0, active=8)
        subject._balance()
        assert subject.serving.sheds == 4
        subject._balance()
        assert subject.serving.sheds == 0, "first it looks what that has changed"
        subject._balance()
        assert subject.serving.sheds == 4

    def test_a_busy_process_gives_some_back(self) -> None:
        busy = Process(busy=1.0, active=6)
        subject = Pool(1, busy, here=0.0)
        subject._balance()
        assert busy.sent == [Shed(3)]

    @pytest.mark.parametrize(("here", "there"), [(0.6, 0.0), (0.9, 0.7), (0.2, 0.6)])
    def test_small_differences_move_nothing(self, here: float, there: float) -> None:
        process = Process(busy=there, active=10)
        subject = Pool(1, process, here=here, active=10)
        subject._balance()
        assert (subject.serving.sheds, process.sent) == (0, [])


@pytest.mark.parametrize(
    ("server", "expected"),
    [({"search_processes": 0}, False), ({"search_processes": 1}, True), ({"search_processes": "auto"}, True),
     ({"search_processes": 1, "compat": "sonic"}, False)],
)  # fmt: skip
def test_who_has_any(server: dict[str, object], expected: bool) -> None:
    service = SimpleNamespace(config=Config.model_validate({"server": server}), index=None, committer=None)
    assert (find_search_processes(cast(Service, service)) is not None) == expected


class TestBoard:
    @pytest.fixture
    def boards(self) -> Iterator[tuple[ChangeBoard, ChangeBoard]]:
        writer = ChangeBoard.create()
        reader = ChangeBoard(os.dup(writer.descriptor))
        yield writer, reader
        writer.close()
        reader.close()

    def test_what_is_behind(self, boards: tuple[ChangeBoard, ChangeBoard]) -> None:
        writer, reader = boards
        other = next(f"b{number}" for number in range(SLOTS) if slot_of("c", f"b{number}") != slot_of("c", "b"))
        writer.note_commit(7)
        writer.mark("c", "b", 8)
        assert (reader.newest("c", "b"), reader.newest("c", other), reader.newest("c", None)) == (8, 0, 8)
        assert reader.committed == 7
        asked = [("c", "b"), ("c", other), ("c", None)]
        assert [reader.is_behind(*names) for names in asked] == [True, False, True]
        writer.note_commit(8)
        assert reader.committed == 8
        assert not any(reader.is_behind(*names) for names in asked)
        writer.mark_all(9)
        assert all(reader.is_behind(*names) for names in asked)
        assert (reader.newest("c", "b"), reader.newest("c", other), reader.newest("c", None)) == (9, 9, 9)

    def test_the_slot_of_a_bucket_is_the_same_everywhere(self) -> None:
        assert slot_of("messages", "user:1") == 3 + crc32(b"messages user:1") % SLOTS
        assert len({slot_of("c", f"b{number}") for number in range(1000)}) > 850


class TestLink:
    async def exchanged(self) -> None:
        loop = asyncio.get_running_loop()
        ended, got = loop.create_future(), asyncio.Queue[tuple[object, int]]()
        ours, theirs = socket.socketpair()
        left = Link(ours, lambda *message: got.put_nowait(message), lambda: None)
        right = Link(theirs, lambda *message: got.put_nowait(message), lambda: ended.set_result(None))
        read, write = os.pipe()
        large = b"x" * 3_000_000
        assert left.pass_on("first", write)
        left.send(large)
        assert left.is_blocked
        assert not left.pass_on("too much", write), "nothing overtakes what waits"
        os.close(write)
        message, passed = await got.get()
        assert message == "first"
        os.write(passed, b"through")
        assert os.read(read, 10) == b"through"
        os.close(passed)
        os.close(read)
        assert await got.get() == (large, -1)
        right.send({"back": 1})
        assert await got.get() == ({"back": 1}, -1)
        left.close()
        await asyncio.wait_for(ended, WAIT_S)
        right.close()

    def test_messages_and_descriptors(self) -> None:
        asyncio.run(self.exchanged())


class TestCommitsThatFail:
    """The main process answers commands that need changes which could not be committed."""

    async def asked(self, folder: Path) -> None:
        config = Config.model_validate({"server": {"search_processes": 1}})
        with Index(folder, config, autocommit=False) as index:
            service = Service(index, config)
            service.search = SearchProcesses(index, service.committer, service, 1)
            listener = await asyncio.get_running_loop().create_server(
                lambda: Connection(service, Session("1", None, limits_of(config), False)), HOST, 0
            )
            starting = asyncio.create_task(service.search.run())
            while not service.search.ready:
                await asyncio.sleep(0.01)
            service.committer.commit = lambda: False  # type: ignore[method-assign]
            address = listener.sockets[0].getsockname()
            writers = []
            while not service.search.connections:
                reader, writer = await asyncio.open_connection(*address)
                writers.append(writer)
                writer.write(b"START search\n")
                assert (await reader.readline()).startswith(b"CONNECTED")
                assert (await reader.readline()).startswith(b"STARTED")
            index.push("c", "b", "o", "unseen elsewhere")
            writer.write(b'QUERY c b "unseen"\nEXISTS c b o\nQUERY c other "unseen"\nLIST c " "\n' * 5)
            lines = [await reader.readline() for _ in range(30)]
            assert [line.split()[-1] for line in lines[1::6]] == [b"o"] * 5
            assert lines[2::6] == [b"RESULT 1\r\n"] * 5
            for writer in writers:
                writer.close()
            listener.close()
            starting.cancel()
            service.search.close()
            for peer in list(service.peers):
                peer.abort()
            while service.peers:
                await asyncio.sleep(0.01)
            del service.committer.commit
            service.committer.commit()

    def test_the_main_process_answers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        asyncio.run(self.asked(tmp_path / "store"))
