"""Changes without features newer than 1.0.0 are written byte for byte as before: logs, entries of a cluster, and
rows.
"""

import pytest

from tests.fixtures import recording

TABLES = (
    b"meta", b"scopes", b"buckets", b"words", b"common", b"terms", b"postings", b"impacts", b"objects", b"lengths",
    b"oids", b"pending", b"doomed", b"removed",
)  # fmt: skip
"""The tables of 1.0.0."""


@pytest.mark.parametrize("order", recording.ORDERS)
def test_a_run_leaves_the_bytes_that_were_recorded(order: str) -> None:
    found, kept = recording.recorded(order), recording.kept(order)
    assert [line.split()[0] for line in found] == [line.split()[0] for line in kept]
    for line, wanted in zip(found, kept, strict=True):
        assert line == wanted


def test_the_recorded_run_leaves_rows_in_every_table() -> None:
    lines = recording.kept("object")
    assert {line.split()[0] for line in lines} == {"log", "entry", *(name.decode() for name in TABLES)}
    assert len({type(mutation) for mutation in recording.mutations()}) == 5
