"""Conditions: the tree of a filter.

A tree has one form for each meaning: every comparison is a Range, and `a AND b AND c` is one All of three conditions.
"""

from collections.abc import Iterator
from typing import NamedTuple

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
TAG_NAME = "tag"
"""The name of tags in `tag IN (...)`."""


class HasTag(NamedTuple):
    """The condition that an object has at least one of several tags."""

    tags: tuple[str, ...]


class Range(NamedTuple):
    """The condition that an object has a value from `low` to `high`, both included."""

    name: str
    low: int = INT_MIN
    high: int = INT_MAX


class Among(NamedTuple):
    """The condition that an object has one of several values, which are in rising order."""

    name: str
    values: tuple[int, ...]


class Within(NamedTuple):
    """The condition that the point of an object is at most `meters` away from a centre.

    Attributes:
        name: the name of the values, which are points.
        meters: the greatest distance, in metres.
        latitude, longitude: the centre, in units of 1e-7 degree.
    """

    name: str
    meters: int
    latitude: int
    longitude: int


class Not(NamedTuple):
    """The condition that an object does not meet another condition."""

    condition: "Condition"


class All(NamedTuple):
    """The condition that an object meets all of several conditions. Without conditions, every object meets it."""

    conditions: tuple["Condition", ...]


class Any(NamedTuple):
    """The condition that an object meets at least one of several conditions. Without conditions, no object meets it."""

    conditions: tuple["Condition", ...]


Condition = HasTag | Range | Among | Within | Not | All | Any


def literals(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions of a tree that contain no other conditions: its leaves."""
    if isinstance(condition, Not):
        yield from literals(condition.condition)
    elif isinstance(condition, All | Any):
        for each in condition.conditions:
            yield from literals(each)
    else:
        yield condition


def clauses(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that all have to hold: those of an All, or the condition alone."""
    return condition.conditions if isinstance(condition, All) else (condition,)
