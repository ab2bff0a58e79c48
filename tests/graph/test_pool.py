"""The files of graphs are opened on demand, written completely or not at all, and tidied up at the start."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from sonicpy.errors import GraphError
from sonicpy.graph.graph_pool import GraphName, GraphPool
from tests.graph.graphs import content_of

OLD_WORDS = [b"anker", b"birne", b"dampf"]
NEW_WORDS = [b"eiche", b"feder"]
OLD, NEW = content_of(OLD_WORDS, bucket=1, version=1), content_of(NEW_WORDS, bucket=1, version=2)

FOUND_AT_START = [
    ("1-1.graph", True, "a state names it"),
    ("12-345.graph", True, "a state names it, with more digits"),
    ("1-2.graph", False, "written, and killed before any state named it"),
    ("1-0.graph", False, "the one before, and killed before it went"),
    ("9-1.graph", False, "its bucket was flushed"),
    ("1-1.graph.new", False, "half written"),
    ("9-7.graph.new", False, "half written, of another bucket"),
    ("1-1.graph.bak", True, "a copy that somebody made"),
    ("1-1.graph.new~", True, "a copy that somebody's editor made"),
    ("x1-2.graph", True, "not a name of ours: letters before"),
    ("1-2-3.graph", True, "not a name of ours: three numbers"),
    ("-1-2.graph", True, "not a name of ours: no number is negative"),
    ("notes.graph", True, "not a name of ours"),
    ("1-2.GRAPH", True, "not a name of ours: capitals"),
    ("readme.txt", True, "another kind of file"),
]

DAMAGES = [
    (b"", "empty"),
    (OLD[:1], "one byte"),
    (OLD[: len(OLD) // 2], "cut in half"),
    (OLD[:-1], "the last byte is missing"),
    (OLD + b"\0", "a byte too many"),
    (bytes(len(OLD)), "zeros, as after a power cut"),
    (b"SQLite format 3\0" + OLD[16:], "another kind of file"),
]


@pytest.fixture
def pool(tmp_path: Path) -> GraphPool:
    pool = GraphPool(tmp_path / "graph")
    pool.write(1, 1, OLD)
    return pool


class TestOpening:
    def test_a_graph_is_opened_once(self, pool: GraphPool) -> None:
        assert len(pool) == 0, "opened when first asked for"
        graph = pool.get(1, 1)
        assert graph is not None and graph.words(0, -1) == OLD_WORDS
        assert pool.get(1, 1) is graph
        assert len(pool) == 1

    def test_version_0_is_no_graph_and_no_fault(self, pool: GraphPool, caplog: pytest.LogCaptureFixture) -> None:
        assert pool.get(1, 0) is None and pool.get(2, 0) is None
        assert (pool.broken, caplog.records, len(pool)) == (set(), [], 0)

    def test_another_version_takes_the_place(self, pool: GraphPool) -> None:
        before = pool.get(1, 1)
        pool.write(1, 2, NEW)
        after = pool.get(1, 2)
        assert before is not None and after is not None
        assert (before.words(0, -1), after.words(0, -1)) == (OLD_WORDS, NEW_WORDS)
        assert pool.get(1, 2) is after and len(pool) == 1

    def test_who_looks_at_an_older_version_gets_the_newer_graph(
        self, pool: GraphPool, caplog: pytest.LogCaptureFixture
    ) -> None:
        pool.write(1, 2, NEW)
        newer = pool.get(1, 2)
        pool.remove(1, 1)
        assert pool.get(1, 1) is newer and pool.get(1, 2) is newer
        assert (pool.broken, caplog.records) == (set(), [])

    def test_a_missing_graph_is_noted_and_said_once(self, pool: GraphPool, caplog: pytest.LogCaptureFixture) -> None:
        for _ in range(3):
            assert pool.get(7, 3) is None
        assert pool.broken == {7} and len(pool) == 0
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "7-3.graph" in caplog.text and "No such file" in caplog.text
        assert pool.get(1, 1) is not None, "the others are not touched"

    @pytest.mark.parametrize(("content", "why"), DAMAGES, ids=[case[-1] for case in DAMAGES])
    def test_a_damaged_graph_is_noted_and_said_once(
        self, pool: GraphPool, caplog: pytest.LogCaptureFixture, content: bytes, why: str
    ) -> None:
        pool.path(1, 1).write_bytes(content)
        for _ in range(3):
            assert pool.get(1, 1) is None
        assert pool.broken == {1} and len(pool) == 0
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "1-1.graph" in caplog.text

    def test_a_flipped_bit_anywhere_is_noticed(self, pool: GraphPool) -> None:
        for place in range(len(OLD)):
            flipped = bytearray(OLD)
            flipped[place] ^= 1 << place % 8
            pool.path(1, 1).unlink()
            pool.path(1, 1).write_bytes(flipped)
            pool.broken.clear()
            assert pool.get(1, 1) is None, f"bit {place % 8} of byte {place}"

    def test_a_graph_built_again_is_opened(self, pool: GraphPool) -> None:
        pool.path(1, 1).write_bytes(OLD[:-1])
        assert pool.get(1, 1) is None
        pool.write(1, 2, NEW)
        pool.broken.discard(1)
        graph = pool.get(1, 2)
        assert graph is not None and graph.words(0, -1) == NEW_WORDS


class TestWriting:
    def test_the_file_has_its_own_name_and_no_other(self, pool: GraphPool) -> None:
        pool.write(12, 345, NEW)
        assert names(pool) == ["1-1.graph", "12-345.graph"]
        assert pool.path(12, 345).read_bytes() == NEW

    def test_what_was_left_half_written_is_written_over(self, pool: GraphPool) -> None:
        half = pool.folder / "1-2.graph.new"
        half.write_bytes(b"x" * 10_000)
        pool.write(1, 2, NEW)
        assert pool.path(1, 2).read_bytes() == NEW
        assert not half.exists()

    @pytest.mark.parametrize("call", ["os.replace", "sonicpy.graph.graph_pool.sync_file"])
    def test_a_fault_of_the_disk_leaves_no_graph(self, pool: GraphPool, call: str) -> None:
        full = OSError(errno.ENOSPC, "No space left on device")
        with (
            mock.patch(call, side_effect=full),
            pytest.raises(GraphError, match="1-2.graph: No space left on device"),
        ):
            pool.write(1, 2, NEW)
        assert not pool.path(1, 2).exists()
        graph = pool.get(1, 1)
        assert graph is not None and graph.words(0, -1) == OLD_WORDS
        pool.write(1, 2, NEW)
        assert names(pool) == ["1-1.graph", "1-2.graph"]

    def test_the_bytes_are_on_the_disk_before_the_name_is_there(self, pool: GraphPool) -> None:
        done: list[str] = []

        def sync(number: int) -> None:
            done.append("sync" if os.fstat(number).st_size == len(NEW) else "sync of something else")

        def rename(old: Path, new: Path) -> None:
            done.append(f"{old.name} to {new.name}")

        with mock.patch("sonicpy.graph.graph_pool.sync_file", sync), mock.patch.object(os, "replace", rename):
            pool.write(1, 2, NEW)
        assert done == ["sync", "1-2.graph.new to 1-2.graph"]

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "graph").write_text("not a folder")
        with pytest.raises(GraphError, match="cannot write the word graph .*1-1.graph: "):
            GraphPool(tmp_path / "graph").write(1, 1, OLD)


class TestReplacing:
    def test_who_holds_a_graph_reads_on_when_it_is_replaced_and_gone(self, pool: GraphPool) -> None:
        graph = pool.get(1, 1)
        assert graph is not None
        half_way = graph.completions(b"")
        assert next(half_way) == OLD_WORDS[0]
        pool.write(1, 2, NEW)
        pool.close(1)
        pool.remove(1, 1)
        assert names(pool) == ["1-2.graph"]
        assert graph.words(0, -1) == OLD_WORDS
        assert graph.correct(b"birme", 1, transpositions=True).matches == [(b"birne", 1)]
        del graph
        assert list(half_way) == OLD_WORDS[1:], "an iterator alone is enough"

    def test_the_same_name_is_replaced_without_touching_who_reads(self, pool: GraphPool) -> None:
        graph = pool.get(1, 1)
        assert graph is not None
        pool.write(1, 1, content_of([b"other"]))
        assert graph.words(0, -1) == OLD_WORDS

    def test_what_is_not_there_can_be_removed_and_closed(self, pool: GraphPool) -> None:
        pool.remove(1, 77)
        pool.remove(77, 1)
        pool.close(77)
        assert names(pool) == ["1-1.graph"]


class TestIdle:
    def test_a_graph_closes_when_nobody_has_asked_for_so_long(
        self, pool: GraphPool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 1_000.0
        monkeypatch.setattr("sonicpy.graph.graph_pool.time", SimpleNamespace(monotonic=lambda: now))
        pool.write(2, 1, content_of([b"zwei"], bucket=2))
        first, _ = pool.get(1, 1), pool.get(2, 1)
        now += 200
        assert pool.get(2, 1) is not None
        now += 100
        pool.close_idle(300)
        assert len(pool) == 2, "not longer than 300 s"
        now += 1
        pool.close_idle(300)
        assert len(pool) == 1, "301 s for the first, 101 s for the second"
        pool.close_idle(100)
        assert len(pool) == 0
        again = pool.get(1, 1)
        assert again is not None and again is not first, "opened again when asked for"
        assert again.words(0, -1) == OLD_WORDS
        assert pool.broken == set()


class TestTidying:
    NAMED = frozenset({GraphName(1, 1), GraphName(12, 345)})

    @pytest.mark.parametrize(("name", "stays", "why"), FOUND_AT_START, ids=[case[-1] for case in FOUND_AT_START])
    def test_one_file(self, tmp_path: Path, name: str, stays: bool, why: str) -> None:
        (tmp_path / name).write_bytes(OLD)
        GraphPool(tmp_path).tidy(set(self.NAMED))
        assert (tmp_path / name).exists() is stays

    def test_all_at_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        for name, _, _ in FOUND_AT_START:
            (tmp_path / name).write_bytes(OLD)
        pool = GraphPool(tmp_path)
        pool.tidy(set(self.NAMED))
        assert names(pool) == sorted(name for name, stays, _ in FOUND_AT_START if stays)
        assert (pool.broken, caplog.records) == (set(), [])

    def test_missing_graphs_are_to_be_built_again(self, pool: GraphPool) -> None:
        (pool.folder / "5-2.graph.new").write_bytes(OLD)
        (pool.folder / "6-1.graph").write_bytes(OLD)
        pool.tidy({GraphName(1, 1), GraphName(5, 2), GraphName(6, 2)})
        assert pool.broken == {5, 6}, "half a file and an older one are none"
        assert names(pool) == ["1-1.graph"]

    def test_no_folder_yet(self, tmp_path: Path) -> None:
        pool = GraphPool(tmp_path / "graph")
        pool.tidy(set())
        assert pool.broken == set()
        pool.tidy({GraphName(1, 1)})
        assert pool.broken == {1}
        assert not pool.folder.exists(), "made when the first graph is written"

    def test_a_folder_with_the_name_of_a_graph_is_left_alone(self, pool: GraphPool) -> None:
        (pool.folder / "3-3.graph").mkdir()
        pool.tidy({GraphName(1, 1)})
        assert names(pool) == ["1-1.graph", "3-3.graph"]


def names(pool: GraphPool) -> list[str]:
    return sorted(path.name for path in pool.folder.iterdir())
