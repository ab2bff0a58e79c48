"""History: the changes of one bucket in their order, and whether answers agree with it.

One client changes a bucket, so its changes have one order, and the bucket is in one state after each. A read is
explained if some state gives its answer, between the last change answered before the read was sent and the last one
sent before its answer came, and not before a state that an earlier read has seen. This is linearizability for one
writer. The work is linear in the history: for each key that can be read, its values are listed with the states that
they began in.
"""

import bisect
import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.server.streams import word_of

Objects = dict[str, frozenset[str]]
"""The words of each object."""
Key = tuple[str, str]
"""The question of a read: QUERY and a word, COUNT or EXISTS and an object, or OBJECTS, WORDS or LIST and nothing."""
Value = frozenset[str] | tuple[str, ...] | int

SHARED_WORDS = tuple(f"sh{word_of(number)[:2]}" for number in range(15))
"""Words that many objects of a bucket hold. All others belong to one object and are pushed once."""
OBJECTS, WORDS, LIST = ("OBJECTS", ""), ("WORDS", ""), ("LIST", "")


@dataclass(frozen=True, slots=True)
class Change:
    """One command that changes a bucket.

    Attributes:
        verb: PUSH, POP, FLUSHO, FLUSHB, or RESTORE of a backup, whose state is `objects`.
    """

    verb: str
    oid: str = ""
    words: tuple[str, ...] = ()
    objects: Objects = field(default_factory=dict)


class Read(NamedTuple):
    """One answer, and when it was asked for and came, in nanoseconds."""

    asked: int
    came: int
    key: Key
    value: Value


@dataclass(slots=True)
class Step:
    """A change in the history, what it replaced (None: there was no such object), and which answers it changed."""

    change: Change
    before: dict[str, frozenset[str] | None]
    touched: list[Key]


class History:
    """The changes of a bucket since the last time that all was quiet.

    Attributes:
        objects: as if every change had been carried out.
        recent: words of one object that were pushed, for clients that read.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects: Objects = {}
        self.recent: list[str] = []
        self._holders: dict[str, set[str]] = {}
        self._set(objects)
        self.forget()

    def forget(self) -> None:
        """Begin anew from the state that the history has led to."""
        self._steps: list[Step] = []
        self._sent: list[int] = []
        self._answered: list[int] = []
        self._versions: dict[Key, list[tuple[int, Value]]] = {}
        self.recent = [word for word in self._holders if word not in SHARED_WORDS]

    @property
    def answered(self) -> int:
        """How many changes were answered."""
        return len(self._answered)

    @property
    def sent(self) -> int:
        """How many changes were sent."""
        return len(self._steps)

    def send(self, change: Change, now: int) -> int:
        """Note that a change is sent; return the number that its answer must hold."""
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
        """Note that the first change without an answer was carried out."""
        self._answered.append(now)

    def drop_last(self) -> None:
        """Take back the last change: it was refused, or the server ended before it was carried out."""
        step = self._steps.pop()
        self._sent.pop()
        del self._answered[self.sent :]
        for key in step.touched:
            self._versions[key].pop()
        self._set(step.before)

    def value(self, key: Key) -> Value:
        """Return the answer to a key as if every change had been carried out."""
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
            the number of the last state that must be there because a read has seen it, and a sentence for each read
            that no order explains.
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
        """Take back changes until the bucket is as it was found after a restart; return whether it can be so.

        Args:
            at_least: this state was seen.
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
        """Whether the bucket was in a state between two numbers of states, these included."""
        objects = self.objects.copy()
        for number in range(self.sent, first - 1, -1):
            if number <= last and objects == found:
                return True
            if number:
                put(objects, self._steps[number - 1].before)
        return False

    def words(self) -> tuple[set[str], set[str]]:
        """Return the words that the bucket may hold, and those that it has lost since all was quiet."""
        in_doubt = (key for step in self._steps[self.answered :] for key in step.touched)
        held = {*self._holders, *(key[1] for key in in_doubt if key[0] == "QUERY")}
        return held, {key[1] for key in self._versions if key[0] == "QUERY"} - held

    def _explain(self, read: Read, floor: int) -> int | None:
        """Return the first state that explains a read, or None."""
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
        """Return what a change makes of the objects that it touches; None: they are gone."""
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
    """Replace some objects; None takes one away."""
    for oid, held in after.items():
        if held is None:
            objects.pop(oid, None)
        else:
            objects[oid] = held


def shown(value: Value) -> str:
    """Return a value for a sentence."""
    return json.dumps(value if isinstance(value, int) else sorted(value))
