"""Tests of the maker of named tuples, beside their constructor."""

import gc
from typing import Any, NamedTuple

import pytest

from sonicpy._native.named_tuples import Maker


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
    checks = {"z": (2, doubled), "name": (3, lambda name, value: f"{name} {value}")}
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


def test_its_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="list is no class of tuples"):
        Maker(list, (1,), {}, refused)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="no field 4 of 4"):
        Maker(Point, tuple(Point(0, 0)), {"a": (4, doubled)}, refused)
