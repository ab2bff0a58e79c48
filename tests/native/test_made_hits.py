"""Hits made of names and scores."""

import pytest

from sonicpy._native.hits import made_hits
from sonicpy.api.hits import Hit, Hits


def test_hits_are_names_with_scores() -> None:
    first, second = made_hits(Hit, "_score", ("é", "b"), (2.5, 1.0))
    assert (first, first.score, type(first)) == ("é", 2.5, Hit)
    assert (second.object, type(second.object), second.score) == ("b", str, 1.0)
    assert [hit.score for hit in made_hits(Hit, "_score", Hits(["a", "b"]), None)] == [None, None]


def test_names_that_are_hits_already_get_the_new_score() -> None:
    (hit,) = made_hits(Hit, "_score", (Hit("a", 1.0),), (0.5,))
    assert (hit, hit.score, type(hit.object)) == ("a", 0.5, str)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="2 names need as many scores, not 1"):
        made_hits(Hit, "_score", ("a", "b"), (1.0,))
    with pytest.raises(TypeError, match="names are a tuple, not list"):
        made_hits(Hit, "_score", ["a"], None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="hits are a class of str, not int"):
        made_hits(int, "_score", ("a",), None)  # type: ignore[type-var]
