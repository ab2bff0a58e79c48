"""Word borders, compared with the samples of Unicode and with the reference implementation."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.word_break import word_borders
from tests.reference import word_break as twin
from tests.support.examples import examples

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "WordBreakTest.txt"


def official_samples() -> list[tuple[str, list[int]]]:
    samples = []
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        text, borders = "", []
        for field in line.partition("#")[0].split():
            if field == "÷":
                borders.append(len(text))
            elif field != "×":
                text += chr(int(field, 16))
        if text:
            samples.append((text, borders))
    return samples


def test_the_borders_are_those_of_unicodes_own_samples() -> None:
    samples = official_samples()
    assert len(samples) == 1823
    wrong = [(text, borders, word_borders(text)) for text, borders in samples if word_borders(text) != borders]
    assert not wrong


def test_the_slow_twin_passes_unicodes_samples_too() -> None:
    assert all(twin.word_borders(text) == borders for text, borders in official_samples())


# One of each class, those that the rules treat alike only once; RI, ZWJ and quotes twice as likely.
BREAK_CHARS = (
    "a1.,:'\"_ \t\n\r\x85\u05d0\u05d0''\"\u0301\u00ad\u200d\u200d\U0001f1e6\U0001f1e6カ\u2028\u3000ก中ᄀ각\U0001f600☝ℹ"
)


@settings(deadline=None, max_examples=examples(600))
@given(st.text(alphabet=BREAK_CHARS, max_size=14) | st.text(max_size=12))
@example("\u05d0\"\u05d0'\u0301\u200d\U0001f600")
@example("\U0001f1e6\u0301\U0001f1e6\U0001f1e6\u200d\U0001f1e6")
def test_the_borders_are_those_of_the_rule_list(text: str) -> None:
    assert word_borders(text) == twin.word_borders(text)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises(UnicodeEncodeError):
        word_borders(text)
