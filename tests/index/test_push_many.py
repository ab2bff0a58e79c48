"""Tests of push_many: it makes the same index as single pushes, with any chunks; refusals, faults, other threads."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.api.bucket import Bucket
from sonicpy.api.rows import Refused, Row
from sonicpy.errors import CommandError, InvalidArgument, StoreError, StoreFull
from sonicpy.index.ingest import push_many
from sonicpy.store.disk import log
from sonicpy.store.disk.table_numbers import PENDING
from sonicpy.store.disk.table_numbers import WORDS as WORDS_TABLE
from sonicpy.text_names import TEXTS_MAX
from sonicpy.values import VALUES_MAX
from sonicpy.vectors import bits_of
from tests.index.shorthand import B, C, contents, open_index
from tests.support.examples import some

WORDS = [f"word{n}" for n in range(60)] + ["the", "and", "東京大学", "café", "a@b.com"]


def random_rows(seed: int, count: int) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    return [
        (f"o{chance.randrange(count // 2)}", " ".join(chance.choices(WORDS, k=chance.randint(0, 12))))
        for _ in range(count)
    ]


def everything(index: sonicpy.Index) -> Any:
    """Return all rows of the tables of a bucket, except the words that are pending for a graph."""
    with index.engine.store.snapshot() as view:
        return {table: list(view.transaction.rows(table, b"")) for table in range(WORDS_TABLE, PENDING)}


@pytest.mark.parametrize("chunk", [1, 7, 512])
def test_the_same_as_one_push_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", chunk)
    rows = random_rows(chunk, 300)
    with (
        open_index(tmp_path / "one", store__kv__retain_word_objects=20) as one,
        open_index(tmp_path / "many", store__kv__retain_word_objects=20) as many,
    ):
        for oid, text in rows:
            one.push(C, B, oid, text)
        done: list[int] = []
        report = many.push_many(iter(rows), collection=C, bucket=B, progress=done.append)
        assert (report.indexed, report.refused, report.refused_count) == (300, [], 0)
        assert done[-1] == 300 and done == sorted(done)
        assert everything(one) == everything(many)
        assert many.verify() == []
        before = everything(many)
        assert many.push_many(rows, collection=C, bucket=B).indexed == 300, "the same again"
        assert everything(many) == before
    with open_index(tmp_path / "many", store__kv__retain_word_objects=20) as again:
        assert everything(again) == before


def test_rows_of_several_buckets(tmp_path: Path) -> None:
    rows = [(f"c{n % 2}", f"b{n % 3}", f"o{n}", f"hello number{n}") for n in range(60)]
    with open_index(tmp_path) as index:
        assert index.push_many(rows).indexed == 60
        assert [index.count_objects(f"c{n % 2}", f"b{n % 3}") for n in range(6)] == [10] * 6
        assert index.query("c1", "b2", "number5") == ["o5"]
        assert index.verify() == []


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("compat", some(["none", "sonic"], 2))
def test_rows_of_buckets_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compat: str, new: bool) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 150)
    chance = random.Random(f"{compat}{new}")
    rows = [(f"c{chance.randrange(2)}", f"b{chance.randrange(4)}", *row) for row in random_rows(5, 300)]
    with (
        open_index(tmp_path / "one", server__compat=compat) as one,
        open_index(tmp_path / "many", server__compat=compat) as many,
    ):
        there, seen = [], set()
        for number, (collection, bucket, oid, text) in enumerate(rows):
            if new and (collection, bucket, oid) in seen:
                there.append(number)
            else:
                seen.add((collection, bucket, oid))
                one.push(collection, bucket, oid, text)
        report = many.push_many(rows, new=new)
        assert [refused.row for refused in report.refused] == there
        assert report.indexed == len(rows) - len(there)
        assert everything(one) == everything(many)
        assert many.verify() == []


def test_refused_rows_are_told_in_order_and_the_others_are_there(tmp_path: Path) -> None:
    rows: list[Any] = [
        ("o0", "hello"), ("two words", "x"), ("o2", "lone \ud800"), ("o3", None), ("o4", "world"), "junk",
    ]  # fmt: skip
    with open_index(tmp_path) as index:
        report = index.push_many(rows, collection=C, bucket=B)
        assert report.indexed == 2
        assert [(row, oid) for row, oid, _ in report.refused] == [(1, "two words"), (2, "o2"), (3, "o3"), (5, "")]
        assert "lone surrogate" in report.refused[1].reason
        assert contents(index).keys() == {"hello", "world"}
        with pytest.raises(CommandError, match="bucket is '"):
            index.push_many(rows, collection=C, bucket="")


def test_a_row_with_too_many_terms_is_refused_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("store.RECORD_MAX_BYTES", "vector_pushes.RECORD_MAX_BYTES", "changing.mutations.RECORD_BYTES_MAX"):
        monkeypatch.setattr(f"sonicpy.store.{limit}", 400)
    large = " ".join(f"word{n}" for n in range(100))
    rows = [("small", "hello"), ("large", large), ("named", {"body": large[:150]}), ("other", "world")]
    with open_index(tmp_path) as index:
        with index.batch():
            index.push(C, B, "before", "pushed before")
            for upsert in (False, True):
                report = index.push_many(rows, collection=C, bucket=B, upsert=upsert)
                assert [(row, oid) for row, oid, _ in report.refused] == [(1, "large"), (2, "named")]
                with pytest.raises(InvalidArgument, match="bytes of terms is refused: at most 400") as caught:
                    (index.upsert if upsert else index.push)(C, B, "large", large)
                assert str(caught.value) == report.refused[0].reason
                assert report.indexed == 2
        assert contents(index) == {"pushed": {"before"}, "before": {"before"}, "hello": {"small"}, "world": {"other"}}


def named_row(number: int, *, values: dict[str, Any] | None = None, texts: dict[str, str] | None = None) -> Row:
    text = " ".join(texts.values()) if texts else "hello"
    return Row(C, B, f"o{number}", text, None, None, None, values, texts)


@pytest.mark.parametrize("upsert", [False, True])
@pytest.mark.parametrize("kind", ["values", "texts"])
def test_a_row_for_which_its_bucket_has_no_room_is_refused_alone(tmp_path: Path, kind: str, upsert: bool) -> None:
    room, content = {"values": (VALUES_MAX, 7), "texts": (TEXTS_MAX, "hello")}[kind]
    rows: list[Any] = [named_row(number, **{kind: {f"n{number}": content}}) for number in range(1, room + 3)]
    rows += [named_row(80, **{kind: {"n1": content}}), (C, "other", "o90", "hello")]
    with open_index(tmp_path) as index:
        if kind == "values":
            index.push(C, B, "first", "hello", values={"n0": 1})
        else:
            index.push(C, B, "first", "hello", field="n0")
        report = index.push_many(rows, upsert=upsert)
        assert [refused.object for refused in report.refused] == [f"o{number}" for number in range(room, room + 3)]
        assert all(f"allowed are {room}" in refused.reason for refused in report.refused)
        assert report.indexed == len(rows) - 3
        assert index.count_objects(C, B) == room + 1
        assert index.count_objects(C, "other") == 1
        report = index.push_many(rows, upsert=upsert)
        assert report.refused_count == 3, "also when the bucket had no room before"
        if kind == "values":
            with pytest.raises(InvalidArgument) as caught:
                index.push(C, B, "last", "hello", values={f"n{room}": 1})
            assert str(caught.value) == report.refused[0].reason
        assert index.verify() == []


def test_a_refused_row_takes_no_room(tmp_path: Path) -> None:
    vectors = {"short": "vector:" + "AAAAAAAAAAA=", "long": "vector:" + "AAAAAAAAAAAAAAAAAAAAAA=="}
    names = {f"n{number}": 1 for number in range(VALUES_MAX)}
    with open_index(tmp_path) as index:
        rows = [
            Row(C, B, "o1", "hello", None, bits_of("vector", vectors["short"]), None, {"n0": 1}),
            Row(C, B, "o2", "hello", None, bits_of("vector", vectors["long"]), None, {"more": 1}),
            Row(C, B, "o3", "hello", None, None, None, names),
        ]
        report = index.push_many(rows)
        assert [refused.object for refused in report.refused] == ["o2"]
        assert index.values_of_objects(C, B, ["o3"]) == [names]


def test_new_refuses_objects_that_are_there(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.push(C, B, "old", "first")
        rows = [("a", "one"), ("old", "second"), ("b", "two"), ("a", "three")]
        report = index.push_many(rows, collection=C, bucket=B, new=True)
        assert report.indexed == 2
        assert report.refused == [
            Refused(1, "old", "the object exists already"), Refused(3, "a", "the object exists already"),
        ]  # fmt: skip
        assert contents(index) == {"first": {"old"}, "one": {"a"}, "two": {"b"}}
        assert index.verify() == []
    with open_index(tmp_path) as again:
        assert again.count_objects(C, B) == 3


def test_a_generator_may_use_the_index_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 5)
    with open_index(tmp_path) as index:

        def rows() -> Iterator[tuple[str, str]]:
            for number in range(20):
                index.push(C, B, f"x{number}", "pushed beside")
                assert index.query(C, B, "beside", limit=1)
                yield f"o{number}", "pushed in rows"

        assert index.push_many(rows(), collection=C, bucket=B).indexed == 20
        assert len(index.query(C, B, "pushed", limit=100)) == 40


def test_a_generator_that_fails_leaves_whole_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 5)

    def rows() -> Iterator[tuple[str, str]]:
        for number in range(12):
            yield f"o{number}", "hello"
        raise RuntimeError("the source is gone")

    with open_index(tmp_path) as index:
        with pytest.raises(RuntimeError, match="the source is gone") as caught:
            index.push_many(rows(), collection=C, bucket=B)
        assert index.count_objects(C, B) == 10
        assert caught.value.__notes__ == ["10 rows were indexed before, up to row 10"]
        index.push(C, B, "o", "hello")
        assert index.verify() == []


def test_an_error_of_progress_tells_how_many_rows_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 5)

    def progress(rows: int) -> None:
        if rows == 10:
            raise RuntimeError("the bar is gone")

    with open_index(tmp_path) as index:
        with pytest.raises(RuntimeError, match="the bar is gone") as caught:
            index.push_many([(str(n), "hello") for n in range(12)], collection=C, bucket=B, progress=progress)
        assert caught.value.__notes__ == ["10 rows were indexed before, up to row 10"]
        assert index.count_objects(C, B) == 10


def test_inside_a_batch(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.batch() as batch:
        batch.push(C, B, "a", "hello")
        assert batch.push_many([("b", "hello"), ("c", "hello")], collection=C, bucket=B).indexed == 2
        assert len(batch.query(C, B, "hello")) == 3, "a batch sees itself"


def test_other_threads_write_and_read_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 50)
    with open_index(tmp_path) as index:

        def push(number: int) -> None:
            rows = [(f"t{number}-{n}", f"shared own{number} word{n}") for n in range(500)]
            assert index.push_many(rows, collection=C, bucket=B, lang="none").indexed == 500

        threads = [threading.Thread(target=push, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            hits = index.query(C, B, "shared", limit=2_000, total=True)
            assert hits.total is not None and hits.total % 50 == 0, "chunks are seen as a whole"
        for thread in threads:
            thread.join()
        assert index.query(C, B, "own1", total=True).total == 500
        assert index.verify() == []


def test_a_full_disk_tells_how_many_rows_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 10)
    with open_index(tmp_path) as index:
        written = log.os.write
        left = [3]

        def write(descriptor: int, data: bytes) -> int:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
            return written(descriptor, data)

        with monkeypatch.context() as broken:
            broken.setattr(log.os, "write", write)
            with pytest.raises(StoreFull) as caught:
                index.push_many([(f"o{n}", "hello") for n in range(100)], collection=C, bucket=B)
        assert caught.value.__notes__ == ["30 rows were indexed before, up to row 30"]
        assert index.count_objects(C, B) == 30
        assert index.push_many([(f"o{n}", "hello") for n in range(100)], collection=C, bucket=B).indexed == 100
        assert index.verify() == []


def test_a_bucket_has_the_same_methods(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        bucket = index.bucket("messages", "default")
        assert bucket == index.bucket("messages", "default") != index.bucket("messages", "other")
        bucket.push("m1", "hello world", "none")
        assert bucket.push_many([{"key": "m2", "body": "hello again"}], object="key", text="body").indexed == 1
        assert bucket.query("hello", total=True, limit=1).total == 2
        assert bucket.suggest("wor") == ["world"]
        assert str(bucket.explain("hello")) == str(index.explain("messages", "default", "hello"))
        assert bucket.words(limit=2) == ["again", "hello"]
        assert (bucket.count(), bucket.count("m1"), bucket.count_objects()) == (3, 2, 2)
        assert bucket.stats() == index.stats("messages", "default")
        assert bucket.pop("m1", "hello") == 1
        assert bucket.flush("m2") == 2
        assert (bucket.flush(), bucket.count()) == (1, 0)
        with pytest.raises(CommandError, match="collection is 'two words'; allowed are"):
            index.bucket("two words", "b")
        assert "messages / default" in bucket._repr_html_() and ">0</td>" in bucket._repr_html_()
        assert "Index in" in index._repr_html_()
        assert repr(bucket) == f"{index!r}.bucket('messages', 'default')"


class Deaf:
    """An index without any methods."""

    def __getattr__(self, name: str) -> Any:
        raise StoreError(f"<{name}> is not offered")


def test_a_bucket_shows_its_names_where_figures_are_not_offered() -> None:
    index: Any = Deaf()
    assert "&lt;stats&gt; is not offered" in Bucket(index, "c", "b")._repr_html_()


def test_word_graphs_are_built_on_the_way(in_tables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 50)
    monkeypatch.setattr("sonicpy.index.maintenance.maintainer.BACKLOG_WORDS", 100)
    pending: list[int] = []
    with open_index(tmp_path) as index:
        rows = ((f"o{n}", f"word{n} other{n} more{n}") for n in range(2_500))
        index.push(C, "untouched", "o", " ".join(f"w{n}" for n in range(150)))
        index.push_many(
            rows,
            collection=C,
            bucket=B,
            lang="none",
            progress=lambda _: pending.append(index.stats(C, B)["graph"]["edits_since"]),
        )
        assert max(pending) < 5_000 < 7_500 == index.count(C, B)
        assert index.stats(C, B)["pending_words"] < 150 <= index.stats(C, "untouched")["pending_words"]
        assert "word2499" in index.suggest(C, B, "wrod2499")


@pytest.mark.parametrize("wrong", [{"values": 5}, {"values": [5]}, {"progress": 5}, {"tags": 5}], ids=str)
def test_a_wrong_argument_is_one_sentence_and_nothing_is_pushed(wrong: dict[str, Any]) -> None:
    with sonicpy.open(":memory:") as index:
        with pytest.raises(InvalidArgument, match=f"^{next(iter(wrong))} is .*; allowed are "):
            index.push_many([{"id": 1, "text": "x"}], collection=C, bucket=B, **wrong)
        assert index.count_objects(C, B) == 0


def test_rows_of_many_buckets_share_larger_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 10)
    monkeypatch.setattr(push_many, "SPREAD_BUCKETS", 4)
    spread: list[int] = []
    few: list[int] = []
    with open_index(tmp_path) as index:
        rows = [{"bucket": f"b{n % 5}", "object": f"o{n}", "text": f"word{n}"} for n in range(64)]
        assert index.push_many(rows, collection=C, progress=spread.append).indexed == 64
        rows = [{"bucket": f"d{n % 4}", "object": f"o{n}", "text": f"word{n}"} for n in range(24)]
        assert index.push_many(rows, collection=C, progress=few.append).indexed == 24
        assert [index.query(C, f"b{n % 5}", f"word{n}").objects for n in range(64)] == [[f"o{n}"] for n in range(64)]
    assert (spread, few) == ([30, 60, 64], [10, 20, 24])
