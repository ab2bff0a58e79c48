"""With channel.max_connections, the server rejects further connections with a line, and accepts again once one
closes.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.server.connections.rejected import LINGERING_MAX
from tests.processes import Server
from tests.server.attacks import crowd
from tests.server.peer import Peer
from tests.support.patience import is_within, until

MOST = 5
FULL = b"ENDED too_many_connections\r\n"


@pytest.fixture(scope="module")
def one_small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("small"), {"channel.max_connections": MOST}) as server:
        yield server


@pytest.fixture
def small(one_small: Server) -> Server:
    """A server that takes a few connections and has none open."""
    until(lambda: is_empty(one_small))
    return one_small


def is_empty(server: Server) -> bool:
    """Return whether the connection that asks is the only one; the server may notice closed ones late."""
    with Peer(server) as control:
        if not control.line().startswith("CONNECTED <"):
            return False
        control.ask("START control")
        empty = "clients_connected(1)" in control.ask("INFO")
        control.send(b"QUIT\n")
        control.rest()  # the server has closed this one before the test opens its own
        return empty


def comes_in(server: Server) -> bool:
    with Peer(server) as peer:
        return peer.line().startswith("CONNECTED <")


def wait_for_room(server: Server) -> None:
    until(lambda: comes_in(server))


def test_one_more_is_rejected(small: Server) -> None:
    with crowd(small, MOST - 2) as strangers, Peer(small, "search") as known:
        with Peer(small), Peer(small) as one_more:
            assert one_more.rest() == FULL
            with Peer(small) as eager:  # clients in a hurry do not wait for the banner
                eager.send(b"START search\nPING\n")
                assert eager.rest() == FULL
        assert known.ask("PING") == "PONG"
        for peer in strangers:
            assert peer.line().startswith("CONNECTED <"), "those before START count, and are served"
        wait_for_room(small)


def test_a_crowd_at_the_door(small: Server) -> None:
    with crowd(small, MOST, "search") as inside, crowd(small, 3 * LINGERING_MAX) as outside:
        for peer in outside:  # they do not close their side: the server has to abort them
            assert peer.rest() == FULL
        began = time.monotonic()
        assert all(peer.ask("PING") == "PONG" for peer in inside)
        assert is_within(5, began)
    wait_for_room(small)


def test_a_stop_with_a_crowd_at_the_door(small: Server) -> None:
    """This has to be the last test that uses its server, which it stops."""
    with crowd(small, MOST, "search"), crowd(small, 10) as outside:
        assert all(peer.rest() == FULL for peer in outside)
        assert small.stop() == 0
        assert small.log() == ""


def test_zero_sets_no_limit(tmp_path: Path) -> None:
    with Server(tmp_path, {"channel.max_connections": 0}) as server, crowd(server, 50, "search") as peers:
        assert [peer.ask("PING") for peer in peers] == ["PONG"] * 50
