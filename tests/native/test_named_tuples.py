"""Tests of the maker of named tuples beside their constructor, and of comparisons of their fields."""

import gc
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.named_tuples import HasUsual, Maker
from sonicpy.options import ARGUMENTS
from sonicpy.search import Search, asks_newest


class Point(NamedTuple):
    x: Any
    y: Any
    z: Any = 0
    name: Any = "none"


def doubled(name: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"{name} is {value}")
    return 2 * value


def refused(name: str, value: object) -> None:
    raise TypeError(name)


def maker() -> "Maker[Point]":
    checks = {"z": (2, doubled, None), "name": (3, lambda name, value: f"{name} {value}", None)}
    return Maker(Point, tuple(Point(0, 0)), checks, refused)


def test_it_makes_what_the_constructor_makes() -> None:
    assert maker().make((1, 2), {}) == Point(1, 2)
    made = maker().make((1,), {"name": "a", "z": 4})
    assert (type(made), made) == (Point, Point(1, 0, 8, "name a"))
    assert made._replace(x=9) == Point(9, 0, 8, "name a")
    assert gc.is_tracked(made)
    assert maker().make((1, 2, 3, 4), {"z": 1}) == Point(1, 2, 2, 4)


def test_it_raises_the_errors_of_its_checks() -> None:
    with pytest.raises(ValueError, match="z is -1"):
        maker().make((1, 2), {"name": "a", "z": -1})
    with pytest.raises(TypeError, match="other"):
        maker().make((1, 2), {"other": 1})
    with pytest.raises(ValueError, match="5 values"):
        maker().make((1, 2, 3, 4, 5), {})


def test_values_of_a_container_are_not_checked_again() -> None:
    checked: list[object] = []

    def check(name: str, value: Any) -> Any:
        checked.append(value)
        return value if value is None else int(value)

    make = Maker(Point, tuple(Point(0, 0)), {"z": (2, check, lambda: (int, range(10)))}, refused).make
    given = (None, 3, 4, True, 4.0, 10, 9)
    assert [make((1, 2), {"z": value}).z for value in given] == [None, 3, 4, 1, 4, 10, 9]
    assert list(map(repr, checked)) == ["None", "3", "True", "4.0", "10"], "only 4 and 9 are known, once 3 was checked"


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_unchecked_values_of_options_are_those_that_checks_return(verb: str) -> None:
    for name, option in ARGUMENTS[verb].items():
        unchecked = getattr(option.kind, "unchecked", None)
        if unchecked is None:
            continue
        kind, values = unchecked()
        for value in (0, 1, 2**32 - 1, 2**32, -1, "eng", "none", "xyz", "red", "red AND price < 5", "price <", ""):
            if type(value) is kind and value in values:
                assert option.kind.check(name, value) == value


def test_its_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="list is no class of tuples"):
        Maker(list, (1,), {}, refused)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="no field 4 of 4"):
        Maker(Point, tuple(Point(0, 0)), {"a": (4, doubled, None)}, refused)


def test_fields_are_compared_with_usual_ones() -> None:
    has_usual = HasUsual(Point(1, 2), [1, 3])
    assert has_usual(Point(9, 2)) and has_usual(Point(9, 2.0, 5, "".join(["no", "ne"])))
    assert not has_usual(Point(9, 3)) and not has_usual(Point(9, 2, 0, "some"))
    assert HasUsual(Point(1, 2), [])(())
    with pytest.raises(IndexError, match="no field 1 of 1"):
        has_usual((1,))
    with pytest.raises(TypeError, match="not in list"):
        has_usual([1, 2, 0, "none"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no field 4 of 4"):
        HasUsual(Point(1, 2), [4])
    with pytest.raises(ValueError, match="17 fields"):
        HasUsual(Point(1, 2), [0] * 17)


@pytest.mark.parametrize("given", [{"filter": "a"}, {"sort": "price"}, {"after": "a"}, {"boost": "b"}, {"group": "c"}])
def test_a_refined_search_is_one_with_a_filter_an_order_a_boost_or_groups(given: dict[str, Any]) -> None:
    plain = Search("c", "b", "", 10, 0, None, match="any", total=True)
    assert not plain.is_refined and plain.has_demands
    assert plain._replace(text="some", **given).is_refined
    assert plain._replace(**given).is_refined == ("boost" not in given), "a boost of nothing"
    assert not asks_newest(plain) and not asks_newest(plain._replace(total=False, sort="price"))
    assert asks_newest(plain._replace(total=False, filter="a", limit=3))


USUAL = Point(0, 1.0, "", "none")


@given(
    st.builds(Point, *(st.sampled_from([0, 1, 1.0, "", "none", "".join(["no", "ne"]), None]) for _ in range(4))),
    st.lists(st.integers(0, 3), max_size=4),
)
def test_fields_differ_as_tuples_of_them_do(found: Point, places: list[int]) -> None:
    differ = [found[place] for place in places] != [USUAL[place] for place in places]
    assert HasUsual(USUAL, places)(found) is not differ
