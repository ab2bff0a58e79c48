"""History: the changes of one bucket in order, to which answers are compared.

One client changes a bucket, so its changes have one order, and the bucket is in one state after each. A read is
explained if its answer matches a state between the last change answered before the read was sent and the last change
sent before its answer arrived, and not before the state of an earlier read. This is linearizability for one writer.
Checking is linear in the length of the history: the values of each key are listed with their first states.
"""

import bisect
import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.server.streams import word_of

Objects = dict[str, frozenset[str]]
"""Object -> its words."""
Key = tuple[str, str]
"""The key of a read: QUERY and a word; COUNT or EXISTS and an object; or OBJECTS, WORDS or LIST alone."""
Value = frozenset[str] | tuple[str, ...] | int

SHARED_WORDS = tuple(f"sh{word_of(number)[:2]}" for number in range(15))
"""Words that many objects of a bucket hold. Every other word belongs to one object and is pushed once."""
OBJECTS, WORDS, LIST = ("OBJECTS", ""), ("WORDS", ""), ("LIST", "")


@dataclass(frozen=True, slots=True)
class Change:
    """One command that changes a bucket.

    Attributes:
        verb: PUSH, POP, FLUSHO, FLUSHB, or RESTORE of a backup with the state `objects`.
    """

    verb: str
    oid: str = ""
    words: tuple[str, ...] = ()
    objects: Objects = field(default_factory=dict)


class Read(NamedTuple):
    """An answer, and the times of its request and its arrival in nanoseconds."""

    asked: int
    came: int
    key: Key
    value: Value


@dataclass(slots=True)
class Step:
    """A change in the history, the replaced state (None: no object), and the changed answers."""

    change: Change
    before: dict[str, frozenset[str] | None]
    touched: list[Key]


class History:
    """The changes of a bucket since the last quiet moment.

    Attributes:
        objects: the state after all changes.
        recent: words of single objects that were pushed, for readers.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects: Objects = {}
        self.recent: list[str] = []
        self._holders: dict[str, set[str]] = {}
        self._set(objects)
        self.forget()

    def forget(self) -> None:
        """Start a new history from the current state."""
        self._steps: list[Step] = []
        self._sent: list[int] = []
        self._answered: list[int] = []
        self._versions: dict[Key, list[tuple[int, Value]]] = {}
        self.recent = [word for word in self._holders if word not in SHARED_WORDS]

    @property
    def answered(self) -> int:
        """The number of changes that were answered."""
        return len(self._answered)

    @property
    def sent(self) -> int:
        """The number of changes that were sent."""
        return len(self._steps)

    def send(self, change: Change, now: int) -> int:
        """Record that a change is sent; return the number that its answer has to contain."""
        after = self._after(change)
        before = {oid: self.objects.get(oid) for oid in after}
        touched = self._keys_of(before, after)
        old = {key: self.value(key) for key in touched}
        number = self._number(change, before)
        self._set(after)
        self._steps.append(Step(change, before, touched))
        self._sent.append(now)
        for key in touched:
            versions = self._versions.setdefault(key, [(0, old[key])])
            versions.append((self.sent, self.value(key)))
        self.recent += [word for word in change.words if change.verb == "PUSH" and word not in SHARED_WORDS]
        return number

    def answer(self, now: int) -> None:
        """Record that the first change without an answer was executed."""
        self._answered.append(now)

    def drop_last(self) -> None:
        """Remove the last change: it was refused, or the server ended before executing it."""
        step = self._steps.pop()
        self._sent.pop()
        del self._answered[self.sent :]
        for key in step.touched:
            self._versions[key].pop()
        self._set(step.before)

    def value(self, key: Key) -> Value:
        """Return the value of a key after all changes. Raises ValueError if the key is unknown."""
        match key:
            case "QUERY", word:
                return frozenset(self._holders.get(word, ()))
            case "COUNT", oid:
                return len(self.objects.get(oid, ()))
            case "EXISTS", oid:
                return int(oid in self.objects)
            case "OBJECTS", _:
                return len(self.objects)
            case "WORDS", _:
                return len(self._holders)
            case "LIST", _:
                return tuple(word for word in SHARED_WORDS if word in self._holders)
        raise ValueError(key)

    def check(self, reads: Iterable[Read]) -> tuple[int, list[str]]:
        """Compare reads with the history.

        Returns:
            The number of the last state that reads have seen, and a sentence for each read that no order explains.
        """
        faults = []
        under_way: list[tuple[int, int]] = []  # when earlier reads ended, and the first state that explains each
        floor = last = 0
        for read in sorted(reads, key=lambda read: read.asked):
            while under_way and under_way[0][0] < read.asked:
                floor = max(floor, heapq.heappop(under_way)[1])
            state = self._explain(read, floor)
            if state is None:
                faults.append(self._sentence(read, floor))
            else:
                heapq.heappush(under_way, (read.came, state))
                last = max(last, state)
        return last, faults

    def settle(self, found: Objects, at_least: int) -> bool:
        """Remove the last changes until the state equals the one found after a restart; return whether such a state
        exists.

        Args:
            at_least: the number of the last state that must not be undone.
        """
        at_least = max(at_least, self.answered)
        while self.objects != found and self.sent > at_least:
            self.drop_last()
        agrees = self.objects == found
        if not agrees:
            self._set({**dict.fromkeys(self.objects), **found})
        self.forget()
        return agrees

    def has_been(self, found: Objects, first: int, last: int) -> bool:
        """Return whether the bucket had a state between two numbers of states, both included."""
        objects = self.objects.copy()
        for number in range(self.sent, first - 1, -1):
            if number <= last and objects == found:
                return True
            if number:
                put(objects, self._steps[number - 1].before)
        return False

    def words(self) -> tuple[set[str], set[str]]:
        """Return the words that the bucket may hold, and the words that it has lost since the last quiet moment."""
        in_doubt = (key for step in self._steps[self.answered :] for key in step.touched)
        held = {*self._holders, *(key[1] for key in in_doubt if key[0] == "QUERY")}
        return held, {key[1] for key in self._versions if key[0] == "QUERY"} - held

    def _explain(self, read: Read, floor: int) -> int | None:
        """Return the first state from `floor` on that explains a read, or None."""
        first = max(floor, bisect.bisect_left(self._answered, read.asked))
        last = bisect.bisect_right(self._sent, read.came)
        versions = self._versions.get(read.key)
        if versions is None:
            return first if self.value(read.key) == read.value and first <= last else None
        at = max(0, bisect.bisect_right(versions, first, key=lambda version: version[0]) - 1)
        for began, value in versions[at:]:
            if began > last:
                break
            if value == read.value:
                return max(began, first)
        return None

    def _sentence(self, read: Read, floor: int) -> str:
        first = max(floor, bisect.bisect_left(self._answered, read.asked))
        last = bisect.bisect_right(self._sent, read.came)
        versions = self._versions.get(read.key, [(0, self.value(read.key))])
        possible = [shown(value) for began, value in versions if began <= last][-8:]
        return (
            f"{' '.join(read.key).strip()} was answered {shown(read.value)}, which no state from {first} to {last} "
            f"explains; the last values were {possible}"
        )

    def _after(self, change: Change) -> dict[str, frozenset[str] | None]:
        """Return the objects that a change affects, as they are after it; None: removed."""
        held = self.objects.get(change.oid, frozenset())
        match change.verb:
            case "PUSH":
                return {change.oid: held | set(change.words)}
            case "POP":
                return {change.oid: held - set(change.words) or None}
            case "FLUSHO":
                return {change.oid: None}
            case "FLUSHB":
                return dict.fromkeys(self.objects)
            case "RESTORE":
                return {**dict.fromkeys(self.objects), **change.objects}
        raise ValueError(change.verb)

    def _number(self, change: Change, before: dict[str, frozenset[str] | None]) -> int:
        held = before.get(change.oid) or frozenset()
        return {"POP": len(held & set(change.words)), "FLUSHO": len(held), "FLUSHB": 1}.get(change.verb, 0)

    def _keys_of(self, before: dict[str, frozenset[str] | None], after: dict[str, frozenset[str] | None]) -> list[Key]:
        keys: dict[Key, None] = {}
        for oid, held in after.items():
            words = (before[oid] or frozenset()) ^ (held or frozenset())
            if words or before[oid] != held:
                keys.update(dict.fromkeys([("COUNT", oid), ("EXISTS", oid), OBJECTS, WORDS, LIST]))
                keys.update(dict.fromkeys(("QUERY", word) for word in words))
        return list(keys)

    def _set(self, after: dict[str, frozenset[str] | None] | Objects) -> None:
        for oid, held in after.items():
            before = self.objects.get(oid) or frozenset()
            for word in before - (held or frozenset()):
                self._holders[word].discard(oid)
                if not self._holders[word]:
                    del self._holders[word]
            for word in (held or frozenset()) - before:
                self._holders.setdefault(word, set()).add(oid)
        put(self.objects, after)


def put(objects: Objects, after: dict[str, frozenset[str] | None] | Objects) -> None:
    """Replace some objects; None removes one."""
    for oid, held in after.items():
        if held is None:
            objects.pop(oid, None)
        else:
            objects[oid] = held


def shown(value: Value) -> str:
    """Return a value for a sentence."""
    return json.dumps(value if isinstance(value, int) else sorted(value))
