"""Ranking: the postings of two words to the best ten objects, in compiled code alone."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_score_objects(timed: Timed, texts: list[str]) -> None:
    best = timed(stages.score_objects)
    assert sum(map(bool, best)) > len(texts) * 0.9, "the words are of the texts"
    assert max(map(len, best)) == 10
