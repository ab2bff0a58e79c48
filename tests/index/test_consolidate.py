"""Consolidation as a library does it: build from a commit, adopt, tidy, and whatever may happen in between."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.errors import GraphError, StoreError, StoreFull
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.index.maintenance.consolidate import Built, GraphLimits, changed_words, read_changes, read_words
from sonicpy.index.search.lexicon import PENDING_CACHED, Lexicon, Lexicons
from sonicpy.store.environment import Environment, Transaction
from sonicpy.store.log import Log
from sonicpy.store.view import View
from tests.index.shorthand import B, C, found, open_index, push

WORDS = ["anker", "birne", "dampf", "eiche", "feder", "grube", "hafen", "insel"]
"""No two of them are near each other."""

COMPAT = {"server__compat": "sonic"}
IN_SONICS_WAY = {"search__live_words": False, "search__suggest_order": "alphabetical"}


def graph_files(index: Index) -> list[str]:
    return sorted(path.name for path in index.maintainer.engine.graphs.folder.glob("*"))


def bucket_id(index: Index, bucket: str = B) -> int:
    with index.maintainer.engine.store.reading() as view:
        state = view.bucket(C, bucket)
        assert state is not None
        return state.bucket


def pending_words(index: Index, bucket: str = B) -> set[str]:
    with index.maintainer.engine.store.reading() as view:
        state = view.bucket(C, bucket)
        assert state is not None
        return {word.decode() for word in view.pending_words(state)}


def build(index: Index, bucket: str = B) -> Built:
    index.maintainer.commit()
    built = index.maintainer.build_graph(bucket_id(index, bucket))
    assert built is not None
    return built


def publish_and_prune(index: Index, built: Built) -> None:
    index.maintainer.publish_graphs([built])
    start: bytes | None = b""
    while start is not None:
        start = index.maintainer.prune_pending(built, start)
    index.maintainer.commit()


def typo(word: str) -> str:
    return f"{word[:2]}q{word[3:]}"


def corrected(index: Index, bucket: str = B) -> set[str]:
    """Return which of WORDS a typo in them finds."""
    return {word for word in WORDS if index.suggest(C, bucket, typo(word)) == [word]}


class Model:
    """A bucket, changed in the index and in a dictionary."""

    changes = st.lists(
        st.tuples(
            st.sampled_from(["push", "push", "pop", "flush"]),
            st.sampled_from("opq"),
            st.sets(st.sampled_from(WORDS), min_size=1, max_size=4),
        ),
        max_size=5,
    )

    def __init__(self, index: Index, bucket: str) -> None:
        self.index = index
        self.bucket = bucket
        self.objects: dict[str, set[str]] = {}

    def change(self, changes: list[tuple[str, str, set[str]]]) -> None:
        for verb, oid, words in changes:
            held = self.objects.setdefault(oid, set())
            if verb == "push":
                self.index.push(C, self.bucket, oid, " ".join(sorted(words)), "none")
                held |= words
            elif verb == "pop":
                assert self.index.pop(C, self.bucket, oid, " ".join(sorted(words))) == len(held & words)
                held -= words
            else:
                assert self.index.flush_object(C, self.bucket, oid) == len(held)
                held.clear()

    def words(self) -> set[str]:
        return set().union(*self.objects.values())


@pytest.fixture(scope="module", params=[True, False], ids=["live", "after consolidation"])
def shared_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index whose tests keep to buckets of their own; never closed, as a process that ends early would."""
    given = {} if request.param else IN_SONICS_WAY
    index = open_index(tmp_path_factory.mktemp("shared"), **given)
    request.addfinalizer(index.close)
    return index


class TestMeanwhile:
    """What changes while a graph is being built is not in it, and is not forgotten either."""

    numbers = count()

    @settings(deadline=None, max_examples=60)
    @given(data=st.data())
    def test_as_if_one_after_the_other(self, shared_index: Index, data: st.DataObject) -> None:
        index, model = shared_index, Model(shared_index, f"model{next(self.numbers)}")
        index.push(C, model.bucket, "o", WORDS[0], "none")
        model.objects["o"] = {WORDS[0]}
        model.change(data.draw(Model.changes, label="before"))
        at_snapshot = model.words()
        built = build(index, model.bucket)
        model.change(data.draw(Model.changes, label="while it is built"))
        index.maintainer.publish_graphs([built])
        self.check(index, model, at_snapshot)
        start: bytes | None = b""
        with mock.patch("sonicpy.index.maintenance.consolidate.PRUNED_ROWS", 2):
            while start is not None:
                start = index.maintainer.prune_pending(built, start)
                model.change(data.draw(Model.changes, label="between two steps"))
                self.check(index, model, at_snapshot)
        index.consolidate()
        self.check(index, model, model.words())
        assert pending_words(index, model.bucket) == set()
        assert built.bucket not in index.maintainer.due_buckets()
        files = [name for name in graph_files(index) if name.startswith(f"{built.bucket}-")]
        assert len(files) == 1

    @settings(deadline=None, max_examples=60)
    @given(data=st.data())
    def test_the_graph_before_and_what_changed_are_all_words(self, shared_index: Index, data: st.DataObject) -> None:
        index, model = shared_index, Model(shared_index, f"model{next(self.numbers)}")
        index.push(C, model.bucket, "o", WORDS[0], "none")
        model.objects["o"] = {WORDS[0]}
        model.change(data.draw(Model.changes, label="in the first graph"))
        built = build(index, model.bucket)
        index.maintainer.publish_graphs([built])
        if data.draw(st.booleans(), label="tidied"):
            index.maintainer.prune_pending(built, b"")
        model.change(data.draw(Model.changes, label="since then"))
        index.maintainer.commit()
        with index.maintainer.engine.store.snapshot() as view:
            changes = read_changes(view, index.maintainer.engine.graphs, built.bucket)
            whole = read_words(view, index.maintainer.engine.graphs, built.bucket, GraphLimits())
        assert changes is not None and whole is not None
        assert changed_words(changes) == whole.words == sorted(word.encode() for word in model.words())
        assert changes.seq == whole.seq

    def test_a_graph_that_lacks_a_word_is_not_built_upon(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS[:4]))
            built = build(index)
            publish_and_prune(index, built)
            index.maintainer.engine.graphs.close(built.bucket)
            builder = WordGraphBuilder()
            builder.add(WORDS[0].encode())
            index.maintainer.engine.graphs.write(
                built.bucket, built.version, builder.finish(built.bucket, built.version)
            )
            push(index, "o", WORDS[4])
            index.consolidate()
            graph = index.maintainer.engine.graphs.get(built.bucket, built.version + 1)
            assert graph is not None
            assert graph.words(0, 9) == sorted(word.encode() for word in WORDS[:5])

    @staticmethod
    def check(index: Index, model: Model, in_graph: set[str]) -> None:
        live = model.words()
        shown = live if index.config.search.live_words else in_graph
        bucket = model.bucket
        assert index.words(C, bucket) == sorted(shown)
        assert index.count_words(C, bucket) == len(shown)
        assert corrected(index, bucket) == shown
        assert {word for word in WORDS if index.query(C, bucket, word, lang="none")} == live
        assert live ^ in_graph <= pending_words(index, bucket), "what the graph does not know is pending"

    def test_a_word_popped_meanwhile_leaves_the_next_graph(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", "anker birne")
            built = build(index)
            assert index.pop(C, B, "o", "anker") == 1
            publish_and_prune(index, built)
            assert index.words(C, B) == ["anker", "birne"], "as it was when the building began"
            assert pending_words(index) == {"anker"}
            assert index.maintainer.pending_buckets() == 1
            index.consolidate()
            assert index.words(C, B) == ["birne"]
            assert pending_words(index) == set()

    def test_a_word_pushed_meanwhile_is_in_the_next_graph(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", "anker birne")
            built = build(index)
            push(index, "p", "dampf birne")
            publish_and_prune(index, built)
            assert (index.words(C, B), pending_words(index)) == (["anker", "birne"], {"dampf"})
            index.consolidate()
            assert index.words(C, B) == ["anker", "birne", "dampf"]

    def test_a_word_that_went_and_came_back_meanwhile_is_looked_at_again(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            built = build(index)
            index.pop(C, B, "o", "anker")
            push(index, "p", "anker")
            publish_and_prune(index, built)
            assert pending_words(index) == {"anker"}
            assert (index.words(C, B), corrected(index)) == (["anker"], {"anker"})
            index.consolidate()
            assert pending_words(index) == set()
            assert (index.words(C, B), corrected(index)) == (["anker"], {"anker"})

    def test_thousands_of_words_in_many_steps(self, tmp_path: Path) -> None:
        old, new = ([f"{letter}{number:04}" for number in range(1_500)] for letter in "nv")
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(old))
            built = build(index)
            push(index, "p", " ".join(new))
            index.maintainer.publish_graphs([built])
            steps, start = 0, b""
            while (following := index.maintainer.prune_pending(built, start)) is not None:
                assert following > start
                steps, start = steps + 1, following
            assert steps == 14, "3,000 rows, 200 at a time"
            assert pending_words(index) == set(new)
            index.consolidate()
            assert pending_words(index) == set()
            assert index.words(C, B, limit=10_000) == sorted(old + new)

    def test_killed_between_adoption_and_tidying(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", "anker birne")
            index.maintainer.publish_graphs([build(index)])
            push(index, "o", "dampf")
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            assert pending_words(index) == {"dampf"}, "the graph holds the others, whose rows are still there"
            assert index.words(C, B) == ["anker", "birne"]
            index.consolidate()
            assert (index.words(C, B), pending_words(index)) == (["anker", "birne", "dampf"], set())


def flush_bucket(index: Index) -> None:
    assert index.flush_bucket(C, B) == 1


def flush_collection(index: Index) -> None:
    assert index.flush_collection(C) == 1


@pytest.mark.parametrize("flush", [flush_bucket, flush_collection])
@pytest.mark.parametrize("live", [True, False])
class TestFlushedMeanwhile:
    """A bucket that is flushed while its graph is being built."""

    def test_nothing_comes_back(self, tmp_path: Path, flush: Callable[[Index], None], live: bool) -> None:
        with open_index(tmp_path, search__live_words=live) as index:
            push(index, "o", " ".join(WORDS))
            built = build(index)
            flush(index)
            publish_and_prune(index, built)
            assert shown(index) == ([], 0, 0, set())
            assert graph_files(index) == []
            assert (
                index.maintainer.pending_buckets(),
                index.maintainer.due_buckets(),
                index.maintainer.open_graphs(),
            ) == (0, [], 0)
            index.consolidate()
            assert shown(index) == ([], 0, 0, set())
        with open_index(tmp_path, search__live_words=live) as index:
            assert shown(index) == ([], 0, 0, set())

    def test_the_bucket_that_takes_its_name_has_its_own_words(
        self, tmp_path: Path, flush: Callable[[Index], None], live: bool
    ) -> None:
        with open_index(tmp_path, search__live_words=live) as index:
            push(index, "o", "anker birne dampf")
            built = build(index)
            flush(index)
            push(index, "o", "birne eiche")
            publish_and_prune(index, built)
            words = ["birne", "eiche"]
            assert shown(index) == ((words, 2, 1, set(words)) if live else ([], 0, 0, set()))
            assert pending_words(index) == set(words)
            index.consolidate()
            assert shown(index) == (words, 2, 1, set(words))
            assert graph_files(index) == [f"{bucket_id(index)}-1.graph"]

    def test_a_bucket_that_had_a_graph_before(self, tmp_path: Path, flush: Callable[[Index], None], live: bool) -> None:
        with open_index(tmp_path, search__live_words=live) as index:
            push(index, "o", "anker")
            index.consolidate()
            assert corrected(index) == {"anker"}
            push(index, "o", "birne")
            built = build(index)
            assert graph_files(index) == ["0-1.graph", "0-2.graph"]
            flush(index)
            publish_and_prune(index, built)
            index.consolidate()
            assert shown(index) == ([], 0, 0, set())
            assert index.maintainer.open_graphs() == 0
            assert graph_files(index) == []

    def test_more_pending_words_than_one_step_forgets(
        self, tmp_path: Path, flush: Callable[[Index], None], live: bool
    ) -> None:
        with open_index(tmp_path, search__live_words=live, store__kv__durability="interval") as index:
            push(index, "o", " ".join(f"wort{number}" for number in range(700)))
            built = build(index)
            push(index, "p", " ".join(f"rest{number}" for number in range(700)))
            with mock.patch.object(
                index.maintainer.engine.store, "sweep", return_value=True
            ):  # rows of the flushed wait for their turn
                flush(index)
                publish_and_prune(index, built)
            assert (index.maintainer.pending_buckets(), index.maintainer.due_buckets()) == (0, []), (
                "nothing of it waits for consolidation"
            )


def shown(index: Index) -> tuple[list[str], int, int, set[str]]:
    """Return everything that words decide, of the usual bucket."""
    return index.words(C, B), index.count_words(C, B), index.count_buckets(C), corrected(index)


class TestFlushed:
    """A bucket that is flushed after its graph was built."""

    def test_its_graph_is_closed_and_its_file_goes(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            index.consolidate()
            assert corrected(index) == {"anker"}
            index.flush_bucket(C, B)
            assert graph_files(index) == ["0-1.graph"], "a loss of power would undo the flush"
            index.maintainer.sync()
            index.maintainer.sweep(1_000)
            index.maintainer.commit()
            assert index.maintainer.open_graphs() == 0
            assert graph_files(index) == [], "buckets that are filled and flushed every night would fill the disk"

    def test_its_file_goes_at_the_next_start_at_the_latest(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            index.push(C, "other", "o", "birne", "none")
            index.consolidate()
            index.flush_bucket(C, B)
        with open_index(tmp_path) as index:
            assert graph_files(index) == ["1-1.graph"]
            assert index.words(C, "other") == ["birne"]

    def test_a_flush_that_is_undone_leaves_the_words_pending(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", "anker")
            with mock.patch.object(Log, "append", side_effect=StoreError("no room")), pytest.raises(StoreError):
                index.flush_bucket(C, B)
            assert found(index, "anker") == ["o"], "it was not flushed"
            assert index.maintainer.pending_buckets() == 1
            index.consolidate()
            assert index.words(C, B) == ["anker"]


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
            path = index.maintainer.engine.graphs.path(0, 1)
        damage(path, change)
        with open_index(tmp_path, search__live_words=live) as index:
            for _ in range(2):
                assert [found(index, word) for word in WORDS] == [["o"]] * len(WORDS), "what was typed is found"
                assert index.count_words(C, B) == len(WORDS)
                assert index.words(C, B) == (WORDS if live else [])
                assert index.suggest(C, B, "ank") == (["anker"] if live else [])
                assert corrected(index) == set(), "that takes a graph"
            assert index.maintainer.due_buckets() == [0]
            assert index.maintainer.pending_buckets() == 0
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
            index.maintainer.engine.graphs.path(0, 1).unlink()
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
                (index.maintainer.engine.graphs.folder / name).unlink()
            index.maintainer.engine.graphs.folder.rmdir()
        with open_index(tmp_path) as index:
            index.consolidate()
            assert [corrected(index, bucket) for bucket in ("a", "b", "c")] == [set(WORDS)] * 3

    def test_a_broken_bucket_that_is_flushed_is_forgotten(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            damage(index.maintainer.engine.graphs.path(0, 1), lambda content: content[:-1])
            index.maintainer.engine.graphs.close(0)
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
            whole = index.maintainer.engine.graphs.path(0, 1).read_bytes()
            folder = index.maintainer.engine.graphs.folder
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

    def test_after_adoption_the_older_file_goes(self, tmp_path: Path) -> None:
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
from sonicpy.graph.pool import GraphPool
from sonicpy.store.environment import Environment
from tests.index.shorthand import open_index, push

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
    """What a commit does on a full disk."""
    environment.abort(transaction)
    raise StoreFull("no room")


class TestFailures:
    def test_one_bucket_that_cannot_be_built_does_not_hold_up_the_others(self, tmp_path: Path) -> None:
        buckets = ["a", "b", "c"]
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            for bucket in buckets:
                index.push(C, bucket, "o", "anker", "none")
            in_the_way = index.maintainer.engine.graphs.folder / "0-1.graph.new"
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


class TestPendingWordsOfManyBuckets:
    """Pending words are kept ready between queries: whatever changes, they are the bucket's own."""

    def test_words_are_found_from_the_moment_they_are_pushed(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            for number, word in enumerate(WORDS, 1):
                push(index, "o", word)
                assert corrected(index) == set(WORDS[:number])
                if number == 4:
                    index.consolidate()
                    assert corrected(index) == set(WORDS[:number])
            for number, word in enumerate(WORDS, 1):
                index.pop(C, B, "o", word)
                assert corrected(index) == set(WORDS[number:])
                if number == 4:
                    index.consolidate()
                    assert corrected(index) == set(WORDS[number:])

    @pytest.mark.parametrize("consolidated", [False, True])
    def test_a_bucket_of_the_same_name_has_words_of_its_own(self, tmp_path: Path, consolidated: bool) -> None:
        with open_index(tmp_path) as index:
            for word in WORDS:
                push(index, "o", word)
                assert corrected(index) == {word}
                if consolidated:
                    index.consolidate()
                    assert corrected(index) == {word}
                index.flush_bucket(C, B)
                assert corrected(index) == set()

    def test_more_buckets_than_are_kept_ready(self, tmp_path: Path) -> None:
        buckets = {f"b{number}": WORDS[number % len(WORDS)] for number in range(2 * PENDING_CACHED + 3)}
        with open_index(tmp_path) as index:
            with index.batch():
                for bucket, word in buckets.items():
                    index.push(C, bucket, "o", word, "none")
            for _ in range(2):
                for bucket, word in buckets.items():
                    assert index.suggest(C, bucket, typo(word)) == [word], bucket
            index.consolidate()
            for bucket, word in buckets.items():
                assert index.suggest(C, bucket, typo(word)) == [word], bucket
                index.push(C, bucket, "p", "kater", "none")
                assert index.suggest(C, bucket, "kader") == ["kater"], bucket

    def test_words_that_were_undone_do_not_hide_those_that_come_after(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            with (
                mock.patch.object(Log, "append", side_effect=StoreError("no room")),
                pytest.raises(StoreError, match="no room"),
                index.batch(),
            ):
                push(index, "p", "birne")
                assert corrected(index) == {"anker", "birne"}
            push(index, "q", "dampf")
            assert corrected(index) == {"anker", "dampf"}

    def test_words_of_a_batch_show_to_its_own_thread_first(self, tmp_path: Path) -> None:
        seen: list[set[str]] = []

        def look(index: Index) -> None:
            other = threading.Thread(target=lambda: seen.append(corrected(index)))
            other.start()
            other.join()

        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            with index.batch():
                push(index, "o", "birne")
                assert corrected(index) == {"anker", "birne"}
                look(index)
                assert corrected(index) == {"anker", "birne"}
            look(index)
        assert seen == [{"anker"}, {"anker", "birne"}]


def test_a_batch_of_thousands_of_words_is_consolidated_at_its_end(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        with index.batch():
            for number in range(0, 2_000, 100):
                push(index, f"o{number}", " ".join(f"wort{place}" for place in range(number, number + 100)))
                index.push(C, "small", f"o{number}", f"wort{number}", "none")
            assert graph_files(index) == []
        assert graph_files(index) == ["0-1.graph"]
        assert (index.maintainer.pending_buckets(), pending_words(index)) == (1, set())
        assert index.suggest(C, B, "worx1999", limit=1) == ["wort1999"]


class TestThreads:
    """Graphs are replaced while other threads read them."""

    def test_a_reader_that_began_before_has_the_words_of_before(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, replaced = threading.Event(), threading.Event()
        lexicon_of = Lexicons.of

        def wait_and_open(lexicons: Lexicons, view: View, collection: str, bucket: str) -> Lexicon | None:
            if threading.current_thread() is late:
                begun.set()
                assert replaced.wait(10)
            return lexicon_of(lexicons, view, collection, bucket)

        monkeypatch.setattr(Lexicons, "of", wait_and_open)
        answers: list[set[str]] = []
        with open_index(tmp_path) as index:
            late = threading.Thread(target=lambda: answers.append(corrected(index)))
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            late.start()
            assert begun.wait(10)
            push(index, "p", "neues")
            index.consolidate()
            replaced.set()
            late.join()
            assert answers == [set(WORDS)]
            assert index.maintainer.due_buckets() == [], "nothing is broken"
            assert corrected(index) == set(WORDS)
        assert caplog.records == []

    def test_readers_never_miss_a_word_that_stays(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        wrong: list[object] = []
        ended = threading.Event()

        def read(index: Index) -> None:
            while not ended.is_set():
                if (answer := corrected(index)) != set(WORDS):
                    wrong.append(answer)

        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            readers = [threading.Thread(target=read, args=(index,)) for _ in range(3)]
            for reader in readers:
                reader.start()
            for number in range(20):
                push(index, "p", f"neues{number}wort")
                index.consolidate()
            ended.set()
            for reader in readers:
                reader.join()
            assert index.maintainer.engine.graphs.broken == set()
        assert caplog.records == []
        assert wrong == []

    def test_two_threads_consolidate_at_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            for number in range(30):
                index.push(C, f"b{number}", "o", " ".join(WORDS), "none")
            threads = [threading.Thread(target=index.consolidate) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [index.words(C, f"b{number}") for number in range(30)] == [WORDS] * 30
            assert (index.maintainer.pending_buckets(), len(graph_files(index))) == (0, 30)
        assert caplog.records == []


class TestLimits:
    """store.fst.graph.max_words and max_size: compat mode keeps to them, the default mode keeps every word."""

    LATE = [f"zz{number * 7919 % 100_003:06}{'efghij'[number % 6]}{number % 89}" for number in range(3_000)]

    def test_five_words(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=5) as index:
            push(index, "o", "xa xb xc")
            index.consolidate()
            assert index.words(C, B) == ["xa", "xb", "xc"]
            push(index, "o", "aa ab ac ad")
            index.consolidate()
            assert index.count_words(C, B) == 5
            assert index.words(C, B) == ["aa", "ab", "ac", "ad", "xa"]
            assert index.words(C, B, offset=4) == ["xa"]
            assert (found(index, "xc"), index.suggest(C, B, "x")) == (["o"], ["xa"])
            assert (pending_words(index), index.maintainer.due_buckets()) == (set(), []), (
                "it does not try again and again"
            )

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ("", "fa mi pe xi zu bo an ka ro te lu", "fa mi pe xi zu"),
            ("fa mi pe", "xi zu bo an ka ro te lu", "an bo fa ka mi"),
            ("lu pe ro bo", "xi ka zu fa mi te an", "bo fa ka lu mi"),
            ("lu pe ro bo xi", "an", "bo lu pe ro xi"),
        ],
    )
    def test_the_first_words_that_come_and_then_the_first_by_the_alphabet(
        self, tmp_path: Path, old: str, new: str, expected: str
    ) -> None:
        """Sonic's answers: as many words wait as a graph may hold, and a new graph keeps the first of old and new."""
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=5) as index:
            push(index, "o", old)
            index.consolidate()
            for word in new.split():
                push(index, "p", word)
            index.consolidate()
            assert index.words(C, B) == expected.split()

    def test_each_graph_has_as_many_words_as_it_may(self, tmp_path: Path) -> None:
        """Sonic would build one of these graphs with fewer words."""
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=3) as index:
            for bucket in (B, "other"):
                index.push(C, bucket, "o", "anker birne dampf eiche", lang="none")
            index.consolidate()
            assert [index.words(C, bucket) for bucket in (B, "other")] == [["anker", "birne", "dampf"]] * 2

    def test_what_was_left_out_stays_away_and_later_words_come_in(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=3) as index:
            push(index, "o", "anker birne zebra")
            push(index, "p", "dampf eiche")
            index.consolidate()
            assert index.words(C, B) == ["anker", "birne", "zebra"]
            push(index, "q", "aal")
            index.consolidate()
            assert index.words(C, B) == ["anker", "birne", "zebra"], "a full graph takes no new word"
            index.pop(C, B, "o", "anker birne")
            push(index, "p", "dampf")
            index.consolidate()
            assert index.words(C, B) == ["zebra"]
            push(index, "r", "affe zwerg")
            index.consolidate()
            assert index.words(C, B) == ["affe", "zebra", "zwerg"]

    @pytest.mark.parametrize("size_kib", [1, 4, 20])
    def test_a_small_file(self, tmp_path: Path, size_kib: int) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_size=size_kib) as index:
            for first in range(0, len(self.LATE), 500):
                push(index, f"o{first}", " ".join(self.LATE[first : first + 500]))
            push(index, "o", "anker")
            index.consolidate()
            size_bytes = index.maintainer.engine.graphs.path(0, 1).stat().st_size
            assert size_kib * 512 <= size_bytes <= size_kib * 1024
            kept = index.words(C, B, limit=10_000)
            assert kept == ["anker", *sorted(self.LATE)][: len(kept)], "late in byte order, lost"
            assert 10 < len(kept) < len(self.LATE)
            assert index.count_words(C, B) == len(kept)
            last = max(self.LATE)
            assert (found(index, last), len(index.suggest(C, B, last[:-2]))) == ([found(index, last)[0]], 0)

    def test_zero_is_no_limit(self, tmp_path: Path) -> None:
        limits = {"store__fst__graph__max_words": 0, "store__fst__graph__max_size": 0}
        with open_index(tmp_path, **COMPAT, **limits) as index:
            push(index, "o", " ".join(self.LATE))
            index.consolidate()
            assert index.words(C, B, limit=10_000) == sorted(self.LATE)

    def test_the_default_mode_cuts_nothing(self, tmp_path: Path) -> None:
        limits = {"store__fst__graph__max_words": 5, "store__fst__graph__max_size": 1}
        with open_index(tmp_path, **limits, search__live_words=False) as index:
            push(index, "o", " ".join(self.LATE))
            index.consolidate()
            assert index.words(C, B, limit=10_000) == sorted(self.LATE)
            assert index.maintainer.engine.graphs.path(0, 1).stat().st_size > 1024

    def test_words_of_more_than_forty_bytes_are_in_no_graph(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", f"{'a' * 40} {'b' * 41}")
            index.consolidate()
            assert index.words(C, B) == ["a" * 40]
            assert found(index, "b" * 41) == ["o"]
