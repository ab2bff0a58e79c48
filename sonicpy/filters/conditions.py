"""Conditions: the tree of a filter, and its text.

A tree has one form for each meaning: a comparison is a Range, `a AND b AND c` is one All of three.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sonicpy.tags import shown_tag

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
TAG_NAME = "tag"
"""The name that stands for tags in `tag IN (...)`."""


class Tagged(NamedTuple):
    """An object that holds one of some tags."""

    tags: tuple[str, ...]


class Range(NamedTuple):
    """An object with a value from `low` to `high`, both included."""

    name: str
    low: int = INT_MIN
    high: int = INT_MAX


class Among(NamedTuple):
    """An object with one of some values, which rise."""

    name: str
    values: tuple[int, ...]


class Within(NamedTuple):
    """An object whose point is at most so far away.

    Attributes:
        meters: the distance.
        latitude, longitude: of the centre, in units of 1e-7 degree.
    """

    name: str
    meters: int
    latitude: int
    longitude: int


class Not(NamedTuple):
    """An object that does not meet a condition."""

    condition: "Condition"


class All(NamedTuple):
    """An object that meets every one of some conditions; of none: every object."""

    conditions: tuple["Condition", ...]


class Any(NamedTuple):
    """An object that meets one of some conditions; of none: no object."""

    conditions: tuple["Condition", ...]


Condition = Tagged | Range | Among | Within | Not | All | Any


def literals(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions of a tree that hold no others."""
    if isinstance(condition, Not):
        yield from literals(condition.condition)
    elif isinstance(condition, All | Any):
        for each in condition.conditions:
            yield from literals(each)
    else:
        yield condition


def clauses(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that an object has to meet, each of them."""
    return condition.conditions if isinstance(condition, All) else (condition,)


def text_of(condition: Condition) -> str:
    """Return the text of a condition, which reads as the same condition."""
    return _WRITERS[type(condition)](condition)


def _tags(condition: Tagged) -> str:
    if len(condition.tags) == 1:
        return shown_tag(condition.tags[0])
    return f"{TAG_NAME} IN ({', '.join(map(shown_tag, condition.tags))})"


def _range(condition: Range) -> str:
    name, low, high = condition
    if low == INT_MIN and high == INT_MAX:
        return f"HAS {shown_tag(name)}"
    name = shown_tag(name)
    if low == high:
        return f"{name} = {low}"
    bounds = [f"{name} >= {low}"] * (low != INT_MIN) + [f"{name} <= {high}"] * (high != INT_MAX)
    return bounds[0] if len(bounds) == 1 else f"({' AND '.join(bounds)})"


def _among(condition: Among) -> str:
    return f"{shown_tag(condition.name)} IN ({', '.join(map(str, condition.values))})"


def _within(condition: Within) -> str:
    name, meters, latitude, longitude = condition
    return f"{shown_tag(name)} WITHIN {meters}m OF {degrees(latitude)},{degrees(longitude)}"


def _not(condition: Not) -> str:
    return f"NOT {text_of(condition.condition)}"


def _all(condition: All) -> str:
    return _joined(condition.conditions, " AND ")


def _any(condition: Any) -> str:
    return _joined(condition.conditions, " OR ")


def _joined(conditions: tuple[Condition, ...], between: str) -> str:
    return f"({between.join(map(text_of, conditions))})"


_WRITERS = {
    Tagged: _tags,
    Range: _range,
    Among: _among,
    Within: _within,
    Not: _not,
    All: _all,
    Any: _any,
}


def degrees(units: int) -> str:
    """Return an angle of 1e-7 degree as a decimal number."""
    whole, part = divmod(abs(units), 10**7)
    return f"{'-' if units < 0 else ''}{whole}.{part:07}"
