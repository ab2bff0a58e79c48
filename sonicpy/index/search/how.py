"""The words by which an object answers, and the text that a query may have meant."""

import re
from collections.abc import Iterable

from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import FORBIDDEN, Clause, Plan
from sonicpy._native.terms import Terms
from sonicpy.api.held_word import HeldWord
from sonicpy.index.search.begun_words import begins_so
from sonicpy.index.search.fields import plain_plan
from sonicpy.index.search.parts import Word, words_of
from sonicpy.index.search.plan import alternatives_of
from sonicpy.index.search.statistics import Statistics
from sonicpy.store.rows.named_words import is_whole, plain_word

WORDS_SHOWN = 100
"""The most words of an object that are named: those that add most to its score."""


class HowFound:
    """Names the words by which objects answer.

    Args:
        plan: the plan of the query.
        terms: the terms of the query.
    """

    def __init__(self, plan: Plan, terms: Terms) -> None:
        self._words = words_of(plan)
        self._typed = terms.words
        self._asked = {word: number for number, word in enumerate(terms.words)}
        clauses = (one for clause in plan.clauses for one in alternatives_of(clause))
        self._clauses = {id(slot): clause for clause in clauses for slot in clause.slots}

    def of(self, numbers: Iterable[int]) -> tuple[HeldWord, ...]:
        """Return the words of an object in the order of the query.

        Args:
            numbers: the numbers of the words of the plan that the object holds.
        """
        words = (self._words[number] for number in sorted(numbers))
        found = dict.fromkeys(self._held(one) for one in words if not is_whole(plain_word(one.word)))
        return tuple(sorted(found, key=lambda held: self._asked[held.typed.encode()]))

    def _held(self, one: Word) -> HeldWord:
        typed = self.typed(one)
        plain = one._replace(word=plain_word(one.word))
        how = _how(plain, typed)
        if how == "form" and typed in plain.word and one.slot is not self._clauses[id(one.slot)].slots[0]:
            how = "part"  # of a word that several words of the query make together
        return HeldWord(how, typed.decode(), plain.word.decode())

    def typed(self, one: Word) -> bytes:
        """Return the word of the query that a word of the plan represents; a clause of alternatives has several."""
        clause, word = self._clauses[id(one.slot)], plain_word(one.word)
        if 0 <= one.slot.term < len(self._typed):
            return self._typed[one.slot.term]
        first, own = plain_word(clause.slots[0].words[0]), plain_word(one.slot.words[0])
        if first not in self._asked and clause.term < len(self._typed):
            first = self._typed[clause.term]  # the clause has only words that begin with a run without blanks
        if one.slot.how == "exact" and own in self._asked:
            return own
        firsts = [plain_word(slot.words[0]) for slot in clause.slots[1:] if slot.how == "exact"]
        among = [each for each in firsts if each in self._asked]
        return max((first, *among), key=lambda each: _common_letters(each, word)) if among else first


def _how(one: Word, typed: bytes) -> str:
    """Return the relation of a word to the typed one; see `HeldWord`."""
    if one.word == typed:
        return "word"
    if one.slot.how != "completion":
        return "form" if one.slot.how == "exact" else one.slot.how
    return "completion" if begins_so(one.word, typed) and typed not in tokens_of(one.word)[:-1] else "part"


def _common_letters(one: bytes, other: bytes) -> int:
    """Return how many bytes two words begin with together."""
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def corrected_text(text: str, plan: Plan, statistics: Statistics) -> str | None:
    """Return the text of a query in which every word without objects, even for its forms, has its likeliest correction;
    None: there are no such words, or no corrections.
    """
    plan = plain_plan(plan)
    clauses = [one for clause in plan.clauses for one in alternatives_of(clause)]
    likeliest = {clause.slots[0].words[0]: word for clause in clauses if (word := _correction(clause)) is not None}
    if not likeliest:
        return None
    held = {word for word, _ in statistics.held(_exact_words(plan))}
    better = text
    for clause in clauses:
        typed = clause.slots[0].words[0]
        if typed in likeliest and held.isdisjoint(_exact(clause)):
            better = _replaced(better, typed.decode(), likeliest[typed].decode())
    return None if better == text else better


def _replaced(text: str, word: str, by: str) -> str:
    """Return a text with a word replaced by `by`, in capital or small letters."""
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: by, text, flags=re.IGNORECASE)


def _correction(clause: Clause) -> bytes | None:
    """Return the best word of a clause if it is a correction, neither a completion nor a form; else None."""
    if clause.role & FORBIDDEN:
        return None
    others = [slot for slot in clause.slots if slot.how != "exact"]
    return others[0].words[0] if others and others[0].how == "correction" and others[0].edits else None


def _exact(clause: Clause) -> list[bytes]:
    return [word for slot in clause.slots if slot.how == "exact" for word in slot.words]


def _exact_words(plan: Plan) -> list[bytes]:
    return [word for clause in plan.clauses for word in _exact(clause)]
