"""World: a server, its buckets with their histories, and the clients that use them concurrently."""

import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak.clients import BUCKET, LIMIT, Latencies, Place, Reader, Writer, connected
from benchmarks.soak.history import Change, Objects
from sonicpy import ConnectionLost, Index
from tests.processes import Server
from tests.server.peer import Peer

WRITERS = 4
READERS = 4
GONE_MAX = 500
"""The most lost words of a bucket that are searched for."""
AT_ONCE = 200
SETTINGS: dict[str, object] = {
    "search.query_alternates_try": 0,
    "search.query_limit_maximum": LIMIT,
}
"""The settings by which a word finds exactly the objects that hold it."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup for which the server has answered OK.

    Attributes:
        ranges: for each bucket, the numbers of the first and the last state that the backup may hold.
    """

    folder: Path
    ranges: list[tuple[int, int]]


class World:
    """A server in a folder, and the histories of its buckets.

    Args:
        may_be_refused: whether the disk may become full.
    """

    def __init__(self, folder: Path, *, may_be_refused: bool = False) -> None:
        self.server = Server(folder, SETTINGS)
        self.places = [Place(f"soak-{number}") for number in range(WRITERS)]
        self.latencies: Latencies = deque()
        self.faults: list[str] = []
        self.changes = self.reads = self.refused = 0
        self.pid: int | None = None
        self._may_be_refused = may_be_refused

    def start(self) -> None:
        """Start the server."""
        self.server.start()
        self.pid = self.server.pid

    def kill(self) -> None:
        """Kill the server, as a crash would; its clients then fail."""
        self.pid = None
        self.server.kill()
        self._look_at_log()

    def stop(self) -> None:
        """Stop the server."""
        self.pid = None
        status = self.server.stop()
        if status:
            self.faults.append(f"the server ended with status {status}")
        self._look_at_log()

    def _look_at_log(self) -> None:
        log = self.server.log()
        if "Traceback" in log:
            self.faults.append(f"the log of the server holds a traceback: {log[log.index('Traceback') :][:2000]}")

    @contextmanager
    def clients(self, operate: Callable[[threading.Event], None], *, writers: bool = True) -> Iterator[None]:
        """Run readers, writers if `writers`, and an operator inside a `with` block; an exception while the server runs
        is a fault."""
        stopped = threading.Event()
        writing = [
            Writer(self.server, place, self.latencies, by_client=number % 2 == 1, may_be_refused=self._may_be_refused)
            for number, place in enumerate(self.places)
            if writers
        ]
        reading = [
            Reader(
                self.server, self.places, self.latencies, by_client=number % 2 == 1, may_be_refused=self._may_be_refused
            )
            for number in range(READERS)
        ]
        works = [*(one.run for one in writing), *(one.run for one in reading), operate]
        with ThreadPoolExecutor(len(works)) as pool:
            working = [pool.submit(work, stopped) for work in works]
            try:
                yield
            finally:
                stopped.set()
        self._collect(working)
        self.refused += sum(writer.refused for writer in writing)

    def _collect(self, working: list[Future[None]]) -> None:
        """Record the exceptions of clients, except those caused by the end of the server."""
        for error in (future.exception() for future in working):
            if error is not None and (self.pid is not None or not isinstance(error, (OSError, ConnectionLost))):
                self.faults.append(f"a client failed: {error!r}")

    def back_up(self, control: Peer, folder: Path) -> Backup:
        """Return a backup made while clients work. Raises ConnectionError if the server ends meanwhile."""
        first = [place.history.answered for place in self.places]
        answer = control.ask(f"TRIGGER backup {folder}")
        if answer != "OK":
            raise ConnectionError(f"TRIGGER backup was answered {answer!r}")
        return Backup(folder, list(zip(first, (place.history.sent for place in self.places), strict=True)))

    def check_backup(self, backup: Backup, scratch: Path) -> dict[str, Objects]:
        """Restore a backup into a folder of its own; return the objects of each collection in it.

        Call it before `settle`, while no client works.
        """
        with Index(scratch) as index:
            index.restore(backup.folder)
            found: dict[str, Objects] = {collection: {} for collection in index.collections()}
            for held in index.holdings():
                objects = found[held.collection]
                objects[held.object] = objects.get(held.object, frozenset()) | set(held.terms)
        for place, (first, last) in zip(self.places, backup.ranges, strict=True):
            if not place.history.has_been(found.get(place.collection, {}), first, last):
                self.faults.append(f"the backup of {place.collection} is of no state from {first} to {last}")
        return found

    def begin_restore(self, states: dict[str, Objects], now: int) -> None:
        """Record that a restore is sent; a bucket that the backup does not hold stays as it is."""
        for place in self.places:
            if place.collection in states:
                place.history.send(Change("RESTORE", objects=states[place.collection]), now)

    def end_restore(self, states: dict[str, Objects], now: int) -> None:
        """Record that a restore was answered with OK."""
        for place in self.places:
            if place.collection in states:
                place.history.answer(now)

    def settle(self) -> None:
        """Compare every bucket and every read with the histories, and begin new ones; no client may work meanwhile."""
        for place in self.places:
            self.changes += place.history.answered
            self.reads += len(place.reads)
            seen, faults = place.history.check(place.reads)
            self.faults += [f"{place.collection}: {fault}" for fault in faults]
            self.faults += [f"{place.collection}: {fault}" for fault in place.faults]
            found = self._held(place)
            answered, sent, expected = place.history.answered, place.history.sent, place.history.objects.copy()
            if not place.history.settle(found, seen):
                self.faults.append(
                    f"{place.collection} is in no state from {max(seen, answered)} to {sent}, of which {answered} were "
                    f"acknowledged and {seen} was seen: {difference(expected, found)}"
                )
            place.reads, place.faults = [], []

    def verify(self) -> None:
        """Verify the tables of the server."""
        with Peer(self.server, "control") as control:
            answer = control.ask("VERIFY")
            if answer != "RESULT []":
                self.faults.append(f"VERIFY was answered {answer}")

    def _held(self, place: Place) -> Objects:
        """Return the objects of a bucket by one query for each word, and check its lists and counts."""
        held, gone = place.history.words()
        words = [*held, *random.sample(sorted(gone), min(len(gone), GONE_MAX))]
        found: dict[str, set[str]] = {}
        scope = f"{place.collection} {BUCKET}"
        with Peer(self.server, "search") as search, Peer(self.server, "ingest") as ingest:
            for first in range(0, len(words), AT_ONCE):
                some = words[first : first + AT_ONCE]
                search.send_lines(*(f'QUERY {scope} "{word}" LIMIT({LIMIT}) LANG(none)' for word in some))
                for word, event in zip(some, search.lines(2 * len(some))[1::2], strict=True):
                    for oid in event.split()[3:]:
                        found.setdefault(oid, set()).add(word)
            counts = ingest.ask(f"COUNTB {scope}"), ingest.ask(f"COUNT {scope}")
        words_found = set().union(*found.values()) if found else set()
        if counts != (f"RESULT {len(found)}", f"RESULT {len(words_found)}"):
            self.faults.append(f"{scope} holds {len(found)} objects and {len(words_found)} words, counted as {counts}")
        with connected(self.server) as client:
            listed = set(client.iterate_objects(place.collection, BUCKET))
        if listed != set(found):
            self.faults.append(f"{scope}: listed and found objects differ: {sorted(listed ^ set(found))[:20]}")
        return {oid: frozenset(some) for oid, some in found.items()}


def difference(expected: Objects, found: Objects) -> str:
    """Return a sentence about the objects that differ."""
    wrong = [oid for oid in {*expected, *found} if expected.get(oid) != found.get(oid)]
    return f"{len(wrong)} objects differ, such as {[(oid, expected.get(oid), found.get(oid)) for oid in wrong[:3]]}"
