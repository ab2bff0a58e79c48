"""Times of a server, without the time for which its threads waited for a core on a busy machine."""

import time

from tests.processes import Server
from tests.server.peer import Peer
from tests.server.waiting import waited_s, without_waits


def ping_s(server: Server, peer: Peer) -> float:
    """Return the time in seconds that the server takes for a PING."""
    return answered_s(server, peer, "PING", "PONG")


def answered_s(server: Server, peer: Peer, line: str, answer: str) -> float:
    """Return the time in seconds that the server takes for a command; fail if it gives another answer."""
    before = waited_s(server.pid)
    began = time.perf_counter()
    assert peer.ask(line) == answer
    return without_waits(time.perf_counter() - began, before, waited_s(server.pid))
