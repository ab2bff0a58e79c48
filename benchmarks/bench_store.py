"""The store: changing the rows of a PUSH in the write transaction, with commits as often as the server makes them."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_store_push(timed_afresh: Timed) -> None:
    assert set(timed_afresh(stages.store_push)) == {None}
