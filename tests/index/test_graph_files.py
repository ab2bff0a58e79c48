"""Files of word graphs: damaged and missing files, those of a killed consolidation, and graphs that cannot be built."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from sonicpy.errors import GraphError, SonicError, StoreDamaged, StoreError, StoreFull
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.index.maintenance.consolidate import build_in_worker
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import WORDS as WORDS_TABLE
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.keys import word_key
from tests.index.graphs import (
    IN_SONICS_WAY,
    WORDS,
    build,
    corrected,
    graph_files,
    publish_and_prune,
)
from tests.index.shorthand import B, C, found, open_index, push
from tests.support.patience import WAIT_S

pytestmark = pytest.mark.usefixtures("in_tables")

DAMAGES: list[tuple[Callable[[bytes], bytes | None], str]] = [
    (lambda content: None, "missing"),
    (lambda content: b"", "empty"),
    (lambda content: content[: len(content) // 2], "cut in half"),
    (lambda content: content[:-1], "a byte short"),
    (lambda content: content[:40] + bytes([content[40] ^ 16]) + content[41:], "a bit flipped"),
    (lambda content: bytes(len(content)), "zeros"),
]


def damage(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    content = change(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)


class TestFiles:
    @pytest.mark.parametrize(("change", "why"), DAMAGES, ids=[case[-1] for case in DAMAGES])
    @pytest.mark.parametrize("live", [True, False])
    def test_a_damaged_graph_is_built_again(
        self,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        change: Callable[[bytes], bytes | None],
        why: str,
        live: bool,
    ) -> None:
        with open_index(tmp_path, search__live_words=live) as index:
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            path = index.engine.graphs.path(0, 1)
        damage(path, change)
        with open_index(tmp_path, search__live_words=live) as index:
            for _ in range(2):
                assert [found(index, word) for word in WORDS] == [["o"]] * len(WORDS), "what was typed is found"
                assert index.count_words(C, B) == len(WORDS)
                assert index.words(C, B) == (WORDS if live else [])
                assert index.suggest(C, B, "ank") == (["anker"] if live else [])
                assert corrected(index) == set(), "that takes a graph"
            assert index.maintainer.due_buckets() == [0]
            assert len(index.engine.store.pending_buckets()) == 0
            errors = [record.getMessage() for record in caplog.records]
            if why == "missing":
                assert errors == [], "found out at the start, as after a restore without the folder"
            else:
                assert len(errors) == 1 and "0-1.graph" in errors[0], "said once"
            index.consolidate()
            assert (index.words(C, B), corrected(index)) == (WORDS, set(WORDS))
            assert (index.maintainer.due_buckets(), graph_files(index)) == ([], ["0-2.graph"])
            assert len(caplog.records) == len(errors)
        with open_index(tmp_path, search__live_words=live) as index:
            assert (index.words(C, B), corrected(index)) == (WORDS, set(WORDS))

    def test_a_missing_graph_is_due_before_anybody_asks(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            index.engine.graphs.path(0, 1).unlink()
        with open_index(tmp_path) as index:
            assert index.maintainer.due_buckets() == [0]
            index.consolidate()
            assert (corrected(index), graph_files(index)) == (set(WORDS), ["0-2.graph"])

    def test_the_whole_folder_is_gone(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            for bucket in ("a", "b", "c"):
                index.push(C, bucket, "o", " ".join(WORDS), "none")
            index.consolidate()
            for name in graph_files(index):
                (index.engine.graphs.folder / name).unlink()
            index.engine.graphs.folder.rmdir()
        with open_index(tmp_path) as index:
            index.consolidate()
            assert [corrected(index, bucket) for bucket in ("a", "b", "c")] == [set(WORDS)] * 3

    def test_a_broken_bucket_that_is_flushed_is_forgotten(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            damage(index.engine.graphs.path(0, 1), lambda content: content[:-1])
            index.engine.graphs.close(0)
            assert (corrected(index), index.maintainer.due_buckets()) == (set(), [0])
            index.flush_bucket(C, B)
            index.consolidate()
            assert index.maintainer.due_buckets() == []
            push(index, "o", " ".join(WORDS))
            assert corrected(index) == set(WORDS)

    def test_what_a_killed_build_left_behind_is_never_used(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker birne")
            index.consolidate()
            push(index, "o", "dampf")
            whole = index.engine.graphs.path(0, 1).read_bytes()
            folder = index.engine.graphs.folder
        leftovers = {
            "0-2.graph": whole,  # renamed, but no state names it; what is in it is out of date
            "0-2.graph.new": whole[:30],
            "0-1.graph.new": whole[:30],
            "0-0.graph": whole,
            "7-1.graph": whole,
        }
        for name, content in leftovers.items():
            (folder / name).write_bytes(content)
        (folder / "0-1.graph.bak").write_bytes(b"of somebody else")
        with open_index(tmp_path) as index:
            assert graph_files(index) == ["0-1.graph", "0-1.graph.bak"]
            assert corrected(index) == {"anker", "birne", "dampf"}
            index.consolidate()
            assert graph_files(index) == ["0-1.graph.bak", "0-2.graph"]
            assert corrected(index) == {"anker", "birne", "dampf"}
            assert (folder / "0-1.graph.bak").read_bytes() == b"of somebody else"

    def test_after_publishing_the_older_file_goes(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            for version, word in enumerate(WORDS, 1):
                push(index, "o", word)
                index.consolidate()
                assert graph_files(index) == [f"0-{version}.graph"]
                assert corrected(index) == set(WORDS[:version])

    def test_nothing_changed_nothing_built(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            index.consolidate()
            push(index, "p", "anker")
            index.pop(C, B, "p", "anker")
            index.consolidate()
            assert graph_files(index) == ["0-1.graph"]


CRASH = """
import os, signal, sys
from unittest import mock
from pathlib import Path
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.views.write_cache import WriteCache
from tests.index.shorthand import open_index, push

WriteCache.begins_small = False

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

index = open_index(Path(sys.argv[1]))
push(index, "o", "anker birne")
index.consolidate()
push(index, "p", "dampf")
index.pop("collection", "bucket", "o", "anker")
where = {"rename": (os, "replace"), "commit": (Environment, "commit"), "deletion": (GraphPool, "remove")}
with mock.patch.object(*where[sys.argv[2]], die):
    index.consolidate()
"""

CRASHES = [
    ("rename", ["0-1.graph", "0-2.graph.new"], "before the file has its name"),
    ("commit", ["0-1.graph", "0-2.graph"], "before a state names the file"),
    ("deletion", ["0-1.graph", "0-2.graph"], "before the older file is gone"),
]


@pytest.mark.full
@pytest.mark.parametrize(("point", "files", "why"), CRASHES, ids=[case[-1] for case in CRASHES])
def test_killed_while_consolidating(tmp_path: Path, point: str, files: list[str], why: str) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path), point], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path / "store" / "graph")) == files
    with open_index(tmp_path) as index:
        assert len(graph_files(index)) == 1
        for _ in range(2):
            assert index.words(C, B) == ["birne", "dampf"]
            assert corrected(index) == {"birne", "dampf"}
            assert (found(index, "anker"), found(index, "dampf")) == ([], ["p"])
            index.consolidate()
        assert index.maintainer.due_buckets() == []


def refuse(environment: Environment, transaction: Transaction) -> None:
    """Fail as a commit on a full disk does."""
    environment.abort(transaction)
    raise StoreFull("no room")


class TestFailures:
    def test_one_bucket_that_cannot_be_built_does_not_hold_up_the_others(self, tmp_path: Path) -> None:
        buckets = ["a", "b", "c"]
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            for bucket in buckets:
                index.push(C, bucket, "o", "anker", "none")
            in_the_way = index.engine.graphs.folder / "0-1.graph.new"
            in_the_way.mkdir(parents=True)
            with pytest.raises(GraphError, match=r"0-1\.graph"):
                index.consolidate()
            assert [index.words(C, bucket) for bucket in buckets] == [[], ["anker"], ["anker"]]
            assert index.maintainer.due_buckets() == [0], "its words stay pending"
            in_the_way.rmdir()
            index.consolidate()
            assert [index.words(C, bucket) for bucket in buckets] == [["anker"]] * 3

    def test_the_old_graph_stays_if_the_new_one_cannot_be_committed(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", "anker")
            index.consolidate()
            push(index, "o", "birne")
            built = build(index)
            with mock.patch.object(Environment, "commit", refuse), pytest.raises(StoreError, match="no room"):
                index.maintainer.publish_graphs([built])
            assert (index.words(C, B), corrected(index)) == (["anker"], {"anker"})
            assert "0-1.graph" in graph_files(index)
            index.consolidate()
            assert (index.words(C, B), corrected(index)) == (["anker", "birne"], {"anker", "birne"})
            assert graph_files(index) == ["0-2.graph"]

    @pytest.mark.parametrize(
        ("change", "error", "why"),
        [
            (lambda rows: rows.put(WORDS_TABLE, word_key(0, b"birne"), b"\xff"), StoreDamaged, "cut off"),
            (lambda rows: rows.put(WORDS_TABLE, word_key(0, b"bi\xffrne"), live_row(rows)), GraphError, "UTF-8"),
        ],
        ids=["a row", "a key"],
    )
    def test_damaged_rows_of_one_bucket_do_not_hold_up_the_others(
        self, tmp_path: Path, change: Callable[[Transaction], None], error: type[SonicError], why: str
    ) -> None:
        buckets = ["a", "b", "c"]
        with open_index(tmp_path) as index:
            for bucket in buckets:
                index.push(C, bucket, "o", "anker birne", "none")
            index.engine.commit()
            index.engine.store.maintain(lambda view: change(view.transaction))
            index.engine.commit()
            with pytest.raises(error, match=why):
                index.consolidate()
            assert graph_files(index) == ["1-1.graph", "2-1.graph"]
            assert index.maintainer.due_buckets() == [0], "its words stay pending"

            folder, limits = index.engine.store.folder, index.maintainer.graph_limits
        for together in (1, 3):
            built, errors = build_in_worker(folder, 1 << 30, [0, 1, 2], limits, together)
            assert [each.bucket for each in built] == [1, 2]
            assert [type(each) for each in errors] == [error]

    @pytest.mark.parametrize("times", [1, 2])
    def test_a_publication_that_a_full_map_undoes_is_made_again(self, tmp_path: Path, times: int) -> None:
        commit = Environment.commit
        left = [times]

        def fill(environment: Environment, transaction: Transaction) -> None:
            left[0] -= 1
            if left[0] >= 0:
                raise MapFull("no room")
            commit(environment, transaction)

        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            index.consolidate()
            push(index, "o", "birne")
            built = build(index)
            with mock.patch.object(Environment, "commit", fill):
                publish_and_prune(index, built)
            assert index.maintainer.due_buckets() == [], "the graph is that of the bucket"
            index.consolidate()
            assert graph_files(index) == ["0-2.graph"]
            assert corrected(index) == {"anker", "birne"}
            assert index.verify() == []


def live_row(rows: Transaction) -> bytes:
    """Return the row of a word that an object holds."""
    row = rows.get(WORDS_TABLE, word_key(0, b"birne"))
    assert row is not None
    return row


def test_others_read_while_the_next_graph_is_built(tmp_path: Path) -> None:
    finish = WordGraphBuilder.finish
    answers: list[list[str]] = []

    def finish_once_read(builder: WordGraphBuilder, bucket: int, version: int) -> bytes:
        reader = threading.Thread(target=lambda: answers.append(found(index, "anker")), daemon=True)
        reader.start()
        reader.join(WAIT_S)
        assert answers.pop() == ["o"]
        return finish(builder, bucket, version)

    with open_index(tmp_path) as index, mock.patch.object(WordGraphBuilder, "finish", finish_once_read):
        for bucket in (B, "second", "third"):
            index.push(C, bucket, "o", "anker", "none")
        index.consolidate()
        assert len(graph_files(index)) == 3
