"""Conditions: the tree of a filter.

A tree has one form for each meaning: a comparison is a Range, `a AND b AND c` is one All of three.
"""

from collections.abc import Iterator
from typing import NamedTuple

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
TAG_NAME = "tag"
"""The name of tags in `tag IN (...)`."""


class HasTag(NamedTuple):
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


Condition = HasTag | Range | Among | Within | Not | All | Any


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
