"""The changes of a recorded run, which depend only on a seed, and the content of an index after each of them."""

import random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonicpy.index.index import Index

COLLECTION = "c"
SHOPS = tuple(f"shop{number}" for number in range(10))
BUCKETS = ("large", "small", *SHOPS)
WEIGHTS = (8, 1, 2, 2, 1, 1, *[0.2] * 6)
"""How often each of BUCKETS is changed: `large` and some shops grow out of a page."""
WORDS = [f"{first}{middle}{last}" for first in ("ber", "kal", "mun") for middle in ("ti", "so", "ra") for last in "xyz"]
WHOLE = "\1"
"""The first character of the term of a whole named text."""
TAGS = ("red", "blue", "green")
Holds = dict[str, dict[str, frozenset[str]]]
"""Bucket -> object -> its words, and marks: `title:word`, `#tag`, `price=3`, `^` and a vector."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change: push, upsert (the first word is a named text), tag, pop, object or bucket (flush it), backup, restore.

    Attributes:
        back_to: for a restore, the number of changes before its backup.
        tags, price, vector: of a push, an upsert or a tag; None: they stay.
    """

    kind: str
    bucket: str = ""
    oid: str = ""
    words: tuple[str, ...] = ()
    back_to: int = 0
    tags: tuple[str, ...] | None = None
    price: int | None = None
    vector: bytes | None = None

    def carry_out(self, index: Index, backups: Path) -> None:
        """Make the change in an index."""
        values = None if self.price is None else {"price": self.price}
        match self.kind:
            case "push":
                text = " ".join(self.words)
                index.push(COLLECTION, self.bucket, self.oid, text, "none", self.vector, tags=self.tags, values=values)
            case "upsert":
                texts = {"title": self.words[0], "body": " ".join(self.words[1:])}
                index.upsert(
                    COLLECTION, self.bucket, self.oid, texts, "none", self.vector, tags=self.tags, values=values
                )
            case "tag":
                index.tag(COLLECTION, self.bucket, self.oid, self.tags, values=values)
            case "pop":
                index.pop(COLLECTION, self.bucket, self.oid, " ".join(self.words))
            case "object":
                index.flush_object(COLLECTION, self.bucket, self.oid)
            case "bucket":
                index.flush_bucket(COLLECTION, self.bucket)
            case "backup":
                index.backup(backups)
            case "restore":
                index.restore(backups)

    def note(self, holds: Holds) -> None:
        """Make the change, which is not a restore, in the expected content of an index."""
        if self.kind == "backup":
            return
        objects = holds[self.bucket]
        held = objects.get(self.oid, frozenset())
        match self.kind:
            case "push":
                objects[self.oid] = self._marked(held) | {*self.words}
            case "upsert":
                parts = {f"title:{self.words[0]}", *(f"body:{word}" for word in self.words[1:])}
                objects[self.oid] = self._marked(frozenset(filter(is_mark, held))) | {*self.words} | parts
            case "tag" if held:
                objects[self.oid] = self._marked(held)
            case "pop":
                named = (f"{name}:{word}" for name in ("title", "body") for word in self.words)
                objects[self.oid] = held - {*self.words, *named}
            case "object":
                objects.pop(self.oid, None)
            case "bucket":
                objects.clear()
        if self.oid in objects and not objects[self.oid]:
            del objects[self.oid]

    def _marked(self, held: frozenset[str]) -> frozenset[str]:
        """Return the words and marks of an object after the change gave it tags, a value or a vector."""
        given = {"#": self.tags, "price=": self.price, "^": self.vector}
        signs = tuple(sign for sign, what in given.items() if what is not None)
        kept = {one for one in held if not one.startswith(signs)}
        if self.price is not None:
            kept.add(f"price={self.price}")
        if self.vector is not None:
            kept.add(f"^{b64encode(self.vector).decode()}")
        return frozenset(kept.union(f"#{tag}" for tag in self.tags or ()))


def is_mark(held: str) -> bool:
    """Return whether a text that an object holds is a mark that a new text leaves alone."""
    return held[0] in "#^" or held.startswith("price=")


def changes(seed: int, count: int) -> list[Change]:
    """Return the changes of a run."""
    dice = random.Random(seed)
    made: list[Change] = []
    oids: dict[str, list[str]] = {}
    for number in range(count):
        bucket = dice.choices(BUCKETS, WEIGHTS)[0]
        kind = dice.choices(("push", "upsert", "tag", "pop", "object", "bucket"), (75, 15, 4, 5, 4, 1))[0]
        there = oids.setdefault(bucket, [])
        if not there or (kind in ("push", "upsert") and dice.random() < 0.8):
            there.append(f"o{number}")
        oid = there[-1] if there[-1] == f"o{number}" else dice.choice(there)
        words = tuple(dice.sample(WORDS, dice.randint(1, 6)))
        if kind in ("push", "upsert"):
            words += (_name(number), *(_name(number) + 30 * letter for letter in "xyz" if bucket in SHOPS))
        kind = "object" if kind == "bucket" and bucket == "large" else kind
        made.append(Change(kind, bucket, oid, words, 0, *_given(kind, dice)))
    for share, back in ((0.3, 0), (0.5, 0), (0.6, 0.5), (0.8, 0)):
        at = int(share * count)
        made[at] = Change("restore", back_to=int(back * count)) if back else Change("backup")
    return made


def _given(kind: str, dice: random.Random) -> tuple[tuple[str, ...] | None, int | None, bytes | None]:
    """Return tags, a price and a vector for a change."""
    if kind not in ("push", "upsert", "tag"):
        return None, None, None
    some = kind == "tag" or dice.random() < 0.3
    tags = tuple(dice.sample(TAGS, dice.randint(0, 2))) if some else None
    price = dice.randint(-9, 999) if dice.random() < 0.2 else None
    vector = dice.randbytes(2) if kind != "tag" and dice.random() < 0.2 else None
    return tags, price, vector


def pictures(made: list[Change]) -> list[Holds]:
    """Return the contents of an index before the first change and after each one."""
    holds: Holds = {bucket: {} for bucket in BUCKETS}
    taken = [holds]
    for change in made:
        holds = {bucket: objects.copy() for bucket, objects in holds.items()}
        if change.kind == "restore":
            holds = taken[change.back_to]
        else:
            change.note(holds)
        taken.append(holds)
    return taken


def held(index: Index) -> Holds:
    """Return the content of an index."""
    holds: dict[str, dict[str, frozenset[str]]] = {bucket: {} for bucket in BUCKETS}
    for one in index.holdings():
        objects = holds[one.bucket]
        objects[one.object] = objects.get(one.object, frozenset()) | {*one.terms, *one.hidden, *_marks(one.fields)}
    return holds


def _marks(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the marks of an exported object."""
    yield from (f"#{tag}" for tag in fields.get("tags", ()))
    yield from (f"{name}={value}" for name, value in fields.get("values", {}).items())
    yield from (f"^{bits}" for bits in fields.get("vectors", {}).values())
    for name, pieces in fields.get("texts", {}).items():
        yield from (f"{name}:{word}" for word in pieces if word[0] != WHOLE)


def _name(number: int) -> str:
    """Return a word that only one change pushes."""
    letters = ""
    while number:
        number, letter = divmod(number, 20)
        letters += "abcdefghijklmnopqrst"[letter]
    return f"only{letters}"
