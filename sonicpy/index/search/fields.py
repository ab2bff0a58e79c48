"""Fields in plans: a search in named texts alone, or named texts that add to the scores of a search in all words.

In a plan, a term of a named text is a word like others, with the name of its text in front (`store.rows.named_words`):
so a plan still names no row of any bucket, and parts of a spread bucket carry it out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice

from sonicpy._native.plan import ADDS, BRINGS, FORBIDDEN, Clause, Plan, Slot
from sonicpy._native.terms import Terms
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.plan import has_named, in_order
from sonicpy.store.rows.named_words import (
    is_named,
    is_whole,
    named_word,
    plain_word,
    split_name,
    whole_word,
    whole_words,
)
from sonicpy.text_names import DEFAULT_WEIGHT

WHOLE_SHARE = 6.0
"""The weight of a named text that equals the whole query, as a multiple of the weights of its words: such a text comes
before longer ones, even if the rest of its object is long.
"""


def with_fields(plan: Plan, terms: Terms) -> Plan:
    """Return the plan of a query, changed by the fields that the query names."""
    demands = demands_of(terms)
    if demands is None or not (demands.fields or demands.inside):
        return plan
    if demands.inside:
        plan = _looked_up_inside(plan, dict(demands.inside))
    if not demands.fields:
        return plan
    if all(weight is None for _, weight in demands.fields):
        names = [name.encode() for name, _ in demands.fields]
        return _with_clauses(plan, [*(inside_of(one, names) for one in plan.clauses), *_whole(plan, terms, names)])
    added = [
        clause
        for name, weight in demands.fields
        if (times := DEFAULT_WEIGHT if weight is None else weight)
        for clause in _added(plan, terms, name.encode(), times)
    ]
    return _with_clauses(plan, [*plan.clauses, *added])


def searched_fields(terms: Terms) -> tuple[str, ...]:
    """Return the names of the texts in which alone a query searches; (): it searches all texts."""
    demands = demands_of(terms)
    fields = () if demands is None else demands.fields
    return tuple(name for name, _ in fields) if all(weight is None for _, weight in fields) else ()


def plain_plan(plan: Plan) -> Plan:
    """Return a plan without the clauses that named texts add, and without the names of texts in the words of the other
    clauses.
    """
    if not any(map(is_named, plan.words())):
        return plan
    clauses = [
        Clause(
            clause.term,
            clause.role,
            clause.weight,
            [_slot(slot, _plain) for slot in clause.slots],
            is_expandable=clause.is_expandable,
            holders=clause.holders,
        )
        for clause in plan.clauses
        if clause.role or not is_named(clause.slots[0].words[0])
    ]
    return _with_clauses(plan, clauses)


def shown_word(word: bytes) -> bytes:
    """Return a word of a plan as it is shown to users: `title:java`, or `title:"java tools"` for a whole text."""
    if not is_named(word):
        return word
    name, own = split_name(word)
    return name + b":" + (b'"' + own[1:].replace(b"\1", b" ") + b'"' if is_whole(own) else own)


def shown_times(word: bytes, times: int) -> int:
    """Return how often an object holds a word of a plan, as it is shown to users: once, if it is a whole text."""
    return 1 if is_named(word) and is_whole(split_name(word)[1]) else times


def inside_of(clause: Clause, names: Sequence[bytes]) -> Clause:
    """Return a clause that is searched in named texts alone."""
    slots = [_slot(slot, partial(_named, names=names)) for slot in clause.slots]
    return Clause(
        clause.term, clause.role, clause.weight, slots, is_expandable=clause.is_expandable, holders=clause.holders
    )


def _looked_up_inside(plan: Plan, inside: dict[int, str]) -> Plan:
    """Return a plan in which some terms are searched in one named text alone; their clauses come last.

    Args:
        inside: number of a term -> the name of the text in which it is searched.
    """
    clauses = [
        clause
        if clause.term not in inside or has_named(clause)  # as alternatives in one clause have
        else inside_of(clause, [inside[clause.term].encode()])
        for clause in plan.clauses
    ]
    return _with_clauses(plan, clauses)


def _added(plan: Plan, terms: Terms, name: bytes, times: float) -> Iterator[Clause]:
    """Yield the clauses that a named text adds to a plan.

    Args:
        name: the name of the text.
        times: the factor of its weights.
    """
    for clause in plan.clauses:
        if not clause.role & FORBIDDEN:
            slots = [_slot(slot, partial(_named, names=[name]), times) for slot in clause.slots]
            yield Clause(clause.term, ADDS, times * clause.weight, slots)
    yield from _whole(plan, terms, [name], times)


def _whole(plan: Plan, terms: Terms, names: Sequence[bytes], times: float = 1.0) -> Iterator[Clause]:
    """Yield the clause for texts with some names that equal the whole query; its weight is multiplied by `times`."""
    whole = whole_word(whole_words(terms))
    bringing = [clause for clause in plan.clauses if clause.role & BRINGS and not clause.role & FORBIDDEN]
    weight = WHOLE_SHARE * times * sum(clause.weight for clause in bringing)
    if whole is not None and weight:
        yield Clause(bringing[0].term, ADDS, weight, [Slot(tuple(named_word(name, whole) for name in names), weight)])


def _named(words: Iterable[bytes], names: Sequence[bytes]) -> list[bytes]:
    """Return words as terms of named texts; words that are such terms already do not change."""
    words = list(words)
    if any(map(is_named, words)):
        return words
    return [named_word(name, word) for word in words for name in names]


def _plain(words: Iterable[bytes]) -> list[bytes]:
    return list(dict.fromkeys(map(plain_word, words)))


def _slot(slot: Slot, changed: Callable[[Sequence[bytes]], list[bytes]], times: float = 1.0) -> Slot:
    """Return a slot with its words changed by a function, each group of words to be held together by itself, and with
    its weights multiplied by `times`."""
    rest = iter(slot.words)
    groups = [changed(list(islice(rest, size))) for size in slot.together or (len(slot.words),)]
    sizes = tuple(map(len, groups)) if slot.together else ()
    words = tuple(chain.from_iterable(groups))
    return Slot(words, times * slot.weight, times * slot.exact_weight, slot.how, slot.edits, sizes, slot.term)


def _with_clauses(plan: Plan, clauses: list[Clause]) -> Plan:
    return Plan(
        in_order(clauses), plan.average, plan.exponent, full_first=plan.full_first, left_out=plan.left_out,
        enough=plan.enough,
    )  # fmt: skip
