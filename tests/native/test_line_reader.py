"""LineReader compared with the reference implementation."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.lines import LineReader
from tests.reference.channel import SlowLines
from tests.support.examples import examples

STEPS = st.lists(
    st.sampled_from([b"", b"a", b"\n", b"\r", b"bb\n", b"c" * 9, b"\n\n", b"d\r\n", b"e" * 700, None]), max_size=60
)


@settings(max_examples=examples(500))
@given(STEPS, st.sampled_from([10, 1_000, 100_000]))
@example([b"a\n" + b"b" * 600, None, b"c" * 600, b"\n", None, b"d" * 2_000, b"\n", None, None], 100_000)
def test_lines_are_those_of_the_twin(steps: list[bytes | None], longest: int) -> None:
    lines, twin = LineReader(longest), SlowLines(longest)
    for step in [*steps, None, None, None]:
        if step is None:
            assert lines.take_line() == twin.take_line()
            assert lines.overflowed == twin.overflowed
        else:
            lines.feed(step)
            twin.feed(step)
        assert lines.is_drained() == twin.is_empty


def test_a_reader_that_was_closed_takes_nothing() -> None:
    lines = LineReader(10)
    lines.feed(b"a\nb")
    lines.close()
    lines.feed(b"c\n")
    assert lines.take_line() is None


def test_a_part_of_a_buffer_arrives() -> None:
    lines = LineReader(10)
    buffer = memoryview(bytearray(b"a\nbcd\nrest"))
    lines.feed(buffer, 4)
    lines.feed(buffer[4:], 2)
    lines.feed(buffer, 0)
    assert [lines.take_line(), lines.take_line(), lines.take_line()] == [b"a", b"bcd", None]
    with pytest.raises(ValueError, match="11 bytes cannot come out of a buffer of 10"):
        lines.feed(buffer, 11)
    assert lines.is_drained()
