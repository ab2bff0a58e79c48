"""The check of all pages finds no fault in any file that LMDB wrote."""

import tempfile
from pathlib import Path

import lmdb
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.store.disk.page_check import page_faults

SIZES = st.sampled_from([0, 1, 100, 2_000, 2_040, 4_079, 4_080, 4_081, 9_000, 12_272, 12_273, 40_000])
CHANGES = st.lists(st.tuples(st.integers(0, 5), st.none() | SIZES), max_size=12)


@given(st.lists(CHANGES, min_size=1, max_size=6))
def test_values_that_are_replaced_in_their_commit_are_whole(commits: list[list[tuple[int, int | None]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lmdb.open(str(folder), max_dbs=1, map_size=64 << 20) as environment:
            table = environment.open_db(b"rows")
            for changes in commits:
                with environment.begin(db=table, write=True) as transaction:
                    for key, size in changes:
                        if size is None:
                            transaction.delete(b"%d" % key)
                        else:
                            transaction.put(b"%d" % key, b"x" * size)
        assert list(page_faults(folder / "data.mdb")) == []
