"""The lexer: from texts in a known language to terms."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_analyze_text(timed: Timed, texts: list[str]) -> None:
    terms = timed(stages.analyze_text)
    assert len(terms) == len(texts)
    assert sum(map(len, terms)) > 3 * len(texts)
