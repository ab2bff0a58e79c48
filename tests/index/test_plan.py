"""The plan of a query: which lists it gathers, in which order, and for what."""

from pathlib import Path

import pytest

import sonicpy
from sonicpy import Config
from sonicpy._native.bm25 import idf
from sonicpy._native.plan import Plan, plan_terms
from sonicpy._native.terms import SPECIAL, STOP, Terms
from sonicpy.index.search.plan import ENOUGH_FOUND, STOP_IS_EXACT, TABLE_FULL, why_not_expanded
from sonicpy.index.search.ranking import RANKINGS

C, B = "collection", "bucket"


def planned(index: sonicpy.Index, terms: Terms) -> Plan:
    with index.maintainer.engine.read_words(C, B) as lexicon:
        assert lexicon is not None
        plan, _ = RANKINGS[index.config.search.ranking](lexicon, terms, index.config)
        return plan


def terms_of(**flags: int) -> Terms:
    return Terms([word.encode() for word in flags], b"\1" * len(flags), bytes(flags.values()))


def test_words_come_first_each_with_its_expansions(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "one", "the weather", "eng")
        index.push(C, B, "two", "weathering", "eng")
        lists = planned(index, terms_of(the=STOP, weather=0)).lists
        assert [(one.term, one.word, one.how, one.inserts) for one in lists] == [
            (1, b"weather", "exact", True), (1, b"weathering", "completion", True), (0, b"the", "exact", False),
        ]  # fmt: skip
        assert lists[0].weight == idf(2, 1) > lists[1].weight > 0
        assert [one.is_expandable for one in lists] == [True, False, False]


def test_stop_words_bring_objects_where_words_bring_none(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "one", "the weather", "eng")
        assert all(one.inserts for one in planned(index, terms_of(the=STOP, quince=0)).lists)
        assert all(one.inserts for one in planned(index, terms_of(the=STOP)).lists)


def test_why_a_word_is_not_expanded(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "one", Config.model_validate({"search": {"alternates_below": 1}})) as index:
        index.push(C, B, "one", "the weather", "eng")
        plan = planned(index, terms_of(the=STOP, weather=0))
        weather, the = plan.lists
        assert (why_not_expanded(plan, weather, 0), why_not_expanded(plan, the, STOP)) == (ENOUGH_FOUND, STOP_IS_EXACT)
    with sonicpy.open(tmp_path / "ten") as index:
        index.push(C, B, "one", "the weather", "eng")
        expandable = planned(index, terms_of(weather=0)).lists[0]
        assert why_not_expanded(plan, expandable, 0) is None


def test_special_words_are_required_except_in_a_sentence() -> None:
    few = terms_of(ab12=SPECIAL, weather=0)
    many = terms_of(ab12=SPECIAL, **{f"word{number}": 0 for number in range(5)})
    for terms, required in ((few, True), (many, False)):
        lists = plan_terms(terms, [None] * len(terms), 10, 10, 16)
        assert [one.required for one in lists] == [required, *[False] * (len(terms) - 1)]


def test_what_sonic_has_no_room_for_is_left_out(tmp_path: Path) -> None:
    config = Config.model_validate({"server": {"compat": "sonic"}, "store": {"kv": {"retain_word_objects": 2}}})
    with sonicpy.open(tmp_path, config) as index:
        for number in range(3):
            index.push(C, B, f"object:{number}", "weather")
        plan = planned(index, terms_of(weather=0, quince=0))
        assert plan.left_out == {1: TABLE_FULL} and [one.word for one in plan.lists] == [b"weather"]


def test_lists_and_rows_have_to_match() -> None:
    with pytest.raises(ValueError, match="1 terms need as many rows, not 0"):
        plan_terms(terms_of(weather=0), [], 1, 10, 16)
