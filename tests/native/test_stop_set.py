"""A StopSet compared with a set of Python."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.stop_set import StopSet


@settings(deadline=None)
@given(st.sets(st.binary(max_size=8) | st.sampled_from([b"the", b"a", b"an"])), st.sets(st.binary(max_size=8)))
def test_a_stop_set_is_a_set(held: set[bytes], others: set[bytes]) -> None:
    stops = StopSet(held)
    assert all(word in stops for word in held)
    assert all((word in stops) == (word in held) for word in others | {word + b"x" for word in held} | {b""})


def test_a_large_stop_set_is_a_set() -> None:
    held = {f"word{number}".encode() for number in range(0, 5000, 2)}
    stops = StopSet(list(held) * 3)
    assert {word for number in range(5000) if (word := f"word{number}".encode()) in stops} == held
