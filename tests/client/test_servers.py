"""Several servers: the nearest one is used, and another one when it is lost."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from sonicpy.client import servers as module
from sonicpy.client.address import Address
from sonicpy.client.retry import AllInUse, RetryPolicy
from sonicpy.client.servers import HEAD_START_S, LOOK_S, SUSPECT_S, Servers, none_answers
from sonicpy.errors import ConnectionLost, NotSonic, TimedOut, WrongPassword
from tests.client.fake import Caller, Fake
from tests.client.test_faults import ANSWERS
from tests.client.ways import ALL_WAYS, EVERY_WAY, Connect
from tests.processes import free_port
from tests.support.patience import WAIT_S, is_within, until

A, B, C = Address("a"), Address("b"), Address("c")


@pytest.fixture(params=EVERY_WAY)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    yield ALL_WAYS[request.param]


# -- the state ---------------------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.time_s = 1000.0

    def __call__(self) -> float:
        return self.time_s


def groups(servers: Servers) -> list[set[str]]:
    return [{address.host for address in group} for group in servers.groups()]


def test_all_are_asked_at_once_and_then_the_one_that_answered() -> None:
    servers = Servers([A, B, C], Clock())
    assert groups(servers) == [{"a", "b", "c"}]
    servers.note_open(B, [])
    assert groups(servers) == [{"b"}, {"a", "c"}]
    servers.note_open(C, [])  # of a thread that asked meanwhile
    assert servers.current == B
    assert [servers.is_current(address) for address in (A, B, C)] == [False, True, False]


def test_a_server_that_was_lost_is_asked_last_for_a_while() -> None:
    clock = Clock()
    servers = Servers([A, B, C], clock)
    servers.note_open(B, [])
    servers.note_lost(B)
    assert groups(servers) == [{"a", "c"}, {"b"}]
    servers.note_lost(A)
    assert groups(servers) == [{"c"}, {"a", "b"}]
    servers.note_lost(C)
    assert groups(servers) == [{"a", "b", "c"}]
    clock.time_s += SUSPECT_S
    assert groups(servers) == [{"a", "b", "c"}]
    servers.note_open(A, [])
    servers.note_lost(C)
    assert groups(servers) == [{"a"}, {"b"}, {"c"}]


def test_the_first_server_is_looked_for_until_it_is_back() -> None:
    clock = Clock()
    servers = Servers([A, B, C], clock)
    servers.note_open(B, [])
    clock.time_s += 2 * LOOK_S
    assert not servers.is_time_to_look()
    servers.note_lost(B)
    servers.note_open(A, [])
    assert not servers.is_time_to_look()
    clock.time_s += LOOK_S
    assert servers.is_time_to_look()
    assert groups(servers) == [{"a", "b"}, {"c"}]
    assert not servers.is_time_to_look()
    servers.note_open(A, [])
    assert groups(servers)[0] == {"a"}
    clock.time_s += LOOK_S
    servers.note_open(B, [])
    assert (servers.current, servers.is_time_to_look()) == (B, False)


def test_a_server_that_is_overtaken_is_lost() -> None:
    servers = Servers([A, B, C], Clock())
    servers.note_open(A, [])
    servers.note_open(C, [[A], [C, B]])
    assert servers.current == C
    assert groups(servers) == [{"c"}, {"b"}, {"a"}]


def test_a_single_server_is_always_the_current_one() -> None:
    servers = Servers([A])
    servers.note_lost(A)
    assert servers.is_current(A)
    assert not servers.are_several
    assert not servers.is_time_to_look()


def test_the_order_of_servers_that_are_asked_at_once_changes() -> None:
    servers = Servers([A, B, C])
    assert len({servers.groups()[0][0] for _ in range(100)}) == 3


def test_the_error_of_all() -> None:
    lost = none_answers([ConnectionLost("one", was_sent=False), TimedOut("two")])
    assert isinstance(lost, ConnectionLost)
    assert (str(lost), lost.was_sent) == ("no server answers: one; two", False)
    wrong = WrongPassword("x")
    assert none_answers([ConnectionLost("one"), wrong]) is wrong


def test_threads_that_lose_and_find_a_server_leave_no_gap() -> None:
    servers = Servers([A, B])
    servers.note_open(A, [])
    is_done = threading.Event()

    def lose_and_find() -> None:
        while not is_done.is_set():
            servers.note_lost(A)
            servers.note_open(A, [])

    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    losing = threading.Thread(target=lose_and_find)
    losing.start()
    try:
        for _ in range(20_000):
            assert {address for group in servers.groups() for address in group} == {A, B}
            servers.is_time_to_look()
    finally:
        is_done.set()
        losing.join()
        sys.setswitchinterval(usual_s)


def test_silence_is_tried_once_elsewhere() -> None:
    policy = RetryPolicy(0, repeats=True, elsewhere=True)
    assert policy.pause_s(TimedOut("")) == 0
    with pytest.raises(TimedOut):
        policy.pause_s(TimedOut(""))
    policy.restart()
    assert policy.pause_s(TimedOut("")) == 0
    for patient, error in (
        (RetryPolicy(9, repeats=False, elsewhere=True), TimedOut("")),
        (RetryPolicy(9, repeats=True), TimedOut("")),
        (RetryPolicy(9, repeats=True, elsewhere=True), AllInUse("")),
    ):
        with pytest.raises(TimedOut):
            patient.pause_s(error)


# -- at work -----------------------------------------------------------------------------------------------------------


class Node:
    """A server that can end, stop answering, and return at the same address."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.seen: list[str] = []
        self.is_silent = False
        self.dies_at = ""
        self.callers: list[Caller] = []
        self._fake = Fake(self._serve)
        self.url = self._fake.url
        self._released = threading.Event()

    def _serve(self, caller: Caller) -> None:
        self.callers.append(caller)
        time.sleep(self.delay_s)
        if self.is_silent:
            self._released.wait(WAIT_S)
            return
        caller.greet()
        while line := caller.line():
            self.seen.append(line.split()[0])
            if line.split()[0] == self.dies_at:
                self.die()
                return
            if self.is_silent:
                self._released.wait(WAIT_S)
                return
            caller.say(*ANSWERS[line.split()[0]])

    def die(self) -> None:
        """Close everything, and refuse new connections."""
        with suppress(OSError):
            self._fake._listener.shutdown(socket.SHUT_RDWR)
        self._fake._listener.close()
        self.break_off()

    def break_off(self) -> None:
        """Close every connection."""
        for caller in self.callers:
            with suppress(OSError):
                caller.socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "Node":
        self._fake.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._fake.__exit__(None, None, None)


@contextmanager
def nodes(*delays_s: float) -> Iterator[list[Node]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Node(delay_s)) for delay_s in delays_s]


def urls_of(*some: Node) -> str:
    return ",".join(node.url for node in some)


def ask(client: Any) -> None:
    assert client.query("c", "b", "text") == ["one", "two"]


@pytest.mark.full
def test_the_nearest_server_is_used(connect: Connect) -> None:
    for delays_s, nearest in (((0.0, 0.4), 0), ((0.4, 0.0), 1)):
        with nodes(*delays_s) as some, connect([node.url for node in some]) as client:
            for _ in range(3):
                ask(client)
                client.push("c", "b", "o", "text")
        assert some[nearest].seen.count("QUERY") == 3
        assert some[1 - nearest].seen == []


@pytest.mark.parametrize("command", ["QUERY", "PUSH"])
def test_another_server_goes_on_when_one_dies(command: str, connect: Connect) -> None:
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far)) as client:
        ask(client)
        near.dies_at = command
        began = time.monotonic()
        if command == "QUERY":
            ask(client)
        else:
            client.push("c", "b", "o", "text")
        assert is_within(5, began)
        ask(client)
    assert near.seen[-1] == command
    assert far.seen == [command, "QUERY"]


def test_what_may_not_be_repeated_is_not(connect: Connect) -> None:
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far)) as client:
        near.dies_at = "POP"
        with pytest.raises(ConnectionLost) as caught:
            client.pop("c", "b", "o", "text")
        assert caught.value.was_sent
        assert far.seen == []
        assert client.pop("c", "b", "o", "text") == 3  # the next one goes to the other server
        assert far.seen == ["POP"]


def test_many_rows_go_on_at_another_server(connect: Connect) -> None:
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far)) as client:
        lost_at = 500

        def rows() -> Iterator[tuple[str, str]]:
            for number in range(1000):
                if number == lost_at:
                    near.die()
                yield f"o{number}", "text"

        assert client.push_many(rows(), collection="c", bucket="b").indexed == 1000
    assert far.seen.count("PUSH") >= 1000 - near.seen.count("PUSH")
    assert 0 < near.seen.count("PUSH") <= lost_at


def test_a_server_that_opens_no_session_holds_nobody_up(connect: Connect) -> None:
    with nodes(0.0, 0.0) as (silent, good):
        silent.is_silent = True
        began = time.monotonic()
        with connect(urls_of(silent, good), timeout_s=20) as client:
            ask(client)
            assert is_within(10, began)


@pytest.mark.full
def test_a_server_that_falls_silent_is_left_alone(connect: Connect) -> None:
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far), timeout_s=10, retry_s=1) as client:
        ask(client)
        near.is_silent = True
        began = time.monotonic()
        client.push("c", "b", "o", "text")  # a new connection: the others are asked when it does not open
        assert time.monotonic() - began > HEAD_START_S
        assert is_within(8, began)
        assert far.seen == ["PUSH"]


@pytest.mark.full
def test_a_read_without_an_answer_is_asked_elsewhere(connect: Connect) -> None:
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far), timeout_s=0.6, retry_s=0.1) as client:
        ask(client)
        client.pop("c", "b", "o", "text")
        near.is_silent = True
        with pytest.raises(TimedOut):
            client.pop("c", "b", "o", "text")
        assert far.seen == []
        client.ping()
        ask(client)
    assert near.seen.count("QUERY") == 1
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far), timeout_s=0.6, retry_s=0.1) as client:
        near.is_silent = True
        ask(client)
    assert (near.seen, far.seen) == (["QUERY"], ["QUERY"])


@pytest.mark.full
def test_the_nearest_server_is_used_again_when_it_is_back(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.2)
    with nodes(0.0, 0.2) as (near, far), connect(urls_of(near, far)) as client:
        ask(client)
        near.delay_s = 1.0
        near.break_off()
        client.push("c", "b", "o", "text")
        assert far.seen == ["PUSH"]
        near.delay_s = 0.0

        def asks_the_nearest() -> bool:
            ask(client)
            return near.seen.count("QUERY") >= 2

        until(asks_the_nearest, "the nearest is asked again", pause_s=0.02)


def test_no_server_at_all(connect: Connect) -> None:
    ports = [free_port(), free_port()]
    with pytest.raises(ConnectionLost, match="no server answers") as caught:
        connect([f"sonic://127.0.0.1:{port}" for port in ports], retry_s=0)
    assert all(f"127.0.0.1:{port}" in str(caught.value) for port in ports)


def test_a_server_that_is_none_and_one_that_is(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.say("220 mail")
        caller.line()

    with Fake(script) as mail, nodes(0.2) as (good,):
        with connect(f"{mail.url},{good.url}") as client:
            ask(client)
        with pytest.raises(NotSonic):
            connect([mail.url, f"sonic://127.0.0.1:{free_port()}"])


def test_a_client_shows_all_its_servers(connect: Connect) -> None:
    with nodes(0.0, 0.0) as some, connect(urls_of(*some)) as client:
        shown = repr(getattr(client, "target", client))
        assert all(node.url.removeprefix("sonic://") in shown for node in some)
