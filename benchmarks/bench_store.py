"""The store: change the rows of a PUSH in the write transaction; commit as often as the server does."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_store_push(timed_afresh: Timed) -> None:
    assert set(timed_afresh(stages.store_push)) == {None}
