"""Ranking: from the postings of two words to the best ten objects, only in native code."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_score_objects(timed: Timed, texts: list[str]) -> None:
    best = timed(stages.score_objects)
    assert sum(map(bool, best)) > len(texts) * 0.9, "the words were taken from the texts"
    assert max(map(len, best)) == 10
