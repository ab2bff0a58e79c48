"""The judge: writers that record acknowledged changes, and a comparison of the cluster with them.

Each writer has a bucket of its own and one change in flight, and repeats a change until it is acknowledged. So every
replica must hold exactly the acknowledged changes, replayed in order into one ordinary index, whatever died meanwhile.
"""

import random
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sonicpy.index.index import Index
from tests.support.patience import WAIT_S, until

COLLECTION = "judge"
WORDS = [f"word{number}" for number in range(60)]
OBJECTS = 40


class Change(NamedTuple):
    """A change as a client sends it."""

    verb: str
    bucket: str
    object: str
    text: str = ""

    def line(self) -> bytes:
        text = f' "{self.text}"' if self.text else ""
        return f"{self.verb} {COLLECTION} {self.bucket} {self.object}{text}\n".encode()

    def carry_out(self, index: Index) -> None:
        match self.verb:
            case "PUSH":
                index.push(COLLECTION, self.bucket, self.object, self.text)
            case "POP":
                index.pop(COLLECTION, self.bucket, self.object, self.text)
            case _:
                index.flush_object(COLLECTION, self.bucket, self.object)


class Channel:
    """A connection to a node."""

    def __init__(self, port: int, mode: str = "ingest") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), WAIT_S)
        self._file = self._socket.makefile("rb")
        try:
            self.line()
            assert self.ask(f"START {mode}\n".encode()).startswith(b"STARTED")
        except BaseException:
            self.close()
            raise

    def ask(self, line: bytes) -> bytes:
        """Send a line; return the answer. Raises OSError if the connection is gone."""
        self._socket.sendall(line)
        return self.line()

    def event(self, line: bytes) -> list[str]:
        """Send a query; return its results."""
        assert self.ask(line).startswith(b"PENDING")
        return self.line().decode().split()[3:]

    def line(self) -> bytes:
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the node has closed the connection")
        return line.strip()

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Writer(threading.Thread):
    """Changes one bucket until it is stopped.

    Attributes:
        acknowledged: the changes, in order.
        gap_s: the longest time in seconds between two acknowledgements so far.
        repeated: the number of changes that were sent again.
    """

    def __init__(self, number: int, ports: Sequence[int], seed: int) -> None:
        super().__init__(daemon=True)
        self.bucket = f"w{number}"
        self.acknowledged: list[Change] = []
        self.gap_s = 0.0
        self.repeated = 0
        self.unexpected: list[str] = []
        self._ports = list(ports)
        self._place = number
        self._random = random.Random(seed * 1000 + number)
        self._stopped = threading.Event()
        self._channel: Channel | None = None

    def run(self) -> None:
        last = time.monotonic()
        while not self._stopped.is_set():
            change = self._next()
            while not self._is_acknowledged(change):
                self.repeated += 1
            now = time.monotonic()
            self.gap_s, last = max(self.gap_s, now - last), now
            self.acknowledged.append(change)
        if self._channel is not None:
            self._channel.close()

    def stop(self) -> None:
        self._stopped.set()
        self.join(WAIT_S)
        assert not self.is_alive(), f"writer {self.bucket} waits for ever"

    def _next(self) -> Change:
        pick = self._random
        oid = f"o{pick.randrange(OBJECTS)}"
        verb = pick.choices(["PUSH", "POP", "FLUSHO"], [7, 2, 1])[0]
        if verb == "FLUSHO":
            return Change(verb, self.bucket, oid)
        return Change(verb, self.bucket, oid, " ".join(pick.choices(WORDS, k=pick.randrange(1, 6))))

    def _is_acknowledged(self, change: Change) -> bool:
        try:
            if self._channel is None:
                self._channel = Channel(self._ports[self._place % len(self._ports)])
            answer = self._channel.ask(change.line())
        except (OSError, AssertionError):
            answer = b""
        if answer == b"OK" or answer.startswith(b"RESULT "):
            return True
        if answer and answer != b"ERR internal_error" and not answer.startswith(b"ENDED"):
            self.unexpected.append(answer.decode())
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        self._place += 1
        time.sleep(0.01)
        return False


class Load:
    """Several writers at work inside a `with` block."""

    def __init__(self, ports: Sequence[int], writers: int = 6, seed: int = 1) -> None:
        self.writers = [Writer(number, ports, seed) for number in range(writers)]

    def __enter__(self) -> "Load":
        for writer in self.writers:
            writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.stop()

    @property
    def acknowledged(self) -> int:
        return sum(len(writer.acknowledged) for writer in self.writers)

    def wait_for(self, more: int) -> None:
        """Wait until this many more changes are acknowledged."""
        goal = self.acknowledged + more
        until(lambda: self.acknowledged >= goal, f"{more} more changes are acknowledged")

    def gap_s(self) -> float:
        """Return and reset the longest time in seconds that a writer has waited."""
        longest = max(writer.gap_s for writer in self.writers)
        for writer in self.writers:
            writer.gap_s = 0.0
        return longest


Contents = dict[tuple[str, str], dict[str, tuple[dict[str, int], dict[str, int]]]]


def contents(index: Index) -> Contents:
    """Return the content of an index: for each bucket its objects with their words."""
    found: Contents = {}
    for held in index.holdings():
        words, hidden = found.setdefault((held.collection, held.bucket), {}).setdefault(held.object, ({}, {}))
        words.update(held.terms)
        hidden.update(held.hidden)
    return found


def expected(changes: Iterable[Change], folder: Path) -> Contents:
    """Return the content of an ordinary index after these changes."""
    with Index(folder) as index:
        with index.batch():
            for change in changes:
                change.carry_out(index)
        return contents(index)


def judge(load: Load, node_folders: Iterable[Path], replay_folder: Path) -> list[str]:
    """Return the faults of the replicas of stopped nodes, as sentences.

    Args:
        node_folders: each holds the folders of replicas.
        replay_folder: an empty folder for the replay.
    """
    changes = [change for writer in load.writers for change in writer.acknowledged]
    return differences(
        expected(changes, replay_folder), {folder.parent.name: held_by(folder) for folder in node_folders}
    )


def held_by(folder: Path) -> Contents:
    """Return the content of all replicas of a node, each opened as an ordinary index."""
    found: Contents = {}
    for replica in sorted(folder.iterdir()):
        with Index(replica) as index:
            assert index.verify() == []
            found |= contents(index)
    return found


def differences(wanted: Contents, found: dict[str, Contents]) -> list[str]:
    """Return the differences between expected and found contents of nodes, as sentences."""
    wrong = []
    for node, held in found.items():
        for scope in sorted({*wanted, *held}):
            should, has = wanted.get(scope, {}), held.get(scope, {})
            for name in sorted({*should, *has}):
                if should.get(name) != has.get(name):
                    wrong.append(f"{node}: {scope[1]}/{name} is {has.get(name)}, not {should.get(name)}")
    return wrong
