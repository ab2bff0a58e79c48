"""A checked history: writers change objects, and readers read changes that were acknowledged before.

Every object has one word that no other has. A QUERY or EXISTS that is sent after the OK of its PUSH has to find it,
unless its removal was sent before the answer came; a QUERY or EXISTS that is sent after the answer to its removal must
not find it.
"""

import itertools
import random
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.processes import Server
from tests.server.peer import Peer
from tests.support.patience import until

BUCKETS = 3
RECENT = 4
"""The number of last changes among which readers choose, because no commit may hold these yet."""


@dataclass(slots=True)
class Change:
    """One object, and the state of its change."""

    number: int
    bucket: str
    is_pushed: bool = False
    """Whether the OK of the PUSH was received."""
    is_removing: bool = False
    is_removed: bool = False
    """Whether the answer to the removal was received."""


class History:
    """Writers and readers of one server."""

    def __init__(self, server: Server, *, writers: int, readers: int, floods: int) -> None:
        self._server = server
        self._numbers = itertools.count(random.randrange(10**9) * 10**6)
        self._recent: deque[Change] = deque(maxlen=RECENT)
        self._wrong: list[str] = []
        self._checked = 0
        self._stopped = threading.Event()
        works = [self._write] * writers + [self._read] * readers + [self._flood] * floods
        self._pool = ThreadPoolExecutor(len(works))
        self._works = works

    def run(self, seconds: float, answers: int = 20) -> None:
        """Run writers and readers for some seconds, and until they have checked more than a number of answers. Fails if
        an answer was wrong.
        """
        with self._pool as pool:
            running = [pool.submit(work) for work in self._works]
            try:
                time.sleep(seconds)
                until(lambda: self._checked > answers or any(each.done() for each in running))
            finally:
                self._stopped.set()
        for each in running:
            each.result()
        assert self._wrong == []
        assert self._checked > answers

    def _write(self) -> None:
        with Peer(self._server, "ingest") as peer:
            while not self._stopped.is_set():
                change = Change(next(self._numbers), f"b{random.randrange(BUCKETS)}")
                name, word = f"o{change.number}", f"w{change.number}"
                assert peer.ask(f'PUSH history {change.bucket} {name} "{word}" LANG(none)') == "OK"
                change.is_pushed = True
                self._recent.append(change)
                time.sleep(random.choice((0, 0, 0.002)))
                if random.random() < 0.5:
                    change.is_removing = True
                    how = random.choice(
                        (f"FLUSHO history {change.bucket} {name}", f'POP history {change.bucket} {name} "{word}"')
                    )
                    assert peer.ask(how) == "RESULT 1"
                    change.is_removed = True
                    time.sleep(random.choice((0, 0.001)))

    def _read(self) -> None:
        with Peer(self._server, "search") as peer:
            while not self._stopped.is_set():
                if not self._recent:
                    continue
                change = self._recent[random.randrange(len(self._recent))]
                was_removed = change.is_removed
                name, word = f"o{change.number}", f"w{change.number}"
                found = peer.results(f'QUERY history {change.bucket} "{word}" LANG(none) LIMIT(100)')
                if was_removed and name in found:
                    self._wrong.append(f"{name} was found after its removal")
                elif not change.is_removing and name not in found:
                    self._wrong.append(f"{name} was not found after its PUSH: {found[:5]}")
                self._checked += 1

    def _flood(self) -> None:
        """Push without a pause, many at a time, so that commits follow each other."""
        with Peer(self._server, "ingest") as peer:
            for number in itertools.count():
                if self._stopped.is_set():
                    return
                lines = [
                    f'PUSH history b{place % (BUCKETS + 1)} f{number % 50}-{place} "flood {number} {place}"'
                    for place in range(64)
                ]
                peer.send_lines(*lines)
                assert peer.lines(len(lines)) == ["OK"] * len(lines)
