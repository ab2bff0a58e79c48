"""Demands in plans: roles of terms, alternatives, refused words, and words that represent many."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from sonicpy._native.bm25 import idf
from sonicpy._native.clauses import set_match
from sonicpy._native.expansions import EDITED_LETTERS_MIN, corrections
from sonicpy._native.plan import BRINGS, FORBIDDEN, REQUIRED, Clause, Slot, add_expansions, add_joined
from sonicpy._native.planner import EXPANDED_WORDS, complete
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, Terms
from sonicpy.index.search.demands import Demands, Either, PlanSettings, RefusedWord, within
from sonicpy.index.search.fields import inside_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.inner import joined_words
from sonicpy.index.search.planners.rarely import Rarely
from sonicpy.index.search.statistics import Statistics
from sonicpy.index.search.web_syntax import BEGUN, WORDS
from sonicpy.index.search.web_syntax import PART as INNER

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig

CORRECTIONS_MAX = 16
"""The lowest limit of the number of corrections of a word, where FUZZY gives a number of edits."""
MANY_WORDS = 2_000
"""The most words that the items of a query with * represent together: those that most objects hold."""
INNER_SHARE = 0.8
"""The weight of a word that contains the letters of a part, as a share of the weight of the letters."""


class Edited:
    """Statistics in which corrections have at most some edits, whatever the length of the word.

    Args:
        statistics: the statistics without the limit.
        edits: the most edits.
        most: the most words of `beginnings`.
    """

    def __init__(self, statistics: Statistics, edits: int, most: int) -> None:
        self._statistics = statistics
        self._edits = edits
        self._most = most
        self.swaps = edits > 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._statistics, name)

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the words within the allowed edits, whatever `distance` is; none for a short word. Arguments as in
        `Statistics.corrections`."""
        edits = self._edits if len(word.decode()) >= EDITED_LETTERS_MIN else 0
        return self._statistics.corrections(word, edits, transpositions=transpositions, of_long=of_long)

    def beginnings(self, word: bytes, distance: int) -> list[Any]:
        """Return the words with a beginning that has at most the allowed edits; of too many, those that most objects
        hold.
        """
        found = self._statistics.beginnings(word, min(distance, self._edits))
        return found if len(found) <= self._most else sorted(found, key=lambda each: -each[1].df)[: self._most]


def limited(statistics: Statistics, edits: int, most: int = MANY_WORDS) -> Statistics:
    """Return statistics in which corrections have at most some edits; see `Edited`."""
    return cast(Statistics, Edited(statistics, edits, most))


def edited(demands: Demands | None, statistics: Statistics) -> Statistics:
    """Return statistics with the edits that the query allows."""
    return statistics if demands is None or demands.edits is None else limited(statistics, demands.edits)


class Demanded:
    """Changes the clauses of a query as its demands say.

    Args:
        statistics: the statistics of the bucket, or of several together.
        terms: the terms of the query.
        demands: the demands on the terms.
        search: the settings of the query.
        matching: leads words to their families; None: no word has a family.
        has_weights: clauses have weights; else objects have no scores, and have to hold every word.
    """

    def __init__(
        self,
        statistics: Statistics,
        terms: Terms,
        demands: Demands,
        search: "SearchConfig | PlanSettings",
        matching: Matching | None,
        *,
        has_weights: bool = True,
    ) -> None:
        self._statistics = statistics
        self._terms = terms
        self._demands = demands
        self._search = search
        self._matching = matching
        self._has_weights = has_weights
        self._match = "all" if demands.match == "auto" and not has_weights else demands.match

    def clauses(self, clauses: list[Clause], last: Clause | None) -> list[Clause]:
        """Return the clauses of a plan with the demands.

        Args:
            clauses: the clauses without the demands.
            last: the clause of the last word, which has the completions; None: there is none.
        """
        demands = self._demands
        if not demands.has_signs:
            self._correct(clauses)
            self._set_roles(clauses)
            return clauses
        made = [*clauses, *self._missing(clauses)]
        self._keep_as_typed(made, last)
        self._represent_many(made, last)
        self._correct(made)
        self._set_roles(made)
        made = self._joined(made) if demands.either else made
        number = len(self._terms)
        return [*made, *(self._refused(number + place, one) for place, one in enumerate(demands.refused))]

    @cached_property
    def _most(self) -> int:
        """The most words that an item represents."""
        demands = self._demands
        refused = sum(one.kind != WORDS for one in demands.refused)
        return MANY_WORDS // max(1, len(demands.begun) + len(demands.inner) + refused)

    @cached_property
    def _unedited(self) -> Statistics:
        return limited(self._statistics, 0, self._most)

    def _missing(self, clauses: list[Clause]) -> Iterator[Clause]:
        """Yield clauses for the terms that the plan left out although signs ask for them."""
        demands, known = self._demands, {clause.term for clause in clauses}
        among = (number for _, alternatives in demands.either for numbers in alternatives for number in numbers)
        for number in dict.fromkeys((*demands.required, *demands.begun, *demands.inner, *among)):
            if number not in known:
                weight = self._weight([self._terms.words[number]])
                yield Clause(number, BRINGS, weight, [Slot((self._terms.words[number],), weight)])

    def _weight(self, words: list[bytes]) -> float:
        """Return the weight of some words together, as if they were one word."""
        if not self._has_weights:
            return 0.0
        objects = self._statistics.objects
        return idf(objects, min(sum(row.df for _, row in self._statistics.held(words)), objects))

    def _keep_as_typed(self, clauses: list[Clause], last: Clause | None) -> None:
        """Remove completions and corrections from the terms that signs require, except from the word that is being
        typed, and except corrections that FUZZY asks for. The words of phrases keep their compounds.
        """
        signed = self._demands.signed()
        looked_for = {*self._demands.begun, *self._demands.inner}
        kept = {"exact", "form", "correction" if self._demands.edits else "exact"}
        for clause in clauses:
            if clause.term not in signed or not _is_typed(clause):
                continue
            if last is not None and clause.term == last.term:  # another clause may represent the last word
                clause.slots[:] = [slot for slot in clause.slots if slot.how != "synonym"]
            else:
                clause.slots[:] = [slot for slot in clause.slots if slot.how in kept]
                if clause.term not in looked_for:
                    self._add_joined(clause)

    def _add_joined(self, clause: Clause) -> None:
        """Add the compounds that have the word of a clause as a part."""
        number = clause.term
        words = joined_words(self._statistics, self._terms.words[number], self._terms.flags[number], self._matching)
        if words:
            add_joined(clause, words, dict(self._statistics.held(words)), self._statistics.objects)

    # -- words that represent many ---------------------------------------------------------------------------------

    def _represent_many(self, clauses: list[Clause], last: Clause | None) -> None:
        begun, inner = set(self._demands.begun), set(self._demands.inner)
        for clause in clauses:
            if not _is_typed(clause):
                continue
            if clause.term in begun and clause is not last:
                complete(self._unedited, clause, [clause], self._search, Rarely)
            elif clause.term in inner:
                self._add_holding(clause)

    def _add_holding(self, clause: Clause) -> None:
        """Add the words that contain the letters of a clause."""
        taken = {word for slot in clause.slots for word in slot.words}
        found = self._holding(clause.slots[0].words[0])
        words = tuple(word for word, _ in found if word not in taken)
        if words:
            holders = min(sum(row.df for _, row in found), self._statistics.objects)
            weight = INNER_SHARE * min(clause.weight, idf(self._statistics.objects, holders))
            clause.slots.insert(1, Slot(words, weight, how="completion"))

    def _holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that contain some letters: those that most objects hold."""
        found = self._statistics.holding(letters)
        return found if len(found) <= self._most else sorted(found, key=lambda each: -each[1].df)[: self._most]

    def _correct(self, clauses: list[Clause]) -> None:
        """Add the corrections that FUZZY asks for, also of words that many objects hold."""
        if not self._demands.edits:
            return
        most = max(self._search.query_alternates_try, CORRECTIONS_MAX)
        words = [one for one in clauses if one.role & BRINGS and _is_typed(one)]
        for clause in words[:EXPANDED_WORDS]:
            if not self._terms.flags[clause.term] & (SPECIAL | PART):
                taken = {word for slot in clause.slots for word in slot.words}
                found = corrections(self._statistics, clause.slots[0].words[0], most, taken)
                add_expansions(clause, found, self._statistics.objects)

    # -- roles -----------------------------------------------------------------------------------------------------

    def _set_roles(self, clauses: list[Clause]) -> None:
        required, inner = set(self._demands.required), set(self._demands.inner)
        signed = {*required, *self._demands.begun, *inner}
        typed = [clause for clause in clauses if clause.term in signed and _is_typed(clause)]
        for clause in typed:
            clause.role |= BRINGS
        set_match(clauses, self._terms, self._match, Rarely)
        for clause in typed:
            if clause.term in required:
                clause.role |= REQUIRED
            elif clause.term in inner and self._match != "all":
                clause.role &= ~REQUIRED

    # -- alternatives ----------------------------------------------------------------------------------------------

    def _joined(self, clauses: list[Clause]) -> list[Clause]:
        """Return clauses in which those of alternatives are joined: one alternative is enough."""
        kept = {*self._demands.free, *self._demands.required}
        among = {number for _, each in self._demands.either for numbers in each for number in numbers}
        inside = dict(self._demands.inside)
        typed = [_in_field(one, inside.get(one.term)) for one in clauses if _is_typed(one)]
        joined = [one for either in self._demands.either for one in self._alternatives(typed, either)]
        others = (one for one in clauses if one.term in kept or one.term not in among or not _is_typed(one))
        return [*joined, *others]

    def _alternatives(self, clauses: list[Clause], either: Either) -> Iterator[Clause]:
        """Yield a clause for each way to take one word of every alternative, out of the clauses of typed words."""
        has_to, alternatives = either
        # A joined word has a clause for each of its pieces: the limit of the terms is not enough.
        lists = within([one for one in clauses if one.term in numbers] for numbers in alternatives)
        ways = list(product(*lists))
        shares = {id(one): len(some) / len(ways) for some in lists for one in some}
        for way in ways:
            is_needed = has_to or all(one.role & REQUIRED for one in way)
            yield _one_of(way, BRINGS | (REQUIRED if is_needed else 0), [shares[id(one)] for one in way])

    # -- refused words ---------------------------------------------------------------------------------------------

    def _refused(self, number: int, refused: RefusedWord) -> Clause:
        """Return the clause of a refused word, with `number` as the number of its term."""
        word = refused.word.encode()
        forms: tuple[bytes, ...] = ()
        if refused.has_forms and self._matching is not None:
            forms = self._statistics.family(word, self._matching).words
        slots = [Slot((word, *forms), 0.0)]
        more = tuple(each for each in self._many(word, refused.kind) if each != word)
        role = FORBIDDEN if len(self._terms) else FORBIDDEN | BRINGS  # else nothing would bring objects
        return Clause(number, role, 0.0, [*slots, *([Slot(more, 0.0, how="completion")] if more else [])])

    def _many(self, word: bytes, kind: str) -> list[bytes]:
        """Return the words that a refused word represents.

        Args:
            kind: BEGUN: words that begin with `word`; INNER: words that contain it; any other kind: none.
        """
        if kind == BEGUN:
            return [each for each, _, _ in self._unedited.beginnings(word, 0)]
        return [each for each, _ in self._holding(word)] if kind == INNER else []


def _is_typed(clause: Clause) -> bool:
    """Return whether a clause represents its own term, not one that only adds to the scores of other words."""
    return not clause.role & FORBIDDEN and clause.slots[0].how == "exact"


def _in_field(clause: Clause, name: str | None) -> Clause:
    """Return the clause of an alternative, searched in the text with a name alone; None: as it is."""
    return clause if name is None else inside_of(clause, [name.encode()])


def _one_of(clauses: Sequence[Clause], role: int, shares: Sequence[float]) -> Clause:
    """Return several clauses as one: an object counts by the first slot that it holds, words as typed first.

    Args:
        role: the role of the new clause.
        shares: the share of each clause's weight that the new clause takes; other clauses have the rest.
    """
    first = clauses[0]
    slots = [_shared(first.slots[0], shares[0], first.term)]
    for place, (clause, share) in enumerate(zip(clauses, shares, strict=True)):
        for slot in clause.slots[place == 0 :]:
            slots.append(_shared(slot, share, clause.term, is_first=slot.how != "exact"))
    slots[1:] = [*(one for one in slots[1:] if one.how == "exact"), *(one for one in slots[1:] if one.how != "exact")]
    weight = max(share * clause.weight for clause, share in zip(clauses, shares, strict=True))
    return Clause(
        first.term,
        role,
        weight,
        slots,
        is_expandable=any(clause.is_expandable for clause in clauses),
        holders=max(clause.holders for clause in clauses),
    )


def _shared(slot: Slot, share: float, term: int, *, is_first: bool = True) -> Slot:
    """Return a slot of a term with a share of its weight. If `is_first` is False, all words get one weight, as in a
    slot of exact words behind the first."""
    if is_first:
        weight, exact_weight = share * slot.weight, share * slot.exact_weight
        return Slot(slot.words, weight, exact_weight, slot.how, slot.edits, slot.together, term)
    return Slot(slot.words, share * (slot.weight + slot.exact_weight), together=slot.together, term=term)
