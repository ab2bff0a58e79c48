"""The clients of a soak: writers, each with a bucket of its own, and readers of all buckets.

Half of the clients send raw lines (writers several at once); the others use `sonicpy.connect`.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import sonicpy
from benchmarks.soak.history import LIST, OBJECTS, SHARED_WORDS, WORDS, Change, History, Key, Read, Value
from tests.processes import Server
from tests.server.peer import Peer
from tests.server.streams import word_of

POPULATION = 200
"""The most objects in a bucket, which limits the size of the store."""
WORDS_MAX = 8
"""The number of words from which on an object loses some."""
DEPTH = 8
"""The most lines that are sent at once."""
PAUSE_S = 0.002
"""The pause of each client between two requests in seconds."""
TIMEOUT_S = 60.0
BUCKET = "b"
LIMIT = 1000


class Refused(Exception):
    """A line was answered by an error."""


Latencies = deque[tuple[str, float]]
"""("read" or "write", seconds)."""


@dataclass(slots=True)
class Place:
    """A bucket, its history, and the answers that readers received since the last quiet moment.

    Attributes:
        faults: sentences about answers to changes.
    """

    collection: str
    history: History = field(default_factory=lambda: History({}))
    reads: list[Read] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    words: int = 0  # invented


class Writer:
    """Changes a bucket over one connection until it is stopped.

    Args:
        by_client: use the blocking client instead of lines.
        may_be_refused: the disk may be full; then one change is sent at a time.
    """

    def __init__(
        self, server: Server, place: Place, latencies: Latencies, *, by_client: bool, may_be_refused: bool = False
    ) -> None:
        self.refused = 0
        self._server = server
        self._place = place
        self._latencies = latencies
        self._by_client = by_client
        self._may_be_refused = may_be_refused
        self._chance = random.Random()

    def run(self, stopped: threading.Event) -> None:
        """Change the bucket. Raises an error when the server ends: then some changes have no answer."""
        if self._by_client:
            with connected(self._server) as client:
                while not stopped.wait(PAUSE_S) and self._call(client):
                    pass
        else:
            with Peer(self._server, "ingest") as peer:
                while not stopped.wait(PAUSE_S) and self._exchange(peer):
                    pass

    def _exchange(self, peer: Peer) -> bool:
        depth = 1 if self._may_be_refused else self._chance.randint(1, DEPTH)
        began = time.monotonic_ns()
        changes, numbers = [], []
        for _ in range(depth):
            changes.append(self._invent())
            numbers.append(self._place.history.send(changes[-1], time.monotonic_ns()))
        peer.send_lines(*(line_of(change, self._place.collection) for change in changes))
        for change, number in zip(changes, numbers, strict=True):
            answer = peer.line()
            expected = "OK" if change.verb == "PUSH" else f"RESULT {number}"
            if not self._take(change, answer, expected):
                return False
        self._latencies.append(("write", (time.monotonic_ns() - began) / 1e9))
        return True

    def _call(self, client: sonicpy.Client) -> bool:
        change = self._invent()
        began = time.monotonic_ns()
        number = self._place.history.send(change, began)
        try:
            answer = f"{call(client, change, self._place.collection)}"
        except sonicpy.CommandError as refusal:
            answer = f"ERR {refusal}"
        self._latencies.append(("write", (time.monotonic_ns() - began) / 1e9))
        return self._take(change, answer, f"{number}")

    def _take(self, change: Change, answer: str, expected: str) -> bool:
        if answer == expected:
            self._place.history.answer(time.monotonic_ns())
            return True
        if self._may_be_refused and answer.startswith("ERR"):
            self._place.history.drop_last()
            self.refused += 1
            return True
        self._place.faults.append(f"{change} was answered {answer!r}, not {expected!r}")
        return False

    def _invent(self) -> Change:
        chance, history = self._chance, self._place.history
        oid = f"o{chance.randrange(POPULATION)}"
        held = history.objects.get(oid, frozenset())
        dice = chance.random()
        if dice < 0.0005 and history.objects:
            return Change("FLUSHB")
        if len(held) > WORDS_MAX or (held and dice < 0.2):
            if dice < 0.1:
                return Change("FLUSHO", oid)
            return Change("POP", oid, tuple(chance.sample(sorted(held), chance.randint(1, len(held)))))
        self._place.words += 1
        shared = chance.sample(SHARED_WORDS, 2)
        return Change("PUSH", oid, (f"u{word_of(self._place.words)}", *shared))


class Reader:
    """Reads keys of all buckets, one at a time, until it is stopped.

    Args:
        by_client: use the blocking client instead of lines.
        may_be_refused: the disk may be full, so changes may be undone before an answer that includes them is sent.
    """

    def __init__(
        self,
        server: Server,
        places: list[Place],
        latencies: Latencies,
        *,
        by_client: bool,
        may_be_refused: bool = False,
    ) -> None:
        self._server = server
        self._places = places
        self._latencies = latencies
        self._by_client = by_client
        self._may_be_refused = may_be_refused
        self._chance = random.Random()

    def run(self, stopped: threading.Event) -> None:
        """Read keys, and keep the answers for the checker. An error is raised when the server ends."""
        if self._by_client:
            with connected(self._server) as client:
                self._ask(lambda key, collection: value_by_client(client, key, collection), stopped)
        else:
            with Peer(self._server, "search") as search, Peer(self._server, "ingest") as ingest:
                self._ask(lambda key, collection: value_by_lines(search, ingest, key, collection), stopped)

    def _ask(self, value_of: Callable[[Key, str], Value], stopped: threading.Event) -> None:
        while not stopped.wait(PAUSE_S):
            place = self._chance.choice(self._places)
            key = self._key(place.history)
            asked = time.monotonic_ns()
            try:
                value = value_of(key, place.collection)
            except (sonicpy.CommandError, Refused):
                if self._may_be_refused:
                    continue
                raise
            came = time.monotonic_ns()
            name = "LIST" if key[0] == "SUGGEST" else key[0]
            place.reads.append(Read(asked, came, (name, key[1]), value))
            self._latencies.append(("read", (came - asked) / 1e9))

    def _key(self, history: History) -> Key:
        chance = self._chance
        dice = chance.random()
        if dice < 0.4 and history.recent:
            newest = history.recent[-200:] or [""]
            return "QUERY", chance.choice(newest)
        if dice < 0.7:
            return "QUERY", chance.choice(SHARED_WORDS)
        if dice < 0.8:
            return chance.choice(("COUNT", "EXISTS")), f"o{chance.randrange(POPULATION)}"
        return chance.choice((OBJECTS, WORDS, LIST, ("SUGGEST", "")))


def connected(server: Server) -> sonicpy.Client:
    """Return a connected blocking client, which does not retry."""
    return sonicpy.connect(f"sonic://{server.host}:{server.port}", retry_s=0, timeout_s=TIMEOUT_S)


def line_of(change: Change, collection: str) -> str:
    """Return the command of a change."""
    line = f"{change.verb} {collection} {BUCKET} {change.oid}".rstrip()
    if change.verb not in ("PUSH", "POP"):
        return line
    return f'{line} "{" ".join(change.words)}"' + (" LANG(none)" if change.verb == "PUSH" else "")


def call(client: sonicpy.Client, change: Change, collection: str) -> int:
    """Make a change through the client; return the number that it returns, 0 for PUSH."""
    match change.verb:
        case "PUSH":
            client.push(collection, BUCKET, change.oid, " ".join(change.words), "none")
            return 0
        case "POP":
            return client.pop(collection, BUCKET, change.oid, " ".join(change.words))
        case "FLUSHO":
            return client.flush_object(collection, BUCKET, change.oid)
    return client.flush_bucket(collection, BUCKET)


def value_by_client(client: sonicpy.Client, key: Key, collection: str) -> Value:
    """Return the value of a key, read through the client."""
    match key:
        case "QUERY", word:
            return frozenset(str(name) for name in client.query(collection, BUCKET, word, limit=LIMIT, lang="none"))
        case "COUNT", oid:
            return client.count_object_words(collection, BUCKET, oid)
        case "EXISTS", oid:
            return int(client.exists(collection, BUCKET, oid))
        case "OBJECTS", _:
            return client.count_objects(collection, BUCKET)
        case "WORDS", _:
            return client.count_words(collection, BUCKET)
        case "SUGGEST", _:
            return tuple(sorted(client.suggest(collection, BUCKET, "sh", limit=20)))
    return tuple(client.words(collection, BUCKET, prefix="sh", limit=20))


def value_by_lines(search: Peer, ingest: Peer, key: Key, collection: str) -> Value:
    """Return the value of a key, read with lines of the protocol."""
    scope = f"{collection} {BUCKET}"
    match key:
        case "QUERY", word:
            return frozenset(items_of(search, f'QUERY {scope} "{word}" LIMIT({LIMIT}) LANG(none)'))
        case "COUNT", oid:
            return number_of(ingest.ask(f"COUNT {scope} {oid}"))
        case "EXISTS", oid:
            return number_of(search.ask(f"EXISTS {scope} {oid}"))
        case "OBJECTS", _:
            return number_of(ingest.ask(f"COUNTB {scope}"))
        case "WORDS", _:
            return number_of(ingest.ask(f"COUNT {scope}"))
        case "SUGGEST", _:
            return tuple(sorted(items_of(search, f'SUGGEST {scope} "sh" LIMIT(20)')))
    return tuple(items_of(search, f"LIST {scope} PREFIX(sh) LIMIT(20)"))


def items_of(search: Peer, line: str) -> list[str]:
    """Return the items of the EVENT that answers a line. Raises Refused."""
    pending = search.ask(line)
    if not pending.startswith("PENDING "):
        raise Refused(pending)
    return search.items(line, pending)


def number_of(answer: str) -> int:
    """Return the number after RESULT. Raises Refused for any other answer."""
    if not answer.startswith("RESULT "):
        raise Refused(answer)
    return int(answer.removeprefix("RESULT "))
