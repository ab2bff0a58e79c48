"""Requests of foreign pages (DNS rebinding) to an HTTP address without a password: nothing changes, no hit leaks."""

import random
from pathlib import Path

from tests.attacks.http_requests import MARK, answered, fill, made, state, statuses, with_length
from tests.attacks.outcome import Outcome
from tests.processes import HOST, Server, free_port

REQUESTS = 5_000
LOOK_EVERY = 500
NAME = "search.example.com"
FOREIGN = (
    "evil.example", "evil.example:{}", "EVIL.EXAMPLE", "localhost.evil.example", "127.0.0.1.evil.example", "localhost-",
    f"{NAME}.evil.example", f"evil.{NAME}", "evil.example.", "localhost@evil.example", "evil.example@localhost",
    "localhost, evil.example", "evil.example, localhost", "localhost evil.example", "localhost:80:80", "localhost/evil",
    "::1", "[::1", "[::1].evil.example", "[evil.example]", "0x7f.0.0.1", "2130706433", "127.0.0.1x", "0177.0.0.1", "",
    "localhost%00", "local%68ost", "localhost:{}x", "http://localhost", "localhost\\evil", "lo\u00adcalhost",
    "127.0.0.1%2f", "\u00b2.0.0.1", "localhost#", "localhost..", "*", "null", "localhost;", "127.1",
)  # fmt: skip


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Send requests, check each answer, and compare the content of the index before and after; return the outcome."""
    chance = random.Random(seed)
    port = free_port()
    tried, refused, wrong = 0, 0, []
    with Server(folder, {"http.inet": f"{HOST}:{port}", "http.hosts": NAME}) as server:
        fill(server.port, folder)
        if (own := asked_by(port, f"{NAME}:{port}")) != [200] or asked_by(port, f"localhost:{port}") != [200]:
            wrong.append(f"a name of ours is answered with {own}")
        before = state(server.port)
        while tried < REQUESTS * scale:
            hosts, authority = foreign(chance, port)
            request = made(chance, folder, hosts, authority)
            received = answered(port, request.sent)
            tried += 1
            refused += 403 in statuses(received)
            if MARK.encode() in received:
                wrong.append(f"{request.told}: a hit leaks")
            if tried % LOOK_EVERY == 0 and state(server.port) != before:
                wrong.append(f"the index changed in the {LOOK_EVERY} requests up to {request.told}")
                break
        if state(server.port) != before:
            wrong.append("the index changed")
    if (folder / "stolen").exists():
        wrong.append("a backup was written")
    return Outcome(tried, wrong, f"{refused} answered with 403")


def foreign(chance: random.Random, port: int) -> tuple[str, str]:
    """Return Host headers with a foreign name, the Origin of a page, and the authority of a full URL."""
    host = chance.choice(FOREIGN).format(port)
    origin = f"Origin: http://{host}\r\n" if chance.random() < 0.7 else ""
    own = f"Host: localhost:{port}\r\n"
    line = f"Host: {host}\r\n"
    hosts = chance.choices(
        [line, "", line + own, own + line, f"Host : localhost\r\n{line}", f"{line} localhost\r\n", f"X: y\r\n{line}"],
        [20, 1, 1, 1, 1, 1, 1],
    )[0]
    return hosts + origin, host or "evil.example"


def asked_by(port: int, host: str) -> list[int]:
    """Return the statuses of the answers to a query with a Host of the server itself."""
    path = "/v1/query?collection=messages&bucket=default&text=common"
    return statuses(answered(port, with_length(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", b"")))
