"""The changes of a recorded run, which depend only on a seed, and the content of an index after each of them."""

import random
from dataclasses import dataclass
from pathlib import Path

from sonicpy.index.index import Index

COLLECTION = "c"
BUCKETS = ("large", "small")
WORDS = [f"{first}{middle}{last}" for first in ("ber", "kal", "mun") for middle in ("ti", "so", "ra") for last in "xyz"]
Holds = dict[str, dict[str, frozenset[str]]]
"""Bucket -> object -> its words."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change: push, upsert (the first word is a named text), pop, object or bucket (flush it), backup, restore.

    Attributes:
        back_to: for a restore, the number of changes before its backup.
    """

    kind: str
    bucket: str = ""
    oid: str = ""
    words: tuple[str, ...] = ()
    back_to: int = 0

    def carry_out(self, index: Index, backups: Path) -> None:
        """Make the change in an index."""
        match self.kind:
            case "push":
                index.push(COLLECTION, self.bucket, self.oid, " ".join(self.words), lang="none")
            case "upsert":
                texts = {"title": self.words[0], "body": " ".join(self.words[1:])}
                index.upsert(COLLECTION, self.bucket, self.oid, texts, lang="none")
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
        match self.kind:
            case "push":
                objects[self.oid] = objects.get(self.oid, frozenset()) | {*self.words}
            case "upsert":
                objects[self.oid] = frozenset(self.words)
            case "pop":
                objects[self.oid] = objects.get(self.oid, frozenset()) - {*self.words}
            case "object":
                objects.pop(self.oid, None)
            case "bucket":
                objects.clear()
        if self.oid in objects and not objects[self.oid]:
            del objects[self.oid]


def changes(seed: int, count: int) -> list[Change]:
    """Return the changes of a run."""
    dice = random.Random(seed)
    made: list[Change] = []
    for number in range(count):
        bucket = dice.choices(BUCKETS, (8, 1))[0]
        kind = dice.choices(("push", "upsert", "pop", "object", "bucket"), (80, 10, 5, 4, 1))[0]
        oid = f"o{number}" if kind == "push" and dice.random() < 0.8 else f"o{dice.randint(0, number)}"
        words = tuple(dice.sample(WORDS, dice.randint(1, 6)))
        if kind == "push":
            words += (_name(number),)
        made.append(Change("object" if kind == "bucket" and bucket == "large" else kind, bucket, oid, words))
    for share, back in ((0.3, 0), (0.5, 0), (0.6, 0.5), (0.8, 0)):
        at = int(share * count)
        made[at] = Change("restore", back_to=int(back * count)) if back else Change("backup")
    return made


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
        objects[one.object] = objects.get(one.object, frozenset()) | {*one.terms, *one.hidden}
    return holds


def _name(number: int) -> str:
    """Return a word that only one change pushes."""
    letters = ""
    while number:
        number, letter = divmod(number, 20)
        letters += "abcdefghijklmnopqrst"[letter]
    return f"only{letters}"
