"""500 HTTP requests at once: the event loop is blocked for at most 20 ms of CPU time at a stretch.

There are three crowds: connections that are open already and send requests at once; new connections that send a request
each; and new connections while idle ones take all places.
"""

import contextlib
import json
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import sonicpy
from sonicpy.server.web.http_protocol import CONNECTIONS_MAX
from tests.attacks.outcome import Outcome
from tests.attacks.watched_server import Watched, watched
from tests.http.asking import ends, raw
from tests.processes import HOST, free_port

REQUESTS = 500
HITS = 1_000
HOLD_S = 0.020
ROUNDS = 3
SCOPE = "collection=messages&bucket=default&text=weather"
HEAD = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


def push(text: str) -> str:
    """Return the body of a push."""
    return json.dumps({"collection": "messages", "bucket": "more", "object": "o", "text": text})


def posted(body: str) -> str:
    """Return the request that pushes a body."""
    return f"POST /v1/push {HEAD}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"


KINDS = {
    "lean query": f"GET /v1/query?{SCOPE} {HEAD}\r\n",
    "large answer": f"GET /v1/query?{SCOPE}&limit={HITS} {HEAD}\r\n",
    "query by the framework": f"GET /v1/query?{SCOPE}&limit={HITS}&stem=true {HEAD}Accept-Encoding: gzip\r\n\r\n",
    "objects": f"GET /v1/objects?{SCOPE.partition('&text')[0]}&limit={HITS} {HEAD}\r\n",
    "figures that all share": f"GET /v1/figures {HEAD}\r\n",
    "push that waits for the disk": posted(push("some words of a message")),
    "push in pieces": posted(push("long text of many words " * 1_200)),
}


class Victim(NamedTuple):
    """A server, and its port for HTTP."""

    server: Watched
    http_port: int


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Send requests from each kind of crowd; return the outcome."""
    http_port = free_port()
    tried, wrong, longest_s = 0, [], 0.0
    count = max(8, round(REQUESTS * scale))
    kinds = random.Random(seed).sample(list(KINDS), min(len(KINDS), 1 + round(20 * scale)))
    with watched(folder, {"http.inet": f"{HOST}:{http_port}", "store.kv.durability": "commit"}) as server:
        victim = Victim(server, http_port)
        fill(victim)
        for crowd in (at_once, newcomers, newcomers_beside_idle_ones):
            for kind in kinds:
                request = KINDS[kind]
                crowd(victim, 2, request.encode())  # what the first request of a kind loads is no matter here
                hold_s, answered = HOLD_S + 1, count
                for _ in range(ROUNDS):  # a busy machine needs more CPU time for the same work, now and then
                    server.longest_hold_s()
                    answered = min(answered, crowd(victim, count, request.encode()))
                    hold_s = min(hold_s, server.longest_hold_s())
                    tried += count
                    if hold_s <= HOLD_S:
                        break
                longest_s = max(longest_s, hold_s)
                if hold_s > HOLD_S or answered != count:
                    wrong.append(f"{kind}, {crowd.__name__}: held for {hold_s * 1e3:.1f} ms, {answered} answered")
    return Outcome(tried, wrong, f"longest hold of the loop {longest_s * 1e3:.1f} ms of CPU")


def fill(victim: Victim) -> None:
    """Push objects that all contain one word, and as many buckets, whose figures take long to read."""
    rows = [("messages", "default", f"object:{number}", "sunny weather") for number in range(HITS)]
    rows += [("users", f"user:{number}", "note", "a note") for number in range(HITS)]
    with sonicpy.connect(f"sonic://{HOST}:{victim.server.port}") as client:
        client.push_many(rows)


def at_once(victim: Victim, count: int, request: bytes) -> int:
    """Return the number of answered connections; all of them are open before they send a request."""
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(raw(victim.http_port)) for _ in range(count)]
        time.sleep(0.05)  # until all are accepted
        with victim.server.standing_still():
            for peer in peers:
                peer.sendall(request)
        return answered(peers)


def newcomers(victim: Victim, count: int, request: bytes) -> int:
    """Return the number of answered connections; each sends its request as soon as it is open."""
    with contextlib.ExitStack() as stack:
        with victim.server.standing_still():
            peers = [stack.enter_context(raw(victim.http_port)) for _ in range(count)]
            for peer in peers:
                peer.sendall(request)
        return answered(peers)


def newcomers_beside_idle_ones(victim: Victim, count: int, request: bytes) -> int:
    """Return the number of answered connections while idle connections take all places."""
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS_MAX if count > 100 else count):
            stack.enter_context(raw(victim.http_port))
        return newcomers(victim, count, request)


def answered(peers: list[socket.socket]) -> int:
    """Return the number of connections that receive a correct answer."""
    return sum(ends(peer).startswith(b"HTTP/1.1 200 ") for peer in peers)


Crowd = Callable[[Victim, int, bytes], int]
