"""Ranking: the postings of two words into the best ten objects, in native code alone."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_score_objects(timed: Timed, texts: list[str]) -> None:
    best = timed(stages.score_objects)
    assert sum(map(bool, best)) > len(texts) * 0.9, "the words were taken from the texts"
    assert max(map(len, best)) == 10
