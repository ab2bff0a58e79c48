"""The content of a store in dicts and lists: the reference implementation of `Store.apply`.

A bucket keeps two pictures. `objects` holds the words of each object, with the largest term frequency of its pushes and
whether all of them gave the word as a stop word or a part of a run without blanks (hidden). `lists` holds the objects
of each word, oldest association first. Both are complete: only objects that lose a word leave its list.
"""

import copy
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from sonicpy._native.records import unpack_terms
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy.store.changing.mutations import (
    ChangeFields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    Mutation,
    PopTerms,
    PushTerms,
)
from sonicpy.store.fields.field import FieldMode

SHOWN_BYTES = 40
"""The number of bytes above which words are neither listed nor counted."""


class ExportedObject(NamedTuple):
    """The occurrence of a word in an object: its frequency, and whether it is hidden."""

    tf: int
    hidden: bool


@dataclass
class Bucket:
    """One bucket: object -> word -> holding, and word -> objects. Objects are in the order of their first push."""

    by_association: bool = False
    objects: dict[str, dict[bytes, ExportedObject]] = field(default_factory=dict)
    lists: dict[bytes, list[str]] = field(default_factory=dict)

    def push(self, oid: str, terms: Terms) -> None:
        held = self.objects.setdefault(oid, {})
        for word, count, flags in zip(terms.words, terms.counts, terms.flags, strict=True):
            tf, hidden = max(count, 1), bool(flags & (STOP | PART))
            if word in held:
                held[word] = ExportedObject(max(tf, held[word].tf), hidden and held[word].hidden)
            else:
                held[word] = ExportedObject(tf, hidden)
                self.lists.setdefault(word, []).append(oid)

    def replace(self, oid: str, terms: Terms) -> None:
        """Remove each word from an object that a PUSH cannot correct, then push; the object keeps its place."""
        fresh = Bucket()
        fresh.push(oid, terms)
        held, wanted = self.objects.get(oid, {}), fresh.objects[oid]
        for word in [*held]:
            new = wanted.get(word)
            if new is None or new.tf < held[word].tf or new.hidden > held[word].hidden:
                del held[word]
                self.lists[word].remove(oid)
                if not self.lists[word]:
                    del self.lists[word]
        self.push(oid, terms)

    def pop(self, oid: str, words: list[bytes]) -> int:
        if oid not in self.objects:
            return 0
        held = self.objects[oid]
        if self.by_association and not held:
            return 0  # as in Sonic: POP leaves an object alone that never held a word
        gone = {word: held.pop(word) for word in words if word in held}
        for word in gone:
            self.lists[word].remove(oid)
            if not self.lists[word]:
                del self.lists[word]
        if not held:
            del self.objects[oid]
        return sum(not holding.hidden for holding in gone.values())

    def flush_object(self, oid: str) -> int:
        words = self.pop(oid, list(self.objects.get(oid, {})))
        self.objects.pop(oid, None)
        return words

    def live_words(self) -> set[bytes]:
        """Return the words that are listed and counted: short enough, and held by an object as a word of its own."""
        ordinary = {word for held in self.objects.values() for word, holding in held.items() if not holding.hidden}
        return {word for word in ordinary if len(word) <= SHOWN_BYTES}

    def newest_first(self, oids: list[str]) -> list[str]:
        """Return the objects of a list, given with the oldest association first, in the order in which a store shows
        them.
        """
        if self.by_association:
            return oids[::-1]
        place = {oid: number for number, oid in enumerate(self.objects)}
        return sorted(oids, key=place.__getitem__, reverse=True)

    def picture(self) -> dict[str, object]:
        """Return all answers of a reader of the bucket."""
        held = [(word, holding) for words in self.objects.values() for word, holding in words.items()]
        return {
            "objects": self.objects,
            "found": {word: self.newest_first(oids) for word, oids in self.lists.items()},
            "df": Counter(word for word, _ in held),
            "hidden df": Counter(word for word, holding in held if holding.hidden),
            "live": self.live_words(),
            "lengths": {oid: sum(holding.tf for holding in held.values()) for oid, held in self.objects.items()},
        }


class Model:
    """All buckets by (collection, bucket).

    Args:
        by_association: whether lists are in the order of association, instead of that of the objects.
    """

    def __init__(self, by_association: bool = False) -> None:
        self.by_association = by_association
        self.buckets: dict[tuple[str, str], Bucket] = {}
        self.emptied: set[str] = set()
        """Collections that have had buckets and were not flushed since then; they still exist."""

    def _has(self, collection: str) -> bool:
        return collection in self.emptied or any(scope[0] == collection for scope in self.buckets)

    def apply(self, mutation: Mutation) -> int:
        """Change the model as `Store.apply` changes a store; return the result for the client."""
        match mutation:
            case PushTerms(collection, bucket, oid, terms, _):
                self.buckets.setdefault((collection, bucket), Bucket(self.by_association)).push(oid, terms)
                return 0
            case PopTerms(collection, bucket, oid, terms):
                return self.buckets.get((collection, bucket), Bucket()).pop(oid, terms.words)
            case FlushObject(collection, bucket, oid):
                return self.buckets.get((collection, bucket), Bucket()).flush_object(oid)
            case FlushBucket(collection, bucket):
                is_there_for_sonic = self.by_association and self._has(collection)
                was_there = self.buckets.pop((collection, bucket), None) is not None
                if was_there:
                    self.emptied.add(collection)
                return int(was_there or is_there_for_sonic)
            case FlushCollection(collection):
                scopes = [scope for scope in self.buckets if scope[0] == collection]
                was_there = self._has(collection)
                for scope in scopes:
                    del self.buckets[scope]
                self.emptied.discard(collection)
                return int(was_there)
            case ChangeFields(collection, bucket, oid, mode, ((_, packed),)):  # of terms alone
                held = self.buckets.setdefault((collection, bucket), Bucket(self.by_association))
                (held.replace if mode == FieldMode.REPLACE else held.push)(oid, unpack_terms(packed))
                return 0
            case _:
                raise NotImplementedError(mutation)

    def copy(self) -> "Model":
        """Return a copy of the model, which further changes do not affect."""
        return copy.deepcopy(self)
