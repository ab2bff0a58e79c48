"""Scoring with dicts and lists: the judge of `Ranker`."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log2

from sonicpy._native.ranking import OBJECTS_PER_ROW

Posting = tuple[int, int]  # IID, tf


def single(number: float) -> float:
    """Return `number` rounded to 32 bits."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


def pack_length(length: int) -> int:
    """Return the byte of a length: exact below 64, then 16 steps a doubling."""
    return length if length < 64 else min(255, int(64 + log2(length / 64) * 16 + 0.5))


def unpack_length(packed: int) -> float:
    """Return the length that a byte stands for."""
    return float(packed) if packed < 64 else single(64 * 2 ** ((packed - 64) / 16))


@dataclass
class Term:
    """A term of the query: what it counts for, and the tf in each object it was noted for.

    A term that does not insert only adds to the score: no object loses anything for lacking it.
    """

    weight: float
    required: bool
    inserts: bool
    hits: dict[int, int] = field(default_factory=dict)


class Ranker:
    """The objects in the order in which they came, and the terms in theirs."""

    def __init__(self) -> None:
        self.objects: list[int] = []
        self.terms: list[Term] = []
        self.scores: dict[int, float] = {}

    def add(
        self,
        blocks: list[list[Posting]],
        dead: int,
        weight: float,
        *,
        required: bool = False,
        inserts: bool = True,
        again: bool = False,
        full: int = 0,
    ) -> bool:
        """Note one term's postings, newest first; return False once there are `full` objects."""
        if not again:
            self.terms.append(Term(weight, required, inserts))
        term = self.terms[-1]
        postings = (blocks[0][dead:] if blocks else []) + [posting for block in blocks[1:] for posting in block]
        for iid, tf in reversed(postings):
            is_new = iid not in self.objects
            if is_new and not inserts:
                continue
            if is_new:
                self.objects.append(iid)
            term.hits.setdefault(iid, tf)
            if is_new and len(self.objects) == full:
                return False
        return True

    def bm25(self, rows: Mapping[int, bytes | bytearray], average: float, k1: float, b: float) -> None:
        """BM25, times the share of the query's weight; without objects that lack a required term."""
        total = sum(term.weight for term in self.terms if term.inserts)
        for iid in self.objects:
            row, place = divmod(iid, OBJECTS_PER_ROW)
            lengths = rows.get(row, b"")
            length = unpack_length(lengths[place]) if place < len(lengths) else 0.0
            norm = single(k1 * (1 - b + b * length / average) if average > 0 else k1)
            score = matched = 0.0
            for term in self.terms:
                if iid in term.hits:
                    tf = term.hits[iid]
                    score += term.weight * tf * (k1 + 1) / (tf + norm)
                    matched += term.weight * term.inserts
            self.scores[iid] = score * (matched / total) if total > 0 else score
        needed = [term for term in self.terms if term.required]
        self.objects = [iid for iid in self.objects if all(iid in term.hits for term in needed)]

    def sonic(self, words: int) -> None:
        """Chapter 8: the sum of the scores over the number of words, all in 32 bits; then the special rule."""
        for iid in self.objects:
            total = 0.0
            for term in self.terms:
                if iid in term.hits:
                    total = single(total + single(term.weight))
            self.scores[iid] = single(total / words)
        if any(term.required for term in self.terms):
            for iid in list(self.objects):  # one by one in table order, the then last entry fills the hole
                if sum(iid in term.hits for term in self.terms) < words:
                    place = self.objects.index(iid)
                    self.objects[place] = self.objects[-1]
                    self.objects.pop()

    def newest(self) -> None:
        """Keep the objects that hold every term."""
        self.objects = [iid for iid in self.objects if all(iid in term.hits for term in self.terms)]

    def best(self, offset: int, limit: int) -> list[int]:
        """Best first, equals in table order; skip `offset`, take `limit`."""
        ranked = sorted(self.objects, key=lambda iid: -self.scores.get(iid, 0.0))
        return ranked[offset : offset + limit]
