"""Hits: a sequence of hits that iterates over names and equals lists of them."""

from collections.abc import Sequence

import pytest

from sonicpy import Hit, Hits

TWO = Hits(["o1", "o2"], [2.5, 0.25], total=7)


def test_a_sequence() -> None:
    assert (len(TWO), list(TWO), list(reversed(TWO))) == (2, ["o1", "o2"], ["o2", "o1"])
    assert isinstance(TWO, Sequence)
    assert "o2" in TWO and "o3" not in TWO
    assert (TWO.index("o2"), TWO.count("o1"), TWO.count("o3")) == (1, 1, 0)
    assert TWO and not Hits()


def test_items_are_hits_and_slices_keep_the_total() -> None:
    assert TWO[0] == Hit("o1", 2.5)
    assert TWO[-1].object == "o2" and TWO[-1].score == 0.25
    assert (TWO[1:].objects, TWO[1:].scores, TWO[1:].total) == (["o2"], [0.25], 7)
    with pytest.raises(IndexError):
        TWO[2]


def test_without_scores() -> None:
    hits = Hits(["o1"])
    assert (hits[0], hits.scores, hits.total) == (Hit("o1", None), None, None)


def test_equality_looks_at_names_alone() -> None:
    assert TWO == ["o1", "o2"] == TWO
    assert TWO == ("o1", "o2") and hash(TWO) == hash(("o1", "o2"))
    assert Hits(["o1", "o2"]) == TWO
    assert TWO != ["o2", "o1"] and Hits(["o1"]) != TWO and TWO != "o1 o2"
    assert [*TWO, "o3"] == ["o1", "o2", "o3"]


def test_it_never_changes() -> None:
    TWO.objects.clear()
    assert TWO.scores is not None
    TWO.scores.clear()
    assert TWO.objects == ["o1", "o2"] and TWO.scores == [2.5, 0.25]
    with pytest.raises(AttributeError):
        TWO.total = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="2 objects need as many scores, not 1"):
        Hits(["o1", "o2"], [1.0])


def test_how_it_looks() -> None:
    assert repr(TWO) == "Hits(['o1', 'o2'], total=7)"
    assert repr(Hits(["o1"])) == "Hits(['o1'])"
    html = Hits(["<o>"], [1.23456], total=9)._repr_html_()
    assert "&lt;o&gt;" in html and "1.2346" in html and "1 of 9 objects" in html
    assert "score" not in Hits(["o"])._repr_html_()
