"""The time of an analyzer grows in proportion to the text, also for hostile texts."""

import time

import pytest

from sonicpy._native.analyzer import Analyzer
from tests.native.analyzing import COMPAT, COMPAT_WHOLE, DEFAULT, NORMALIZE, analyze

LINE_BYTES = 20_000

HOSTILE = {  # what is repeated until the line is full
    "letters": "a",
    "digits": "1",
    "digits then a letter": "1" * 400 + "a ",
    "single digits": "1 ",
    "dots": ".",
    "dotted letters": "a.",
    "dotted digits": "1.",
    "at signs": "@",
    "mails that never end": "a@b-",
    "usernames without a word": "@.",
    "schemes": "aa://",
    "schemes of one letter": "a://",
    "schemes of one letter after signs": "é://-",
    "schemes before dots": "aa://..",
    "colons": ":",
    "hyphens": "-",
    "pluses": "+",
    "plus digits": "+1",
    "half phones": "1.1-1 x",
    "half addresses": "1.2.3.x",
    "addresses": "1.2.3.4",
    "underscores": "_",
    "domains that end in digits": "a-.b1",
    "upper after dot": "ab.Cd",
    "marks": "\u0301",
    "marks out of order": "\u0301\u0323",
    "marks behind the letter of a mark": "\uff9e\u0301",
    "letters that decompose into marks": "\u0f73",
    "joiners": "\u200d",
    "joined emoji": "\U0001f600\u200d",
    "flags": "\U0001f1e6",
    "quoted Hebrew": '\u05d0"',
    "Hebrew apostrophes": "\u05d0'",
    "letters before many marks and a dot": "a.\u0301\u0301\u0301",
    "long folds": "ß",
    "dotted capitals": "İ",
    "Arabic ligatures": "\ufdfa ",
    "katakana": "カ_",
    "line ends": "\r\n",
    "NUL": "\0",
    "Han": "一",
    "Thai under marks": "กี่",
    "Han and digits": "一1",
}


def hostile_text(name: str, size: int) -> str:
    match name:
        case "distinct words":
            return " ".join(f"q{number:04}" for number in range(size // 6))
        case "one letter under all marks":  # sorting them into canonical order takes unicodedata quadratic time
            return "a" + hostile_text("marks out of order", size)
        case "one word of many dots before marks":
            return "a." * (size // 4) + hostile_text("marks", size // 2)
    return HOSTILE[name] * (size // len(HOSTILE[name].encode()))


TRIES = 5
"""The number of measurements, because a busy machine may slow down one of them, but not all."""


def best_time(analyzer: Analyzer, text: str, runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.thread_time()
        analyze(analyzer, text)
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "name", [*HOSTILE, "distinct words", "one letter under all marks", "one word of many dots before marks"]
)
@pytest.mark.parametrize(
    "analyzer",
    [COMPAT, DEFAULT, COMPAT_WHOLE, Analyzer(NORMALIZE, bigrams=True)],
    ids=["compat", "default", "whole", "pairs"],
)
def test_time_is_linear_on_hostile_lines(name: str, analyzer: Analyzer) -> None:
    """A text of eight times the length may take 24 times as long before the time counts as more than linear (quadratic:
    64).
    """
    assert best_time(analyzer, hostile_text(name, LINE_BYTES), 3) < 0.05
    times = []
    for _ in range(TRIES):
        small = best_time(analyzer, hostile_text(name, LINE_BYTES // 8), 5)
        large = best_time(analyzer, hostile_text(name, LINE_BYTES), 3)
        if large <= 0.002 or large < 24 * small:  # below 2 ms, noise of the clock and fixed costs decide
            return
        times.append((small, large))
    pytest.fail(f"more than linear in each of {TRIES} tries: {times}")
