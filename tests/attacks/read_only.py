"""Requests to a read-only HTTP address with every combination of method, path, spelling, content type and framing:
nothing changes.
"""

import random
from pathlib import Path

from tests.attacks.http_requests import answered, fill, made, state, statuses
from tests.attacks.outcome import Outcome
from tests.processes import HOST, Server, free_port

REQUESTS = 5_000
LOOK_EVERY = 500
"""The number of requests between two checks of the index; with the seed, it locates a change."""


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Send requests, and compare the content of the index before and after; return the outcome."""
    chance = random.Random(seed)
    port = free_port()
    tried, refused, wrong = 0, 0, []
    settings = {"http.inet": f"{HOST}:{port}", "http.read_only": "true"}
    with Server(folder, settings) as server:
        fill(server.port, folder)
        before = state(server.port)
        while tried < REQUESTS * scale:
            request = made(chance, folder, f"Host: localhost:{port}\r\n", f"localhost:{port}")
            received = answered(port, request.sent)
            tried += 1
            refused += 403 in statuses(received)
            if request.is_plain and 403 not in statuses(received) and b"HTTP/1.1 400" not in received:
                wrong.append(f"{request.told}: not refused but {received[:40]!r}")
            if tried % LOOK_EVERY == 0 and state(server.port) != before:
                wrong.append(f"the index changed in the {LOOK_EVERY} requests up to {request.told}")
                break
        if state(server.port) != before:
            wrong.append("the index changed")
    if (folder / "stolen").exists():
        wrong.append("a backup was written")
    return Outcome(tried, wrong, f"{refused} answered with 403")
