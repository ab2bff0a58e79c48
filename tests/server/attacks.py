"""Attacks by hostile peers on a server. An attack of `size` 1 takes about half a second, others in proportion."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.processes import Server
from tests.server.peer import CROWD, Peer
from tests.support.patience import WAIT_S

MEGABYTE = 1 << 20
LINE_BYTES = 20_000
MARKS = "\u0301\u0323"

Attack = Callable[[Server, int], None]


@contextmanager
def crowd(server: Server, count: int, mode: str | None = None) -> Iterator[list[Peer]]:
    """Open `count` connections inside a `with` block."""
    with ExitStack() as stack:
        yield [stack.enter_context(Peer(server, mode, source=CROWD)) for _ in range(count)]


def send_all(peer: Peer, data: bytes) -> bytes:
    """Send bytes and read at the same time; return the bytes that were read. The server may close at any time."""
    received: list[bytes] = []

    def read() -> None:
        try:
            while piece := peer.socket.recv(1 << 16):
                received.append(piece)
        except OSError:
            return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        peer.socket.settimeout(WAIT_S)
        peer.send(data)
        peer.half_close()
    except OSError:
        pass
    reader.join()
    return b"".join(received)


def at_once(peers: list[Peer], act: Callable[[Peer], object]) -> None:
    """Call `act` with all peers at the same time, each in a thread of its own."""
    threads = [threading.Thread(target=act, args=(peer,)) for peer in peers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def random_bytes(server: Server, size: int) -> None:
    chance = random.Random(1)
    for turn in range(10 * size):
        mode = (None, "search", "ingest", "control")[turn % 4]
        with Peer(server, mode, source=CROWD) as peer:
            send_all(peer, chance.randbytes(100_000))


def megabyte_lines(server: Server, size: int) -> None:
    for line in (b"x" * MEGABYTE + b"\n", b'PUSH c b o "' + b"y " * (MEGABYTE // 2) + b'"\n', b"z" * MEGABYTE):
        for mode in (None, "ingest"):
            with crowd(server, 3 * size, mode) as peers:
                at_once(peers, lambda peer, line=line: send_all(peer, line * 2))  # type: ignore[misc]


def pipelined_commands(server: Server, size: int) -> None:
    commands = b"PING\nHELP\nNOPE\n\n" * 50_000
    with crowd(server, size, "search") as peers:
        answers: list[int] = []
        at_once(peers, lambda peer: answers.append(send_all(peer, commands).count(b"\r\n")))
        assert answers == [150_000] * size


def tiny_lines(server: Server, size: int) -> None:
    with crowd(server, 10 * size, "search") as peers:
        at_once(peers, lambda peer: send_all(peer, b"ab\n" * 50_000))


def long_words(server: Server, size: int) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        for number in range(15 * size):
            word = f"{number:05}w" * ((LINE_BYTES - 50) // 6)
            assert ingest.ask(f'PUSH long b o{number} "{word}" LANG(none)') == "OK"
            assert search.results(f'QUERY long b "{word}" LANG(none)') == [f"o{number}"]
            assert search.results(f'SUGGEST long b "{word}"') == []
            assert ingest.ask(f'POP long b o{number} "{word}"') == "RESULT 1"


def combining_marks(server: Server, size: int) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        for number in range(10 * size):
            word = chr(ord("a") + number % 26) + MARKS * ((LINE_BYTES - 50) // len(MARKS.encode()))
            assert ingest.ask(f'PUSH marks b o{number % 26} "{word}" LANG(none)') == "OK"
            assert f"o{number % 26}" in search.results(f'QUERY marks b "{word}" LANG(none)')
            search.results(f'SUGGEST marks b "{word}"')


def unknown_words(server: Server, size: int) -> None:
    chance = random.Random(2)
    with Peer(server, "search") as search:
        for _ in range(5 * size):
            words = ["".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(2_500)]
            search.results(f'QUERY known b "{" ".join(words)}" LANG(none)')


def idle(server: Server, size: int) -> None:
    with crowd(server, 500), crowd(server, 500, "search"):
        time.sleep(size / 2)


def never_reading(server: Server, size: int) -> None:
    peers = [Peer(server, "search", receive_bytes=4096, source=CROWD) for _ in range(12 * size)]
    for peer in peers:
        peer.socket.settimeout(0.2)
    try:
        at_once(peers, until_it_stalls)
        time.sleep(0.5)
    finally:
        for peer in peers:
            peer.close()


def until_it_stalls(peer: Peer) -> None:
    try:
        for _ in range(500):
            peer.send(b"LIST known b LIMIT(500)\nHELP commands\n" * 1_000)
    except OSError:
        return
    raise AssertionError("the server never stopped reading")


def half_closed(server: Server, size: int) -> None:
    for _ in range(size):
        with crowd(server, 50) as strangers, crowd(server, 50, "ingest") as peers:
            for peer in (*strangers, *peers):
                peer.send(b"PING\nPU")
                peer.half_close()
            assert all(peer.rest().endswith(b"ENDED not_recognized\r\n") for peer in strangers)
            assert [peer.rest() for peer in peers] == [b"PONG\r\n"] * len(peers)


def slow_start(server: Server, size: int) -> None:
    """Send START in small pieces, padded to the longest line allowed, from many peers; the server allows ten
    seconds.
    """
    line = b"START search " + b"x" * 19_000
    with crowd(server, 200) as peers:
        began = time.monotonic()
        sent = 0
        while time.monotonic() - began < 0.75 * size:
            piece = line[sent : sent + 97]
            sent += len(piece)
            for peer in peers:
                try:
                    peer.send(piece)
                except OSError:
                    continue
        if size > 14:
            assert all(peer.rest().endswith(b"ENDED unknown\r\n") for peer in peers)


def wrong_passwords(server: Server, size: int) -> None:
    """Send wrong passwords from a few addresses; half of the peers do not wait for the answer."""
    ended = time.monotonic() + size / 4
    line = b"START search wrong" + b"x" * 1_000 + b"\n"

    def guess(source: str, stays: bool) -> None:
        while time.monotonic() < ended:
            with socket.socket() as guesser:
                if CROWD:
                    guesser.bind((source, 0))
                try:
                    guesser.settimeout(2)
                    guesser.connect((server.host, server.port))
                    guesser.sendall(line)
                    while stays and guesser.recv(1 << 12):
                        pass
                except OSError:
                    continue

    threads = [threading.Thread(target=guess, args=(f"127.0.0.{10 + n % 3}", n % 2 == 0)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


ATTACKS: dict[str, Attack] = {
    "random bytes": random_bytes,
    "megabyte lines": megabyte_lines,
    "200,000 pipelined commands": pipelined_commands,
    "floods of tiny lines": tiny_lines,
    "words of 20,000 bytes": long_words,
    "thousands of combining marks": combining_marks,
    "queries of unknown words": unknown_words,
    "1,000 idle connections": idle,
    "peers that never read": never_reading,
    "half-closed peers": half_closed,
    "slow-loris START": slow_start,
    "wrong passwords": wrong_passwords,
}
