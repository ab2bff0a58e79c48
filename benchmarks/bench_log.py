"""The log: from a mutation to a log record, and from a log record to the file."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_pack_record(timed: Timed) -> None:
    assert all(timed(stages.pack_record))


def test_append_record(timed_afresh: Timed) -> None:
    positions = timed_afresh(stages.append_record)
    assert positions == sorted(set(positions))
