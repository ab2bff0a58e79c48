"""Streams of changes, each with a model of the acknowledged changes, for servers that may end in any way.

A Stream changes one bucket over one connection, a few commands at a time. Its model holds the acknowledged changes. Of
the changes that were sent but not answered, the server may have carried out the first ones: a bucket that is read back
must be in one of the resulting states.
"""

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.processes import Server
from tests.server.peer import Peer

Objects = dict[str, frozenset[str]]
"""Object -> its words, for one bucket."""

SETTINGS: dict[str, object] = {"search.query_alternates_try": 0}
"""The settings of servers for streams: a word finds only the objects that hold it."""

COLLECTION = "streams"
DEPTH = 16
"""The most commands that are sent at once."""
GROUP = 20
"""The number of consecutive objects that share a word."""
LETTERS = "bcdfghjklmnpqrstvwxz"
READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Change:
    """One command of a stream."""

    verb: str
    oid: str = ""
    words: tuple[str, ...] = ()

    def line(self, collection: str, bucket: str) -> str:
        """Return the command."""
        if self.verb == "FLUSHC":
            return f"FLUSHC {collection}"
        line = f"{self.verb} {collection} {bucket} {self.oid}".rstrip()
        if self.verb not in ("PUSH", "POP"):
            return line
        return f'{line} "{" ".join(self.words)}"' + (" LANG(none)" if self.verb == "PUSH" else "")


@dataclass(slots=True)
class Stream:
    """A bucket, its changes and its model.

    Attributes:
        objects: the acknowledged content of the bucket.
        in_flight: the changes that were sent, but not answered, in order.
        wrong: the answers that contradict the model; this list has to stay empty.
    """

    bucket: str
    seed: int
    objects: Objects = field(default_factory=dict)
    in_flight: list[Change] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    acknowledged: int = 0
    _ahead: Objects = field(default_factory=dict)  # as if all in flight had been answered
    _words: list[str] = field(default_factory=list)
    _shared_word: str = ""
    _pushed: int = 0

    @property
    def collection(self) -> str:
        """The collection of only this stream, so that the stream may flush it."""
        return f"{COLLECTION}-{self.bucket}"

    def run(self, server: Server, stopped: threading.Event) -> None:
        """Send changes until `stopped`, the end of the connection, or the first refusal."""
        chance = random.Random(f"{self.bucket} {self.seed} {self.acknowledged}")
        try:
            with Peer(server, "ingest") as peer:
                while not stopped.is_set() and self._send_some(peer, chance):
                    pass
        except OSError:
            pass  # the server has ended: the unanswered changes stay in flight

    def possible_states(self) -> Iterator[Objects]:
        """Yield every state that the bucket may be in now."""
        objects = self.objects.copy()
        yield objects.copy()
        for change in self.in_flight:
            apply(objects, change)
            yield objects.copy()

    def read(self, search: Peer) -> Objects:
        """Return the content of the bucket, found by one query for each word."""
        found: dict[str, set[str]] = {}
        for first in range(0, len(self._words), READ_AT_ONCE):
            words = self._words[first : first + READ_AT_ONCE]
            scope = f"{self.collection} {self.bucket}"
            search.send_lines(*(f'QUERY {scope} "{word}" LIMIT(100) LANG(none)' for word in words))
            for word, event in zip(words, search.lines(2 * len(words))[1::2], strict=True):
                for oid in event.split()[3:]:
                    found.setdefault(oid, set()).add(word)
        return {oid: frozenset(words) for oid, words in found.items()}

    def settle(self, objects: Objects) -> None:
        """Continue from a state that was read."""
        self.objects = objects
        self._ahead = objects.copy()
        self.in_flight = []

    def _send_some(self, peer: Peer, chance: random.Random) -> bool:
        for _ in range(chance.randint(1, DEPTH)):
            change = self._invent(chance)
            apply(self._ahead, change)
            self.in_flight.append(change)
        peer.send_lines(*(change.line(self.collection, self.bucket) for change in self.in_flight))
        while self.in_flight:
            answer = peer.line()
            if answer == "ERR shutting_down":
                return False
            expected = apply(self.objects, self.in_flight[0])
            if answer != expected:
                self.wrong.append(f"{self.in_flight[0]} was answered {answer!r}, not {expected!r}")
                return False
            del self.in_flight[0]
            self.acknowledged += 1
        return True

    def _invent(self, chance: random.Random) -> Change:
        dice = chance.random()
        if dice > 0.3 or not self._ahead:
            return self._push_new()
        if dice < 0.001:
            return Change(chance.choice(["FLUSHB", "FLUSHC"]))
        oid = f"o{chance.randrange(max(0, self._pushed - 5 * GROUP), self._pushed)}"
        if dice < 0.1:
            return Change("PUSH", oid, (self._new_word(),))
        held = sorted(self._ahead.get(oid, ()))
        if dice < 0.2 and held:
            return Change("POP", oid, tuple(chance.sample(held, chance.randint(1, len(held)))))
        return Change("FLUSHO", oid)

    def _push_new(self) -> Change:
        oid = f"o{self._pushed}"
        self._pushed += 1
        if self._pushed % GROUP == 1:
            self._shared_word = self._new_word()
        return Change("PUSH", oid, (self._shared_word, self._new_word(), self._new_word()))

    def _new_word(self) -> str:
        word = word_of(len(self._words))
        self._words.append(word)
        return word


def apply(objects: Objects, change: Change) -> str:
    """Make a change in the model of a bucket, and return the answer that the server has to give.

    Raises:
        ValueError: the verb is none of PUSH, POP, FLUSHO, FLUSHB and FLUSHC.
    """
    held = objects.pop(change.oid, frozenset())
    match change.verb:
        case "PUSH":
            objects[change.oid] = held | set(change.words)
            return "OK"
        case "POP":
            left = held - set(change.words)
            if left:
                objects[change.oid] = left
            return f"RESULT {len(held) - len(left)}"
        case "FLUSHO":
            return f"RESULT {len(held)}"
        case "FLUSHB" | "FLUSHC":
            objects.clear()
            return "RESULT 1"
    raise ValueError(change.verb)


def word_of(number: int) -> str:
    """Return a word of letters that no other number has."""
    letters = ""
    for _ in range(6):
        number, digit = divmod(number, len(LETTERS))
        letters += LETTERS[digit]
    return letters
