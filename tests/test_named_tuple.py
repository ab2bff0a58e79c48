"""Named tuples of the package do as those of `typing` do."""

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from sonicpy.named_tuple import NamedTuple

Value = TypeVar("Value")


class Ours(NamedTuple):
    """A point."""

    x: int
    name: str = "a"
    more: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        """Twice x."""
        return 2 * self.x


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    name: str = "a"
    more: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        """Twice x."""
        return 2 * self.x


class Empty(NamedTuple):
    """No fields."""


class Held(NamedTuple, Generic[Value]):
    """A value of any kind."""

    value: Value


class Doubled(Ours):
    """A subclass with a constructor of its own."""

    __slots__ = ()

    def __new__(cls, x: int) -> "Doubled":
        return super().__new__(cls, 2 * x, "double")


def matched(kind: type[Any]) -> Any:
    match kind(7, "b"):
        case Ours(x, "b") | Theirs(x, "b"):
            return x


DONE: list[Callable[[type[Any]], Any]] = [
    lambda kind: kind(1),
    lambda kind: kind(1, more=(2,)),
    lambda kind: kind(name="b", x=3),
    lambda kind: kind(),
    lambda kind: kind(1, "b", (), 4),
    lambda kind: kind(1, x=2),
    lambda kind: kind(1, other=2),
    lambda kind: kind._make([1, "b", ()]),
    lambda kind: kind._make([1]),
    lambda kind: kind(1)._replace(x=5, name="c"),
    lambda kind: kind(1)._replace(other=5),
    lambda kind: kind(1)._asdict(),
    lambda kind: kind._fields,
    lambda kind: kind._field_defaults,
    lambda kind: kind.__match_args__,
    lambda kind: kind.__annotations__,
    lambda kind: typing.get_type_hints(kind),
    lambda kind: (kind(1) == kind(1), kind(1) == (1, "a", ()), kind(1) < kind(2), hash(kind(1))),
    lambda kind: repr(kind(1, "b")).removeprefix(kind.__name__),
    lambda kind: type(pickle.loads(pickle.dumps(kind(1)))) is kind,
    lambda kind: pickle.loads(pickle.dumps(kind(1))),
    lambda kind: copy.deepcopy(kind(1)),
    lambda kind: (kind(1).twice, kind(3).x, kind.x.__doc__),
    lambda kind: kind(1).__dict__,
    lambda kind: setattr(kind(1), "x", 2),
    lambda kind: (type(kind), kind.__doc__, kind.__module__, kind.__new__.__annotations__),
    matched,
]


@pytest.mark.parametrize("done", DONE)
def test_a_named_tuple_does_as_that_of_typing(done: Callable[[type[Any]], Any]) -> None:
    def outcome(kind: type[Any]) -> Any:
        try:
            return done(kind)
        except (AttributeError, TypeError, ValueError) as error:
            return type(error)

    assert outcome(Ours) == outcome(Theirs)


def test_kinds_that_are_rare() -> None:
    assert (Empty(), Empty._fields) == ((), ())
    assert Held("text").value == "text"
    assert Doubled(4) == (8, "double", ())
    assert Doubled(5)._replace(x=1) == (1, "double", ())
    assert Ours(4) == (4, "a", ()), "the subclass left the constructor alone"
    assert isinstance(Doubled(4), Ours)
