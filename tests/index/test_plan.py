"""The plan of a query: the words that it looks for, their order, and their roles."""

import json
import random
from pathlib import Path

import pytest

import sonicpy
from sonicpy import Config
from sonicpy._native.bm25 import BM25_K1, idf
from sonicpy._native.plan import ADDS, BRINGS, FORBIDDEN, REQUIRED, Clause, Plan, Slot, plan_terms
from sonicpy._native.terms import SPECIAL, STOP, Terms
from sonicpy.index.search.parts import Part, find_by_plan
from sonicpy.index.search.plan import (
    ENOUGH_FOUND,
    STOP_IS_EXACT,
    TABLE_FULL,
    TOO_MANY_WORDS,
    of_plain,
    to_plain,
    why_not_expanded,
)
from sonicpy.index.search.query import query
from sonicpy.index.search.ranking import PLANNERS, carry_out
from sonicpy.search import Search

C, B = "collection", "bucket"


def planned(index: sonicpy.Index, terms: Terms) -> Plan:
    with index.engine.read_words(C, B) as lexicon:
        assert lexicon is not None
        return carry_out(lexicon, terms, index.config, None, 10)[0]


def terms_of(**flags: int) -> Terms:
    return Terms([word.encode() for word in flags], b"\1" * len(flags), bytes(flags.values()))


@pytest.mark.parametrize("total", [False, True])
def test_one_call_plans_and_finds_as_the_steps_do(tmp_path: Path, total: bool) -> None:
    chance, words = random.Random(9), "weather sunny sun the report reports of rain raining iphone 15 caf\u00e9".split()
    with sonicpy.open(tmp_path) as index:
        for number in range(300):
            index.push(C, B, f"o{number}", " ".join(chance.choices(words, k=chance.randint(1, 6))))
        with index.engine.read_words(C, B) as lexicon:
            assert lexicon is not None
            for _ in range(60):
                text = " ".join(chance.choices([*words, "wether", "su", "repo", "cafe"], k=chance.randint(1, 3)))
                terms, matching = index._query_terms(Search(C, B, text, 10, 0, None), index.engine.lexer)
                plan, part = carry_out(lexicon, terms, index.config, matching, 10, total=total)
                assert isinstance(part, Part)
                settings, resolved = index.config.search, None if matching is None else lexicon.resolved(matching)
                whole = PLANNERS["bm25"](lexicon, terms, settings, resolved)
                every = find_by_plan(whole, lexicon.reader, 10, index.config.store.kv.retain_word_objects, total=total)
                assert (part.found, part.total) == (every.found, every.total)
                if total:
                    assert to_plain(plan) == to_plain(whole)
                assert (
                    query(lexicon, terms, index.config, Search(C, B, text, 10, 0, None), matching)
                    == part.page(0, 10)[0]
                )


def test_words_come_first_each_with_its_expansions(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "one", "the weather", "eng")
        index.push(C, B, "two", "weathering", "eng")
        plan = planned(index, terms_of(the=STOP, weather=0))
        assert [(one.term, one.role, [(slot.words, slot.how) for slot in one.slots]) for one in plan.clauses] == [
            (1, BRINGS, [((b"weather",), "exact"), ((b"weathering",), "completion")]),
            (0, ADDS, [((b"the",), "exact")]),
        ]
        weather, the = plan.clauses
        assert weather.weight == idf(2, 1) == weather.slots[0].weight > weather.slots[1].weight > 0
        assert [weather.is_expandable, the.is_expandable] == [True, False]
        assert plan.ceiling == (weather.weight + the.weight) * (BM25_K1 + 1)
        assert plan.words() == [b"weather", b"weathering", b"the"]


def test_stop_words_bring_objects_where_words_bring_none(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "one", "the weather", "eng")
        assert all(one.role == BRINGS for one in planned(index, terms_of(the=STOP, quince=0)).clauses)
        assert all(one.role == BRINGS for one in planned(index, terms_of(the=STOP)).clauses)


def test_why_a_word_is_not_expanded(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "one", Config.model_validate({"search": {"alternates_below": 1}})) as index:
        index.push(C, B, "one", "the weather", "eng")
        plan = planned(index, terms_of(the=STOP, weather=0))
        weather, the = plan.clauses
        assert why_not_expanded(plan, weather, 0, 1) == ENOUGH_FOUND
        assert why_not_expanded(plan, weather, 0, 0) == TOO_MANY_WORDS
        assert why_not_expanded(plan, the, STOP, 1) == STOP_IS_EXACT
    with sonicpy.open(tmp_path / "ten") as index:
        index.push(C, B, "one", "the weather", "eng")
        expandable = planned(index, terms_of(weather=0)).clauses[0]
        assert why_not_expanded(plan, expandable, 0, 1) is None


def test_special_words_are_required_except_in_a_sentence() -> None:
    few = terms_of(ab12=SPECIAL, weather=0)
    many = terms_of(ab12=SPECIAL, **{f"word{number}": 0 for number in range(5)})
    for terms, required in ((few, BRINGS | REQUIRED), (many, BRINGS)):
        clauses = plan_terms(terms, [None] * len(terms), 10, 10, 16)
        assert [one.role for one in clauses] == [required, *[BRINGS] * (len(terms) - 1)]


def test_what_sonic_has_no_room_for_is_left_out(tmp_path: Path) -> None:
    config = Config.model_validate({"server": {"compat": "sonic"}, "store": {"kv": {"retain_word_objects": 2}}})
    with sonicpy.open(tmp_path, config) as index:
        for number in range(3):
            index.push(C, B, f"object:{number}", "weather")
        plan = planned(index, terms_of(weather=0, quince=0))
        assert plan.left_out == {1: TABLE_FULL} and plan.words() == [b"weather"]


def test_terms_and_rows_have_to_match() -> None:
    with pytest.raises(ValueError, match="1 terms need as many rows, not 0"):
        plan_terms(terms_of(weather=0), [], 1, 10, 16)


def test_a_slot_has_words_and_says_how_they_were_found() -> None:
    for words, how in (((), "exact"), ((b"word",), "whole"), ((b"word",), "tag")):
        with pytest.raises(ValueError, match=f"a slot of {len(words)} words is '{how}'"):
            Slot(words, 1.0, how=how)


def facts(plan: Plan) -> object:
    clauses = [
        (
            one.term,
            one.role,
            one.weight,
            [(s.words, s.weight, s.exact_weight, s.how, s.edits, s.together) for s in one.slots],
        )
        for one in plan.clauses
    ]
    return clauses, plan.average, plan.exponent, plan.full_first, plan.ceiling


@pytest.mark.parametrize("seed", range(30))
def test_a_plan_comes_through_json(seed: int) -> None:
    chance = random.Random(seed)
    clauses: list[Clause] = []
    for term in range(chance.randint(0, 6)):
        weight = chance.choice((0.0, 1.5, 0.1 + 0.2))
        forms = chance.choice((0, 0, 2))
        words = tuple(f"w{term}-{number}é".encode() for number in range(1 + forms))
        shared, exact = (weight * 0.75, chance.choice((0.0, weight / 3))) if forms else (weight, 0.0)
        slots = [Slot(words, shared, exact)]
        for how in chance.sample(("completion", "correction"), chance.randint(0, 2)):
            slots.append(Slot((how.encode(),), weight / 2, how=how, edits=how == "correction"))
        if chance.random() < 0.3:
            slots.append(Slot((b"one", b"two", b"three"), weight / 2, how="synonym", together=(1, 2)))
        clauses.append(Clause(term, chance.choice((ADDS, BRINGS, REQUIRED, BRINGS | REQUIRED)), weight, slots))
        if chance.random() < 0.3:
            begun = chance.choice(((b"begun",), (b"begun", b"beginning")))
            clauses.append(Clause(term, ADDS, weight, [Slot(begun, weight, how="completion")]))
    if chance.random() < 0.5:
        clauses.append(Clause(6, FORBIDDEN, 0.0, [Slot((b"no", b"never"), 0.0)]))
    plan = Plan(clauses, 7.25, 0.3, full_first=chance.random() < 0.5, left_out={}, enough=None)
    again = of_plain(json.loads(json.dumps(to_plain(plan))))
    assert facts(again) == facts(plan)


def test_the_plain_form_is_that_of_version_1() -> None:
    """Nodes of both versions execute each other's plans while a cluster is upgraded."""
    clauses = [
        Clause(1, BRINGS, 2.0, [Slot((b"run", b"runs"), 1.5, 0.25), Slot((b"rum",), 0.5, how="correction", edits=1)]),
        Clause(2, BRINGS | REQUIRED, 3.0, [Slot((b"a@b.c",), 3.0)]),
        Clause(0, ADDS, 0.5, [Slot((b"the",), 0.5)]),
    ]
    plan = Plan(clauses, 7.25, 0.5, full_first=True, left_out={}, enough=None)
    assert to_plain(plan) == [
        [
            [1, "run", 2.0, "exact", 0, False, True, 1.5, 0.25],
            [1, "runs", 1.5, "form", 0, False, True, 0.0, 0.0],
            [1, "rum", 0.5, "correction", 1, False, True, 0.0, 0.0],
            [2, "a@b.c", 3.0, "exact", 0, True, True, 0.0, 0.0],
            [0, "the", 0.5, "exact", 0, False, False, 0.0, 0.0],
        ],
        7.25,
        0.5,
        True,
        plan.ceiling,
    ]


def test_letters_of_a_word_that_was_cut_stay_together_in_json() -> None:
    slots = [Slot((b"email",), 1.0), Slot((b"e", b"mail"), 0.5, together=(1, 1)), Slot((b"e-mail",), 0.5)]
    plan = Plan([Clause(0, BRINGS, 1.0, slots)], 7.25, 0.5, full_first=True, left_out={}, enough=None)
    (clause,) = of_plain(json.loads(json.dumps(to_plain(plan)))).clauses
    assert [(slot.words, slot.together) for slot in clause.slots] == [(slot.words, slot.together) for slot in slots]
    assert "completion" not in [slot.how for slot in clause.slots]
