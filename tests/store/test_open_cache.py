"""The cache of the open transaction changes in place, but never rows that a reader of the last commit uses."""

from pathlib import Path

import sonicpy
from sonicpy.store.views.read_cache import Snapshot
from sonicpy.store.views.write_view import WriteView

C, B = "c", "b"


def test_a_reader_of_the_last_commit_keeps_its_rows(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "old", "amber beryl")
        index.commit()
        store = index.engine.store
        with store.snapshot() as snapshot:
            state = snapshot.bucket(C, B)
            assert isinstance(snapshot, Snapshot)
            assert state is not None
            reader = snapshot.reader(state)
            (before,) = reader.words([b"amber"])
            assert before is not None
            assert before.df == 1
            for number in range(3):  # the first query takes the cache over, the others renew it
                index.push(C, "another", f"o{number}", "coral")
                assert index.query(C, B, "amber").objects[0] == (f"new{number - 1}" if number else "old")
                index.push(C, B, f"new{number}", "amber")
                assert index.query(C, B, "amber").objects[0] == f"new{number}"
                (row,) = reader.words([b"amber"])
                assert row is not None
                assert row.df == 1
                assert reader.oids([0]) == ["old"]
                assert len(reader.lengths()) == 1


def test_a_bucket_has_one_reader_in_a_transaction(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        readers = []
        for number in range(5):
            index.push(C, B, f"o{number}", "amber")
            with index.engine.read() as view:
                state = view.bucket(C, B)
                assert isinstance(view, WriteView)
                assert state is not None
                readers.append(view.reader(state))
                (row,) = readers[-1].words([b"amber"])
                assert row is not None
                assert row.df == number + 1
        assert len(set(map(id, readers))) == 1
