"""The best objects of a query, by a check of every posting: the reference implementation of sonicpy._native.find."""

from dataclasses import dataclass, field

from sonicpy._native.lengths import unpack_length
from sonicpy._native.plan import BRINGS, FORBIDDEN, REQUIRED

EXACT = 1


@dataclass
class Slot:
    """Words that represent a term with one weight; `lists` are their postings as {IID: tf}."""

    lists: list[dict[int, int]]
    weight: float
    exact_weight: float = 0.0
    kind: int = EXACT


@dataclass
class Term:
    weight: float
    role: int = BRINGS
    slots: list[Slot] = field(default_factory=list)

    def slot_of(self, iid: int) -> Slot | None:
        """Return the first slot with a word that an object holds; None: it holds none of the words."""
        return next((slot for slot in self.slots if any(iid in words for words in slot.lists)), None)


def answers(terms: list[Term], held: list[Slot | None]) -> bool:
    """Return whether an object holds a term that brings objects, all required terms, and no forbidden one.

    Args:
        held: the slot of each term, or None if the object holds no slot of it.
    """
    brings = False
    for term, slot in zip(terms, held, strict=True):
        if slot is None and term.role & REQUIRED or slot is not None and term.role & FORBIDDEN:
            return False
        brings |= slot is not None and term.role & BRINGS != 0
    return brings


def best_objects(
    terms: list[Term], lengths: bytes, average: float, k1: float, b: float, exponent: float, full_first: bool
) -> list[tuple[int, int, float]]:
    """Return (IID, kind, score) of every object that answers, best first."""
    found = []
    total = 0.0
    for term in terms:
        total += term.weight if term.role & BRINGS else 0.0
    holders = {iid for term in terms for slot in term.slots for words in slot.lists for iid in words}
    for iid in holders:
        held = [term.slot_of(iid) for term in terms]
        if not answers(terms, held):
            continue
        norm = k1 * (1.0 - b + b * unpack_length(lengths[iid]) / average) if average > 0 else k1
        score, matched, kind, is_full = 0.0, 0.0, 3, True
        for term, slot in zip(terms, held, strict=True):
            if slot is None:
                is_full &= not term.role & BRINGS
                continue
            part = bm25(slot.weight, sum(words.get(iid, 0) for words in slot.lists), norm, k1)
            if slot.exact_weight and iid in slot.lists[0]:
                part += bm25(slot.exact_weight, slot.lists[0][iid], norm, k1)
            score += part
            if term.role & BRINGS:
                matched += term.weight if slot.kind == EXACT else slot.weight + slot.exact_weight
                kind = min(kind, slot.kind)
                is_full &= slot.kind == EXACT
        if total > 0:
            if is_full and full_first:
                kind = 0
            else:
                score *= (matched / total) ** exponent
        found.append((iid, kind, score))
    return sorted(found, key=lambda hit: (hit[1], -hit[2], -hit[0]))


def bm25(weight: float, tf: int, norm: float, k1: float) -> float:
    return weight * tf * (k1 + 1.0) / (tf + norm)
