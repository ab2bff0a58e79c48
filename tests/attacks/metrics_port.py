"""Clients of the metrics port that stay half open, send single bytes, leave, or do not read: it still answers others,
with few lines in the log.

A client that stays half open is ended after ten seconds; the attack waits for this from a tenth of the full set on.
"""

import contextlib
import random
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from sonicpy.server.web.metrics_port import CLIENTS_MAX, REQUEST_S
from tests.attacks.outcome import Outcome
from tests.processes import HOST, Server, free_port
from tests.server.test_metrics import get

CLIENTS = 2_000
AT_ONCE = 2 * CLIENTS_MAX
WAITS_FROM = 0.1
LINES_MAX = 30
"""The most log lines in the first ten seconds: two messages, each logged at most ten times in ten seconds."""
LINES_PER_S = 2.0
"""The most log lines per second after that."""
HEADS = (b"", b"G", b"GET /metrics", b"GET /readyz HTTP/1.0\r\nX: ", b"GET / HTTP/9\r\n", b"\x16\x03\x01\0\xff" * 50)
WHOLE = b"GET /metrics HTTP/1.0\r\n\r\n"


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Connect crowds of clients, each crowd of one kind, and request the readiness of the server meanwhile. Return the
    outcome.
    """
    chance = random.Random(seed)
    port = free_port()
    tried, wrong, slowest_s, started = 0, [], 0.0, time.monotonic()
    with Server(folder, {"metrics.inet": f"{HOST}:{port}"}) as server:
        while tried < CLIENTS * scale:
            kind = chance.choice(KINDS)
            count = min(AT_ONCE, max(4, round(CLIENTS * scale) - tried))
            with contextlib.ExitStack() as stack:
                for _ in range(count):
                    kind(stack.enter_context(socket.create_connection((HOST, port), 20)), chance)
                began = time.monotonic()
                if get(port, "/readyz") != (200, "ready\n"):
                    wrong.append(f"/readyz is not answered beside {count} clients that {kind.__name__}")
                slowest_s = max(slowest_s, time.monotonic() - began)
            tried += count
        if scale >= WAITS_FROM:
            wrong += ended_in_time(port)
        lines = server.log().splitlines()
    lines_max = LINES_MAX + LINES_PER_S * max(0.0, time.monotonic() - started - 10)
    if len(lines) > lines_max or any("Traceback" in line for line in lines):
        wrong.append(f"the log has {len(lines)} lines, the first is {lines[0]}")
    return Outcome(tried, wrong, f"{len(lines)} lines in the log, /readyz within {slowest_s * 1e3:.0f} ms")


def stop_within_their_request(peer: socket.socket, chance: random.Random) -> None:
    """Send a part of a request."""
    peer.sendall(chance.choice(HEADS))


def reset(peer: socket.socket, chance: random.Random) -> None:
    """Send a part of a request, and reset the connection."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.sendall(chance.choice((*HEADS, WHOLE)))
    peer.close()


def end_their_side(peer: socket.socket, chance: random.Random) -> None:
    """Send a part of a request, and close the sending side."""
    peer.sendall(chance.choice((*HEADS, WHOLE)))
    with contextlib.suppress(OSError):  # the server was quicker
        peer.shutdown(socket.SHUT_WR)


def read_nothing(peer: socket.socket, chance: random.Random) -> None:
    """Send a request, and leave the answer unread."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.sendall(WHOLE)


KINDS: tuple[Callable[[socket.socket, random.Random], None], ...] = (
    stop_within_their_request, reset, end_their_side, read_nothing
)  # fmt: skip


def ended_in_time(port: int) -> list[str]:
    """Check that the server ends clients that never finish a request, also one that goes on sending single bytes.

    Returns:
        The faults, as sentences.
    """
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(socket.create_connection((HOST, port), REQUEST_S + 5)) for _ in range(8)]
        for peer in peers:
            peer.sendall(b"GET /")
        deadline = time.monotonic() + REQUEST_S + 5
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                peers[0].sendall(b"x")
                time.sleep(0.1)
            return [f"a client that drips is not ended within {REQUEST_S + 5:.0f} s"]
        try:
            return [] if all(peer.recv(1) == b"" for peer in peers[1:]) else ["a half request was answered"]
        except TimeoutError:
            return [f"a half-open client is not ended within {REQUEST_S + 5:.0f} s"]
