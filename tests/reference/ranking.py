"""Scoring with dicts and lists: the judge of `Ranker` and `SonicTable`."""

import struct
from dataclasses import dataclass, field
from math import log2

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


FULL, EXACT, COMPLETED, CORRECTED = range(4)


@dataclass
class Term:
    """A term of the query: what it counts for, and the (tf, weight, kind, call) of each posting of it or an expansion.

    A term that does not insert only adds to the score: no object loses anything for lacking it. An expansion always
    brings its objects, but does not replace a required term.
    """

    weight: float
    required: bool
    inserts: bool
    hits: dict[int, tuple[int, float, int, int]] = field(default_factory=dict)


def newest_first(blocks: list[list[Posting]], dead: int) -> list[Posting]:
    """Return the postings of a list that are not dead, newest first."""
    return [posting for number, block in enumerate(blocks) for posting in block[dead if number == 0 else 0 :]][::-1]


class Ranker:
    """The objects in the order in which they came, and the terms in theirs."""

    def __init__(self) -> None:
        self.objects: list[int] = []
        self.kinds: dict[int, int] = {}
        self.terms: list[Term] = []
        self.scores: dict[int, float] = {}
        self.parts: dict[int, list[tuple[int, int, float]]] = {}
        self.calls = 0

    def add(
        self,
        blocks: list[list[Posting]],
        dead: int,
        weight: float,
        *,
        required: bool = False,
        inserts: bool = True,
    ) -> None:
        """Add one term's postings, newest first."""
        self.terms.append(Term(weight, required, inserts))
        self._note(newest_first(blocks, dead), weight, EXACT)

    def add_expansion(self, blocks: list[list[Posting]], dead: int, weight: float, completed: bool) -> None:
        """Add the postings of an expansion of the last term."""
        self._note(newest_first(blocks, dead), weight, COMPLETED if completed else CORRECTED)

    def _note(self, postings: list[Posting], weight: float, kind: int) -> None:
        term = self.terms[-1]
        call, self.calls = self.calls, self.calls + 1
        for iid, tf in postings:
            if iid not in self.objects:
                if kind == EXACT and not term.inserts:
                    continue
                self.objects.append(iid)
            if iid not in term.hits:
                term.hits[iid] = (tf, weight, kind, call)
                if kind != EXACT or term.inserts:
                    self.kinds[iid] = min(kind, self.kinds.get(iid, kind))

    def bm25(self, lengths: bytes, average: float, k1: float, b: float) -> None:
        """BM25, times the share of the query's weight, all of it first; without objects that lack a required term."""
        total = sum(term.weight for term in self.terms if term.inserts)
        for iid in self.objects:
            length = unpack_length(lengths[iid]) if iid < len(lengths) else 0.0
            norm = k1 * (1 - b + b * length / average) if average > 0 else k1
            score = matched = 0.0
            parts = []
            for term in self.terms:
                if iid in term.hits:
                    tf, weight, kind, call = term.hits[iid]
                    parts.append((call, tf, weight * tf * (k1 + 1) / (tf + norm)))
                    score += weight * tf * (k1 + 1) / (tf + norm)
                    matched += weight * (term.inserts or kind != EXACT)
            if total > 0 and matched == total:
                self.kinds[iid] = FULL
            share = matched / total if total > 0 else 1.0
            self.scores[iid] = score * share
            self.parts[iid] = [(call, tf, part * share) for call, tf, part in parts]
        needed = [term for term in self.terms if term.required]
        self.objects = [
            iid for iid in self.objects if all(iid in term.hits and term.hits[iid][2] == EXACT for term in needed)
        ]

    def newest(self) -> None:
        """Keep the objects that hold every term or an expansion of it, in table order."""
        self.kinds = dict.fromkeys(self.objects, EXACT)
        self.objects = [iid for iid in self.objects if all(iid in term.hits for term in self.terms)]

    def best(self, offset: int, limit: int) -> list[int]:
        """By kind, then best first, equals in table order; skip `offset`, take `limit`."""
        ranked = sorted(self.objects, key=lambda iid: (self.kinds[iid], -self.scores.get(iid, 0.0)))
        return ranked[offset : offset + limit]

    def scored(self) -> list[tuple[int, float]]:
        """Return the kind and the score of every object, in the order of `best`."""
        return [(self.kinds[iid], self.scores.get(iid, 0.0)) for iid in self.best(0, len(self.objects))]


class SonicTable:
    """Sonic's table: object -> word -> score, in insertion order."""

    def __init__(self, words: int, full: int) -> None:
        self.words = words
        self.full = full
        self.held: dict[int, dict[int, float]] = {}
        self.ranked: list[tuple[float, int]] = []

    def visit(self, word: int, blocks: list[list[Posting]], dead: int, score: float, budget: int) -> tuple[int, bool]:
        """Set(object, word, score) for the newest `budget` objects; an insertion into a full table ends it."""
        visits = 0
        for iid, _ in newest_first(blocks, dead):
            if visits == budget:
                return visits, False
            visits += 1
            is_new = iid not in self.held
            scores = self.held.setdefault(iid, {})
            scores[word] = min(scores.get(word, single(score)), single(score))
            if is_new and self.full and len(self.held) >= self.full:
                return visits, True
        return visits, False

    def finish(self, all_words: bool) -> None:
        """The mean of the scores in 32 bits; then the special rule, one by one, the last entry filling the hole."""
        table = list(self.held)
        if all_words:
            for iid in list(table):
                if len(self.held[iid]) < self.words:
                    place = table.index(iid)
                    table[place] = table[-1]
                    table.pop()
        for iid in table:
            total = 0.0
            for word in sorted(self.held[iid]):
                total = single(total + self.held[iid][word])
            self.ranked.append((single(total / self.words), iid))

    def best(self, offset: int, limit: int) -> list[int]:
        """Best first, equals in table order."""
        ranked = sorted(self.ranked, key=lambda pair: -pair[0])
        return [iid for _, iid in ranked[offset : offset + limit]]

    def scored(self) -> list[tuple[int, float]]:
        """Return the kind, which is always the same, and the score of every object, in the order of `best`."""
        return [(EXACT, score) for score, _ in sorted(self.ranked, key=lambda pair: -pair[0])]
