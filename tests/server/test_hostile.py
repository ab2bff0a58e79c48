"""Hostile peers: the memory of the server stays bounded, and it serves the other peers.

All attacks of a run hit the same server, so the remains of one attack count in the next.
"""

from collections.abc import Iterator

import pytest

from tests.processes import Server
from tests.server.attacks import ATTACKS
from tests.server.peer import Peer
from tests.server.watch import watch
from tests.support.examples import some
from tests.support.patience import is_below

resource = pytest.importorskip("resource")

GROWTH_BYTES_MAX = 40 << 20
PING_S = 0.100
"""The longest time of a PING in seconds while an attack takes the cores, which `is_below` measures only after it."""
PING_AT_THE_GATE_S = 1.0
"""The longest time of a PING in seconds in the gate, where other tests run at the same time."""
ROUNDS = 4
"""The number of rounds of an attack: a busy machine may slow one round down, but only a slow server all of them."""
DESCRIPTORS = 4096
FULL_SIZE = 16
WORDS = 5_000


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, int]]:
    """A server after some ordinary use, and its memory at that time in bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, DESCRIPTORS)), hard))
    try:
        with Server(tmp_path_factory.mktemp("victim"), password="SecretPassword") as server:
            use(server)
            yield server, server.rss_bytes()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def use(server: Server) -> None:
    """Push ordinary texts, some of them in languages that need a dictionary, and query them."""
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search, Peer(server, "control") as control:
        ingest.send_lines(*(f'PUSH known b o{number} "word{number} weather" LANG(eng)' for number in range(WORDS)))
        assert set(ingest.lines(WORDS)) == {"OK"}
        for text in ("今天天气很好", "今日はいい天気です", "วันนี้อากาศดี"):
            assert ingest.ask(f'PUSH known b o "{text}"') == "OK"
        assert control.ask("TRIGGER consolidate") == "OK"
        assert search.results('QUERY known b "word77" LIMIT(1)') == ["o77"]


def is_well(server: Server) -> bool:
    """Return whether the server accepts changes, answers queries, and has logged no traceback."""
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        assert ingest.ask('PUSH well b o "all is well" LANG(none)') == "OK"
        assert search.results('QUERY well b "well" LANG(none)') == ["o"]
        assert search.results('QUERY known b "word123" LIMIT(1)') == ["o123"]
        assert ingest.ask("FLUSHB well b") == "RESULT 1"
    return "Traceback" not in server.log()


def attack(victim: tuple[Server, int], name: str, size: int, longest_s: float) -> None:
    server, before = victim
    pings: list[float] = []
    while len(pings) < ROUNDS and not (pings and is_below(min(pings), longest_s)):
        with watch(server) as seen:
            ATTACKS[name](server, size)
        pings.append(max(0.0, seen.ping_s - seen.busy_s))
        assert seen.rss_bytes - before < GROWTH_BYTES_MAX
        assert is_well(server), server.log()
    print(f"{name}: {(seen.rss_bytes - before) / 1e6:.1f} MB, PING {', '.join(f'{1000 * s:.1f}' for s in pings)} ms")
    assert is_below(min(pings), longest_s)


@pytest.mark.parametrize("name", some(ATTACKS, 2))
def test_an_attack(victim: tuple[Server, int], name: str) -> None:
    attack(victim, name, 1, PING_AT_THE_GATE_S)


@pytest.mark.full
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_long_attack(victim: tuple[Server, int], name: str) -> None:
    attack(victim, name, FULL_SIZE, PING_S)
