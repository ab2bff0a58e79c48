"""Postings: how a text changes the rows and blocks of its terms, in compiled code alone."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_link_terms(timed_afresh: Timed) -> None:
    links = timed_afresh(stages.link_terms)
    assert links[-1].next_term > len(links), "most texts bring a new word"
