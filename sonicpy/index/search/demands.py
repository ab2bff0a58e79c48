"""Demands: the conditions that the options of a query and its syntax put on its terms.

The terms of a query with demands are AskedTerms; those of other queries are plain Terms. A term is given by its number,
as in a plan. All values are plain data, because nodes of a cluster send them to each other as JSON.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sonicpy._native.terms import Terms

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig

Item = TypeVar("Item")

COMBINATIONS_MAX = 64
"""The most combinations that alternatives make: each takes one term, or one clause, of every alternative."""

Either = tuple[bool, tuple[tuple[int, ...], ...]]
"""(is_required, alternatives): whether an object has to hold one of the alternatives; and each alternative as the
numbers of its terms, all of which an object has to hold.
"""


class RefusedWord(NamedTuple):
    """A word that no object of the answer holds.

    Attributes:
        kind: a kind of item of web_syntax.py: WORDS, BEGUN or PART.
        has_forms: other forms of the word are refused, too.
    """

    word: str
    kind: str
    has_forms: bool = False


class PlanSettings(NamedTuple):
    """The settings of searches that a plan depends on."""

    alternates_below: int
    query_alternates_try: int


class Demands(NamedTuple):
    """The conditions of a query.

    Attributes:
        match: see the option MATCH.
        edits: the most edits of a correction; None: by the length of the word, where few objects hold it.
        required: terms that an object has to hold.
        begun: terms that represent all words that begin with them.
        inner: terms that represent all words that contain their letters.
        either: alternatives; see `Either`.
        free: terms of alternatives that the text also names alone.
        refused: words that no object may hold.
        fields: the names of texts with their weights; None: none was given.
        inside: (number, name) of the terms that are searched in one named text alone; numbers behind those of the terms
            are refused words.
        phrases: words that follow each other; and, for each phrase, whether a bucket that keeps no order is refused.
    """

    match: str = "auto"
    edits: int | None = None
    required: tuple[int, ...] = ()
    begun: tuple[int, ...] = ()
    inner: tuple[int, ...] = ()
    either: tuple[Either, ...] = ()
    free: tuple[int, ...] = ()
    refused: tuple[RefusedWord, ...] = ()
    fields: tuple[tuple[str, float | None], ...] = ()
    inside: tuple[tuple[int, str], ...] = ()
    phrases: tuple[tuple[bool, tuple[str, ...]], ...] = ()

    @property
    def has_signs(self) -> bool:
        """Whether signs in the text put demands on terms."""
        return bool(self.required or self.begun or self.inner or self.either or self.refused or self.inside)

    @property
    def is_only_match(self) -> bool:
        """Whether the query has no demands but those of `match`."""
        return self[1:] == NONE[1:]

    @property
    def are_met_by_all_words(self) -> bool:
        """Whether the objects that hold every word meet the demands, and come first."""
        return self.match != "any" and not (self.has_signs or self.fields or self.phrases)

    def settings(self, search: "SearchConfig") -> PlanSettings:
        """Return the settings of a query; if an object has to hold every word, other words replace only those that no
        object holds.
        """
        below = search.alternates_below
        return PlanSettings(min(below, 1) if self.match == "all" else below, search.query_alternates_try)

    def signed(self) -> set[int]:
        """Return the terms that an object has to hold because of signs in the text, alone or as alternatives."""
        among = (number for has_to, each in self.either if has_to for numbers in each for number in numbers)
        return {*self.required, *among}


NONE = Demands()


@cache
def demands_of_options(match: str, fuzzy: str) -> Demands:
    """Return the demands of two options of a query: see `Search`."""
    return Demands(match, None if fuzzy == "auto" else int(fuzzy))


class AskedTerms(Terms):
    """The terms of a query with demands.

    Args:
        terms: the terms.
        demands: the demands on these terms.
    """

    def __init__(self, terms: Terms, demands: Demands) -> None:
        super().__init__(terms.words, terms.counts, terms.flags, terms.typed, terms.last, terms.languages)
        self.demands = demands


def demands_of(terms: Terms) -> Demands | None:
    """Return the demands on the terms of a query; None: there are none."""
    return terms.demands if isinstance(terms, AskedTerms) else None


def asks_nothing(terms: Terms) -> bool:
    """Return whether no object can answer: the query has no terms and refuses no words."""
    return not len(terms) and not (isinstance(terms, AskedTerms) and terms.demands.refused)


def within(alternatives: Iterable[Sequence[Item]]) -> list[Sequence[Item]]:
    """Return alternatives with at most COMBINATIONS_MAX combinations of one item of each: longer ones keep their first
    items.
    """
    combinations = 1
    kept: list[Sequence[Item]] = []
    for items in alternatives:
        kept.append(items[: max(1, COMBINATIONS_MAX // combinations)])
        combinations *= max(1, len(kept[-1]))
    return kept


def unpack_demands(packed: Sequence[Any]) -> Demands:
    """Return demands from the list that JSON makes of them."""
    match, edits, required, begun, inner, either, free, refused, *more = packed
    return Demands(
        match,
        edits,
        tuple(required),
        tuple(begun),
        tuple(inner),
        tuple((has_to, tuple(map(tuple, alternatives))) for has_to, alternatives in either),
        tuple(free),
        tuple(RefusedWord(*one) for one in refused),
        *(tuple(map(tuple, pairs)) for pairs in more[:2]),
        *(tuple((is_needed, tuple(words)) for is_needed, words in phrases) for phrases in more[2:]),
    )
