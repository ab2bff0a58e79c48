"""The store: the rows of a PUSH in the open transaction, one commit for as many as the server takes."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_store_push(timed_afresh: Timed) -> None:
    assert set(timed_afresh(stages.store_push)) == {0}
