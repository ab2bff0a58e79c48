"""Wrong passwords are counted by network and forgotten, in bounded memory; they are refused late, right ones accepted
at once.
"""

import asyncio
import select
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial

import pytest

from sonicpy.server.connections.passwords import (
    FIRST_DELAY_S,
    FORGOTTEN_AFTER_S,
    FREE,
    LONGEST_DELAY_S,
    NETWORKS_MAX,
    WAITING_IN_ALL_MAX,
    WAITING_MAX,
    DelayedRefusal,
    WrongPasswords,
    network_of,
)
from tests.processes import Server
from tests.server.attacks import crowd
from tests.server.peer import CROWD, Peer
from tests.support.patience import is_within, until, until_in_loop

EARLY_S = 0.02
"""The time in seconds by which a timer may end too early for the client, because an event loop counts from the start of
its pass.
"""
NETWORKS = [
    (("192.0.2.7", 5000), "192.0.2.7", "IPv4"),
    (("::ffff:192.0.2.7", 5000, 0, 0), "192.0.2.7", "IPv4 inside IPv6"),
    (("2001:db8:1:2:3:4:5:6", 5000, 0, 0), "20010db800010002::/64", "half of IPv6"),
    (("2001:db8:1:2::1", 5000, 0, 0), "20010db800010002::/64", "the other half is free to choose"),
    (("fe80::1%eth0", 5000, 0, 2), "fe80000000000000::/64", "with a zone"),
    (("::1", 5000, 0, 0), "0::/64", "this machine"),
    ("", "local", "a socket without an address"),
    ((), "local", "an address without a part"),
    ("/run/client.sock", "local", "a Unix socket with a name"),
    (None, "local", "gone"),
]


@pytest.mark.parametrize(("peername", "network", "why"), NETWORKS, ids=[row[2] for row in NETWORKS])
def test_network_of(peername: object, network: str, why: str) -> None:
    assert network_of(peername) == network


def test_the_delay_doubles_up_to_a_bound() -> None:
    table = WrongPasswords()
    delays = [table.delay_s("a", 100.0) for _ in range(FREE + 10)]
    assert delays[:FREE] == [0.0] * FREE
    assert delays[FREE:] == [min(FIRST_DELAY_S * 2**turn, LONGEST_DELAY_S) for turn in range(10)]
    assert table.delay_s("b", 100.0) == 0.0, "of another network nothing is known"


def test_it_is_forgotten_after_a_while_without_another() -> None:
    table = WrongPasswords()
    for turn in range(FREE + 3):
        table.delay_s("a", turn * FORGOTTEN_AFTER_S)
    assert table.delay_s("a", (FREE + 3) * FORGOTTEN_AFTER_S), "never a while without"
    assert table.delay_s("a", (FREE + 4.1) * FORGOTTEN_AFTER_S) == 0.0


def test_a_million_networks_take_no_more_memory_than_some_thousand() -> None:
    table = WrongPasswords()
    for number in range(3 * NETWORKS_MAX):
        table.delay_s(str(number), 1.0)
        table.delay_s("busy", 1.0)
    assert len(table) == NETWORKS_MAX
    assert table.delay_s("busy", 1.0) == LONGEST_DELAY_S, "those quiet for longest go first"


def test_a_new_network_is_counted_however_many_are_known() -> None:
    table = WrongPasswords()
    for number in range(NETWORKS_MAX):
        table.delay_s(str(number), 1.0)
    assert [table.delay_s("new", 1.0) for _ in range(FREE + 1)] == [0.0] * FREE + [FIRST_DELAY_S]
    for _ in range(FREE):
        table.delay_s("1", 1.0)
    assert table.delay_s("1", 1.0) == 2 * FIRST_DELAY_S, "it was there all the time"
    assert table.delay_s("0", 1.0) == 0.0, "quiet for longest, it went"
    assert table.delay_s("1", 1.0) == 4 * FIRST_DELAY_S, "not quiet, it stays"


def test_only_so_many_wait_at_a_time() -> None:
    table = WrongPasswords()
    for _ in range(FREE):
        table.delay_s("a", 1.0)
    for _ in range(WAITING_MAX):
        assert table.delay_s("a", 1.0)
        table.begin_wait("a")
    assert table.delay_s("a", 1.0) is None
    table.end_wait("a")
    assert table.delay_s("a", 1.0) == LONGEST_DELAY_S
    table.begin_wait("a")
    assert table.delay_s("a", 1.0) is None, "one left, one came"


def test_only_so_many_wait_from_all_networks() -> None:
    table = WrongPasswords()
    for number in range(WAITING_IN_ALL_MAX):
        table.begin_wait(str(number))
    assert [table.delay_s("a", 1.0) for _ in range(FREE + 1)] == [0.0] * FREE + [None]
    table.end_wait("7")
    assert table.delay_s("a", 1.0)
    table.begin_wait("a")
    assert table.delay_s("a", 1.0) is None, "one left, one came"


def test_a_refusal_waits_and_is_counted_until_it_ends() -> None:
    async def refuse() -> None:
        table, refused = WrongPasswords(), list[int]()
        for _ in range(FREE):
            table.delay_s("a", 1.0)
        waiting = [DelayedRefusal(table, "a", 0.01, partial(refused.append, number)) for number in range(WAITING_MAX)]
        assert table.delay_s("a", 1.0) is None, "so many wait"
        waiting[0].end()
        assert table.delay_s("a", 1.0) is not None
        await until_in_loop(lambda: len(refused) == WAITING_MAX - 1)
        assert refused == list(range(1, WAITING_MAX)), "the first one ended before its time"
        for one in waiting[1:]:
            one.end()
        for _ in range(WAITING_MAX):
            assert table.delay_s("a", 1.0) is not None
            table.begin_wait("a")
        assert table.delay_s("a", 1.0) is None

    asyncio.run(refuse())


@pytest.fixture
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("locked"), {"channel.tcp_timeout": 1}, password="SecretPassword") as server:
        yield server


def is_unanswered(peer: Peer) -> bool:
    """Return whether only the greeting was received, and the connection is open."""
    assert peer.line().startswith("CONNECTED <")
    return not select.select([peer.socket], [], [], 0)[0]


def refused_after_s(server: Server, source: str = "") -> float:
    """Return the time in seconds until the refusal of a wrong password."""
    with Peer(server, source=source) as peer:
        began = time.monotonic()
        peer.send(b"START search wrong\nPING\n")
        assert peer.rest().endswith(b">\r\nENDED authentication_failed\r\n")
        return time.monotonic() - began


@pytest.mark.full
def test_refusals_come_later_and_later(locked: Server) -> None:
    for _ in range(FREE):
        refused_after_s(locked, CROWD)
    began = time.monotonic()
    with crowd(locked, 4) as guessers:
        took = []
        for peer in guessers:
            peer.line()
            peer.send(b"START search wrong\nPING\n")
        for peer in guessers:
            assert peer.rest() == b"ENDED authentication_failed\r\n"
            took.append(time.monotonic() - began)
    for turn, seconds in enumerate(took):
        assert seconds >= FIRST_DELAY_S * 2**turn - EARLY_S, "the last of them longer than the idle time"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second address of this machine")
def test_others_do_not_wait(locked: Server) -> None:
    with Peer(locked, "search") as inside:
        for _ in range(FREE + 1):
            refused_after_s(locked)
        waiting = [Peer(locked) for _ in range(WAITING_MAX)]
        try:
            for peer in waiting:
                peer.send(b"START search wrong\n")
            assert inside.ask("PING") == "PONG", "who is in"
            with Peer(locked, "search") as later:
                assert later.ask("PING") == "PONG", "who knows the password, from the same address"
            refused_after_s(locked, "127.0.0.2")
            assert is_unanswered(waiting[-1]), "a first wrong one from another address did not wait for that"
            with Peer(locked) as one_more:
                one_more.send(b"START search wrong\n")
                assert b"ENDED" not in one_more.rest(), "too many wait: closed without a word"
        finally:
            for peer in waiting:
                peer.close()


def test_a_stop_does_not_wait_for_refusals(locked: Server) -> None:
    with crowd(locked, FREE + 5) as guessers:
        began = time.monotonic()
        for peer in guessers:
            peer.line()
            peer.send(b"START search wrong\n")
        assert guessers[FREE].rest() == b"ENDED authentication_failed\r\n", "the first of those that have to wait"
        assert locked.stop() == 0
        for peer in guessers[FREE + 1 :]:
            assert peer.rest() == b"ENDED authentication_failed\r\n"
        assert is_within(LONGEST_DELAY_S, began), "the last refusal would come then"


@pytest.mark.full
def test_guessers_that_leave_leave_nothing_behind(locked: Server) -> None:
    for _ in range(FREE + WAITING_MAX + 30):
        with socket.create_connection((locked.host, locked.port)) as guesser:
            guesser.sendall(b"START search wrong\n")
    with Peer(locked, "control") as control:
        until(lambda: "clients_connected(1)" in control.ask("INFO"), "they are forgotten", pause_s=0.1)
