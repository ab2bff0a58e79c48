"""Postings: changing the term rows and blocks of the terms of a text, only in native code."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_add_terms(timed_afresh: Timed) -> None:
    changes = timed_afresh(stages.add_terms)
    assert changes[-1].next_term > len(changes), "most texts hold a new word"
