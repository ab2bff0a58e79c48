"""Rows of records that wait to be written show all changes and are written once; rows of words in use stay cached;
those of many buckets do not wait for the commit."""

import random
from pathlib import Path

import pytest

import sonicpy
from sonicpy.store.disk.table_numbers import OBJECTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.views import write_cache, write_view
from sonicpy.store.views.write_view import WriteView

C, B, OBJECTS_THERE = "c", "b", 100


@pytest.mark.parametrize("most", [2, 512])
def test_waiting_rows_show_all_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(write_cache, "RECENT_MAX", most)
    chance = random.Random(most)
    held: dict[str, set[str]] = {}
    with sonicpy.open(tmp_path) as index:
        for step in range(600):
            oid, words = f"o{chance.randrange(OBJECTS_THERE)}", set(chance.choices("abcdefgh", k=3))
            way = 0 if step < OBJECTS_THERE else chance.randrange(5)
            if way <= 1:
                index.push(C, B, oid, " ".join(sorted(words)), lang="none")
                held[oid] = held.get(oid, set()) | words
            elif way == 2:
                index.upsert(C, B, oid, " ".join(sorted(words)), lang="none")
                held[oid] = words
            elif way == 3:
                assert index.pop(C, B, oid, " ".join(sorted(words))) == len(held.get(oid, set()) & words)
                held[oid] = held.get(oid, set()) - words
            else:
                assert index.flush_object(C, B, oid) == len(held.pop(oid, set()))
            asked = f"o{chance.randrange(OBJECTS_THERE)}"
            assert index.count(C, B, asked) == len(held.get(asked, set()))
            if step % 100 == 99:
                assert set(index.query_ids(C, B, "a", lang="none", limit=500)) == {
                    oid for oid, words in held.items() if "a" in words
                }
            if step % 200 == 199:
                index.commit()
    with sonicpy.open(tmp_path, read_only=True) as index:
        for number in range(OBJECTS_THERE):
            assert index.count(C, B, f"o{number}") == len(held.get(f"o{number}", set()))


def test_several_changes_of_a_row_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sonicpy.open(tmp_path) as index:
        for number in range(100):
            index.push(C, B, f"o{number}", "amber")
        index.commit()
        written: list[bytes] = []
        put = Transaction.put

        def noted(self: Transaction, table: int, key: bytes, row: bytes) -> None:
            if table == OBJECTS:
                written.append(key)
            put(self, table, key, row)

        monkeypatch.setattr(Transaction, "put", noted)
        for number in (*range(0, 80, 16), *range(1, 80, 16)):
            index.push(C, B, f"o{number}", "beryl")
        assert written == []
        index.commit()
        assert len(written) == 5
        assert written == sorted(written)


def test_rows_of_words_in_use_stay_over_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_cache, "TERMS_FEW", 3)
    with sonicpy.open(tmp_path) as index:
        terms = index.engine.store._write_cache.terms
        index.push(C, B, "o", "garnet jasper onyx", lang="none")
        for number in range(40):
            index.push(C, B, f"o{number}", "amber beryl coral", lang="none")
            index.commit()
        assert len(terms) == 3
        assert index.flush_object(C, B, "o39") == index.flush_object(C, B, "o") == 3
        index.commit()
        monkeypatch.setattr(write_cache, "TERMS_MAX", 2)
        index.push(C, B, "o", "amber", lang="none")
        index.commit()
        assert len(terms) == 0
        for word in ("amber", "beryl", "garnet"):
            asked = {"amber": 40, "beryl": 39, "garnet": 0}[word]
            assert len(index.query_ids(C, B, word, lang="none", limit=50)) == asked


def test_rows_of_many_buckets_are_written_before_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_view, "MANY_BUCKETS", 10)
    waited = []
    write = WriteView.write_changes

    def written(view: WriteView) -> None:
        waited.append(len(view._changed_buckets))
        write(view)

    monkeypatch.setattr(WriteView, "write_changes", written)
    buckets = [f"b{number}" for number in range(105)]
    with sonicpy.open(tmp_path) as index:
        for name in ("o", "p"):
            for bucket in buckets:
                index.push(C, bucket, name, f"hello {bucket}", lang="none")
        assert all(sorted(index.query_ids(C, bucket, bucket, lang="none")) == ["o", "p"] for bucket in buckets)
        index.commit()
        assert index.verify() == []
    assert max(waited) == 10
    assert len(waited) >= 20
