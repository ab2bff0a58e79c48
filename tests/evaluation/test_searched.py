"""Evaluations push long texts in pieces."""

from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy.evaluation.searched import pieces


@given(st.text(st.sampled_from("ab cé日🦔\n"), max_size=80), st.integers(4, 30))
@example("a" * 50, 4)
@example("🦔" * 9, 5)
def test_nothing_but_blanks_is_lost(text: str, most_bytes: int) -> None:
    parts = list(pieces(text, most_bytes))
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < len(part.encode()) <= most_bytes for part in parts) or text == ""
    short = [word for word in text.split() if len(word.encode()) < most_bytes]
    assert all(any(word in part for part in parts) for word in short)


def test_whole() -> None:
    assert list(pieces("a b c", None)) == list(pieces("a b c", 5)) == ["a b c"]
    assert list(pieces("a b c", 4)) == ["a b", "c"]
