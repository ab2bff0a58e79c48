"""Filters, orders and facets as texts: the conditions that they mean, and the error sentence for any other text."""

import random
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import InvalidArgument
from sonicpy.filters.conditions import All, Among, Condition, HasTag, Not, Range, Within
from sonicpy.filters.conditions import Any as AnyOf
from sonicpy.filters.grammar import brief_filters, filter_text, parse
from sonicpy.filters.sorting import Boost, Facet, Sort, facets_texts, parse_boost, parse_of, parse_ranges, parse_sort
from tests.reference import filters as twin
from tests.support.examples import examples

A, B, C = HasTag(("a",)), HasTag(("b",)), HasTag(("c",))
READ: list[tuple[str, Condition]] = [
    ("a", A),
    ('"a"', A),
    ("a AND b AND c", All((A, B, C))),
    ("a OR b AND c", AnyOf((A, All((B, C))))),
    ("(a OR b) AND c", All((AnyOf((A, B)), C))),
    ("NOT a AND b", All((Not(A), B))),
    ("NOT (a AND b)", Not(All((A, B)))),
    ("NOT NOT a", A),
    (
        '"AND" OR "Ben & Jerry\'s" OR "say \\"hi\\""',
        AnyOf((HasTag(("AND",)), HasTag(("Ben & Jerry's",)), HasTag(('say "hi"',)))),
    ),
    ("and", HasTag(("and",))),
    ("size:xl", HasTag(("size:xl",))),
    ("Mu\u0308ller", HasTag(("Müller",))),
    ("tag IN (a, b,a)", HasTag(("a", "b"))),
    ("tag = a", A),
    ("tag != a", Not(A)),
    ("price<2000", Range("price", high=1999)),
    ("price <= 2000", Range("price", high=2000)),
    ("price > -5", Range("price", low=-4)),
    ("price>=5", Range("price", low=5)),
    ("price = 5", Range("price", 5, 5)),
    ("price != 5", All((Range("price"), Not(Range("price", 5, 5))))),
    ("HAS price", Range("price")),
    ("price IN (3, 1, 3)", Among("price", (1, 3))),
    ("place WITHIN 5km OF 47.21,-1.55", Within("place", 5_000, 472_100_000, -15_500_000)),
    ("place WITHIN .5km OF .25,-.55", Within("place", 500, 2_500_000, -5_500_000)),
    ("place WITHIN 2.5 km OF 0, 180", Within("place", 2_500, 0, 1_800_000_000)),
]
REFUSED = [
    ("", "the filter ends too early; allowed at letter"),
    ("a b", "'b'; allowed is AND, OR or the end"),
    ("a AND", "the filter ends too early; allowed at letter"),
    ("(a", "is AND, OR or a closing bracket"),
    ("a)", "allowed is AND, OR or the end"),
    ('"a', "a quote without an end"),
    ('"\\x"', "an escape that JSON lacks"),
    ('""', "filter has '' as a tag; allowed are 1 to 128 bytes"),
    ("a" * 129, "as a tag; allowed are 1 to 128 bytes"),
    ("price < cheap", "'cheap', compared with 'price'; allowed is a whole number"),
    ("price < 19.99", "'19.99', compared with 'price'; allowed is a whole number"),
    ("price < 9223372036854775808", "allowed is a number of 64 bits"),
    ("price <> 5", "allowed is a whole number"),
    ("price IN ()", "allowed is a whole number"),
    ("tag IN (a b)", "allowed is a comma or a closing bracket"),
    ("place WITHIN far OF 1,2", "allowed is a distance"),
    ("place WITHIN 5 OF 1,2", "allowed is m or km"),
    ("place WITHIN 5km OF 91,2", "'91', as a place of 'place'; allowed is a number of degrees from -90 to 90"),
    ("a & b", "is '&'"),
    ("NOT " * 40 + "a", "nested more than 32 times"),
    ("(" * 5_000 + "a", "nested more than 32 times"),
    (" AND ".join(["a"] * 65), "65 conditions; allowed are 64"),
    (f"tag IN ({', '.join(f't{n}' for n in range(1_001))})", "1,001 members; allowed are 1,000"),
    ("a" * 300_000, "300,000 letters"),
    ("price < 99999999999999999999", "allowed is a number of 64 bits"),
    (
        'red AND HAS "in stock"',
        "at letter 13 of the filter is 'in stock' as a name of values; allowed are 1 to 64 ASCII",
    ),
    ("size:xl < 3", "'size:xl' as a name of values"),
    ("1st IN (3)", "'1st' as a name of values"),
    ("é WITHIN 5km OF 1,2", "'é' as a name of values"),
]


@pytest.mark.parametrize(("text", "condition"), READ, ids=[text for text, _ in READ])
def test_read(text: str, condition: Condition) -> None:
    assert parse(text) == condition


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        parse(text)
    assert why in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tag": "a"}, "tag IN (a)"),
        ({"tag": ["a", "b c"], "price": (None, 5)}, 'tag IN (a, "b c") AND price <= 5'),
        ({"price": 5, "time": (1, 2)}, "price = 5 AND time >= 1 AND time <= 2"),
        ({"price": [1, 2], "size": (None, None)}, "price IN (1, 2) AND HAS size"),
        ({"new": True, "price": 5.0, "time": (date(1970, 1, 2), None)}, "new = 1 AND price = 5 AND time >= 86400"),
    ],
)
def test_dicts(given: dict[str, Any], text: str) -> None:
    assert filter_text(given) == text
    assert parse(text)


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        5,
        {"a b": 5},
        {"price": (date(1970, 1, 1), "x")},
        {"place": "1/2"},
        {"price": 1.5},
        {"price": None},
        {"price": (1,)},
        {"tag": []},
        {"tag": 5},
        {5: 5},
        {"": 5},
    ],
)
def test_other_values_are_refused(given: Any) -> None:
    with pytest.raises(InvalidArgument, match="^filter "):
        filter_text(given)


PARTS = st.sampled_from(
    ["a", "AND", "OR", "NOT", "IN", "HAS", "WITHIN", "OF", "(", ")", ",", "<", ">=", "!=", "price", "tag", "5", "-3"]
    + ["5km", "47.21", '"', '"x"', "\\", "é", "\ud800", "\x00", "9" * 30, "²", "٣", "&"]
)


CLAUSES = [
    *(
        "red",
        "size:xl",
        "price",
        "tag",
        "NOT",
        "AND",
        "IN",
        " ",
        "  ",
        "\t",
        "<",
        ">=",
        "!=",
        "=",
        "5",
        "-7",
        "007",
        "5.5",
    ),
    *(
        " AND ",
        " AND ",
        " OR ",
        "(",
        "a-b",
        "x--5",
        "é",
        "_a",
        "9" * 18,
        "9" * 19,
        "price < 5",
        "time >= -3",
        "/a",
        "a:b",
    ),
]


@given(st.text(max_size=50) | st.lists(PARTS, max_size=60).map(" ".join))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_ends_in_conditions_or_a_sentence(text: str) -> None:
    began = time.process_time()
    for read in (parse, parse_sort, parse_boost, parse_of, parse_ranges):
        try:
            read(text)
        except InvalidArgument as error:
            assert str(error) and "\n" not in str(error) and str(error).isprintable()
    assert time.process_time() - began < 1


@given(st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=9).map(lambda parts: "".join(parts)))
def test_a_brief_filter_is_read_as_a_long_one(text: str) -> None:
    found = brief_filters.read(text)
    if found is not None:
        assert found == parse(f"({text})"), "brackets lead through the whole grammar"


def test_brief_filters_are_those_of_tags_and_comparisons() -> None:
    for text in (
        "red",
        " red AND size:xl ",
        "price<5",
        "price >= -3 AND red AND time != 7",
        "_a = 007",
        '"a b" AND "tag"',
        '"a AND b"',
    ):
        assert brief_filters.read(text) is not None, text
    for text in (
        "",
        "NOT red",
        "a OR b",
        "price < 5.5",
        "tag = x",
        "HAS price",
        "a AND",
        "(a)",
        '"a" = 5',
        r'"\""',
        '""',
        "é",
        "9a",
        "a:b < 5",
    ):
        assert brief_filters.read(text) is None, text


@given(st.integers(0, 2**32))
@settings(max_examples=examples(100), deadline=None)
def test_texts_of_the_twin_are_read(seed: int) -> None:
    chance = random.Random(seed)
    parse(twin.text_of(twin.condition_by(chance, ["red", "a b", "NOT"], 3), chance))


def test_orders() -> None:
    assert parse_sort("price") == Sort("price") and parse_sort("-price") == Sort("price", descending=True)
    assert parse_sort("distance place 47.21, -1.55") == Sort("place", point=(472_100_000, -15_500_000))
    for text in (
        "",
        "a b",
        "-newest",
        "distance place",
        "distance place 91,0",
        "-",
        "price,-time",
        "--a",
        "distance 1 2,3",
    ):
        with pytest.raises(InvalidArgument, match="^sort "):
            parse_sort(text)


def test_boosts() -> None:
    assert parse_boost("size") == Boost("size") and parse_boost("time 7d") == Boost("time", 7 * 86_400)
    for text in ("", "time 7", "time 0d", "a b c", "price,time", "-price"):
        with pytest.raises(InvalidArgument, match="^boost "):
            parse_boost(text)


def test_facets() -> None:
    assert parse_of("size:*, *") == (Facet("size:"), Facet(""))
    assert parse_ranges("price: 0,5; time: -1") == (Facet("price", (0, 5)), Facet("time", (-1,)))
    assert facets_texts({"size:*": None, "price": [0, 5]}) == ("size:*", "price: 0,5")
    assert facets_texts({"price": (0, 5.0), "time": range(0, 9, 4), "day": [date(1970, 1, 2)]})[1] == (
        "price: 0,5;time: 0,4,8;day: 86400"
    )
    assert facets_texts(["size:*"]) == facets_texts("size:*") == ("size:*", None)
    for text in ("price", "price: ", "price: 5,1", "price: x", f"price: {2**63}", "a b: 5", "size:: 5"):
        with pytest.raises(InvalidArgument, match="^ranges "):
            parse_ranges(text)
    for wrong in (5, {"price": 5}, {"price": [1.5]}, {"price": ["5"]}, {"price": []}, ["size"], {5: None}):
        with pytest.raises(InvalidArgument, match="^(of|facets) "):
            facets_texts(wrong)
