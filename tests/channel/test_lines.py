"""Tests of LineBuffer: cutting at line feeds, the size limit, and time that does not depend on how the input is
divided.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.channel.line_buffer import LINE_MAX_BYTES, LineBuffer
from tests.support.patience import is_below


def drain(buffer: LineBuffer) -> list[bytes]:
    lines = []
    while (line := buffer.take_line()) is not None:
        lines.append(line)
    return lines


def taken(*pieces: bytes) -> tuple[list[bytes], bool]:
    buffer = LineBuffer()
    lines = []
    for piece in pieces:
        buffer.feed(piece)
        lines += drain(buffer)
    return lines, buffer.overflowed


CUTS = [
    ((b"PING\n",), [b"PING"], "one line"),
    ((b"PING",), [], "not complete"),
    ((b"PI", b"NG", b"\n"), [b"PING"], "in pieces"),
    ((b"a\nb\n\nc",), [b"a", b"b", b""], "several at once, an empty one, an unfinished one"),
    ((b"a\nb", b"c\nd\n"), [b"a", b"bc", b"d"], "a line across two pieces"),
    ((b"a\r\nb\rc\n",), [b"a\r", b"b\rc"], "only LF ends a line"),
    ((b"", b"a", b"", b"\n"), [b"a"], "empty pieces"),
]

FULL = b"x" * LINE_MAX_BYTES

SIZES = [
    ((FULL + b"\n",), [FULL], False, "the longest line"),
    ((FULL + b"\r\n",), [FULL + b"\r"], False, "a final CR does not count"),
    ((FULL + b"\r", b"\n"), [FULL + b"\r"], False, "nor while its LF is on the way"),
    ((FULL + b"x\n",), [], True, "one byte more"),
    ((FULL + b"x",), [], True, "at once, without waiting for a LF"),
    ((FULL, b"x"), [], True, "in two pieces"),
    ((FULL + b"\r", b"x\n"), [], True, "a CR that is not the last byte counts"),
    ((FULL + b"\r\r\n",), [], True, "one CR only"),
    ((b"PING\n" + FULL + b"xx\nPING\n",), [b"PING"], True, "what came before is answered, what comes behind is not"),
    ((b"PING\nPING\n" + FULL + b"xx", b"\nPING\n"), [b"PING", b"PING"], True, "the same without a LF"),
    ((FULL + b"x", b"\nPING\n"), [], True, "nothing is read behind it"),
]


@pytest.mark.parametrize(("pieces", "expected", "why"), CUTS)
def test_lines(pieces: tuple[bytes, ...], expected: list[bytes], why: str) -> None:
    assert taken(*pieces) == (expected, False), why


@pytest.mark.parametrize(("pieces", "expected", "overflowed", "why"), SIZES)
def test_size_guard(pieces: tuple[bytes, ...], expected: list[bytes], overflowed: bool, why: str) -> None:
    assert taken(*pieces) == (expected, overflowed), why


@pytest.mark.parametrize(("pieces", "expected", "overflowed", "why"), SIZES)
def test_size_guard_when_nothing_is_taken_in_between(
    pieces: tuple[bytes, ...], expected: list[bytes], overflowed: bool, why: str
) -> None:
    buffer = LineBuffer()
    for piece in pieces:
        buffer.feed(piece)
    assert not buffer.overflowed, "set when the line is reached, not before"
    assert (drain(buffer), buffer.overflowed) == (expected, overflowed), why


@pytest.mark.parametrize("piece", [FULL + b"x\nPING\n", FULL + b"x"], ids=["complete", "unfinished"])
def test_nothing_is_taken_behind_an_overflow(piece: bytes) -> None:
    buffer = LineBuffer()
    buffer.feed(piece)
    for more in (b"\nPING\n", b"PING\n"):
        assert buffer.take_line() is None
        assert buffer.overflowed
        buffer.feed(more)
    assert drain(buffer) == []


def test_clear_drops_everything() -> None:
    buffer = LineBuffer()
    buffer.feed(b"a\nb\nunfinished")
    assert buffer.take_line() == b"a"
    buffer.clear()
    buffer.feed(b"c\n")
    assert drain(buffer) == [b"c"]


@given(st.lists(st.sampled_from([b"a", b"\n", b"bb\n", b"\r\n", b"", b"c" * 40])), st.data())
def test_any_cut_gives_the_same_lines(tokens: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(tokens)
    ends = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[begin:end] for begin, end in zip([0, *ends], [*ends, len(stream)], strict=True)]
    assert taken(*pieces) == (stream.split(b"\n")[:-1], False)


STREAMS = [
    ([b"PING\n" * 200_000], 200_000, "200,000 lines in one piece"),
    ([b"\n" * 1_000_000], 1_000_000, "a flood of empty lines"),
    ([bytes([byte]) for byte in (b"x" * 19_999 + b"\n") * 10], 10, "long lines byte by byte"),
    ([b"x\ny"] * 200_000, 200_000, "every line across two pieces"),
]


@pytest.mark.parametrize(("pieces", "count", "why"), STREAMS, ids=[why for _, _, why in STREAMS])
def test_time_is_linear_in_the_input(pieces: list[bytes], count: int, why: str) -> None:
    start = time.thread_time()
    lines, _ = taken(*pieces)
    assert len(lines) == count
    assert is_below(time.thread_time() - start, 3.0), (
        "takes a fraction of a second; copying the rest for each line takes minutes"
    )


def test_feeding_on_without_taking_is_linear() -> None:
    buffer = LineBuffer()
    start = time.thread_time()
    for _ in range(200_000):
        buffer.feed(b"PING\nPI")
        buffer.feed(b"NG\n")
    assert len(drain(buffer)) == 400_000
    assert is_below(time.thread_time() - start, 3.0)
