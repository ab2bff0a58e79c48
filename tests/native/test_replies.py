"""Events as bytes, compared with the reference implementation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.replies import event
from tests.reference import channel as twin

BITS = st.integers(0, 2**64 - 1)


@given(st.lists(st.text(max_size=5) | st.text("ab:", max_size=20), max_size=12), BITS)
def test_events_are_those_of_the_twin(items: list[str], bits: int) -> None:
    try:
        expected = twin.event("QUERY", items, bits)
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            event("QUERY", items, bits)
        return
    assert event("QUERY", items, bits) == expected
    assert event("QUERY", iter(items), bits) == expected


def test_events_of_what_is_no_text() -> None:
    with pytest.raises(TypeError):
        event("QUERY", ["a", 5], 0)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="ASCII"):
        event("é", [], 0)
    for bits in (-1, 2**64):
        with pytest.raises(OverflowError):
            event("QUERY", [], bits)
