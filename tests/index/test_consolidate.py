"""Consolidation as a library does it: build from a commit, publish, prune, with any events in between."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.errors import StoreError
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.index.maintenance.consolidate import GraphLimits, changed_words, read_changes, read_words
from sonicpy.index.search import lexicon as lexicon_module
from sonicpy.index.search.lexicon import Lexicon, Lexicons
from sonicpy.store.disk.log import Log
from sonicpy.store.views.view import View
from tests.index.graphs import (
    IN_SONICS_WAY,
    WORDS,
    bucket_id,
    build,
    corrected,
    graph_files,
    pending_words,
    publish_and_prune,
    typo,
)
from tests.index.shorthand import B, C, found, open_index, push
from tests.support.examples import examples
from tests.support.patience import WAIT_S

pytestmark = pytest.mark.usefixtures("in_tables")


class Model:
    """A model of a bucket: changes are made both in the index and in a dictionary."""

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
def shared_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index whose tests use buckets of their own, each of which gets a graph, however many there are."""
    given = {} if request.param else IN_SONICS_WAY
    with (
        mock.patch("sonicpy.graph.graph_pool.FILES_ENOUGH", 10_000),
        open_index(tmp_path_factory.mktemp("shared"), **given) as index,
    ):
        yield index


class TestMeanwhile:
    """Changes while a graph is built are not in the graph, and stay pending."""

    numbers = count()

    @settings(deadline=None, max_examples=examples(60))
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

    @settings(deadline=None, max_examples=examples(60))
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
        index.engine.commit()
        with index.engine.store.snapshot() as view:
            changes = read_changes(view, index.engine.graphs, built.bucket)
            whole = read_words(view, index.engine.graphs, built.bucket, GraphLimits())
        assert changes is not None and whole is not None
        assert changed_words(changes) == whole.words == sorted(word.encode() for word in model.words())
        assert changes.seq == whole.seq

    def test_a_graph_that_lacks_a_word_is_not_built_upon(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", " ".join(WORDS[:4]))
            built = build(index)
            publish_and_prune(index, built)
            index.engine.graphs.close(built.bucket)
            builder = WordGraphBuilder()
            builder.add(WORDS[0].encode())
            index.engine.graphs.write(built.bucket, built.version, builder.finish(built.bucket, built.version))
            push(index, "o", WORDS[4])
            index.consolidate()
            graph = index.engine.graphs.get(built.bucket, built.version + 1)
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
            assert len(index.engine.store.pending_buckets()) == 1
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

    def test_killed_between_publishing_and_pruning(self, tmp_path: Path) -> None:
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
                len(index.engine.store.pending_buckets()),
                index.maintainer.due_buckets(),
                len(index.engine.graphs),
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
            assert len(index.engine.graphs) == 0
            assert graph_files(index) == []

    def test_more_pending_words_than_one_step_forgets(
        self, tmp_path: Path, flush: Callable[[Index], None], live: bool
    ) -> None:
        with open_index(tmp_path, search__live_words=live, store__kv__durability="interval") as index:
            push(index, "o", " ".join(f"wort{number}" for number in range(700)))
            built = build(index)
            push(index, "p", " ".join(f"rest{number}" for number in range(700)))
            with mock.patch.object(
                index.engine.store, "sweep", return_value=True
            ):  # rows of the flushed wait for their turn
                flush(index)
                publish_and_prune(index, built)
            assert (len(index.engine.store.pending_buckets()), index.maintainer.due_buckets()) == (0, []), (
                "nothing of it waits for consolidation"
            )


def shown(index: Index) -> tuple[list[str], int, int, set[str]]:
    """Return all answers of the usual bucket that depend on its words."""
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
            index.engine.store.sync()
            index.engine.sweep(1_000)
            index.engine.commit()
            assert len(index.engine.graphs) == 0
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
            assert len(index.engine.store.pending_buckets()) == 1
            index.consolidate()
            assert index.words(C, B) == ["anker"]


class TestPendingWordsOfManyBuckets:
    """Cached pending words always belong to the right bucket, whatever changes."""

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

    @pytest.mark.parametrize("bound", ["PENDING_CACHED", "PENDING_WORDS_CACHED"])
    def test_more_buckets_than_are_kept_ready(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
    ) -> None:
        monkeypatch.setattr(lexicon_module, bound, 20)
        buckets = {f"b{number}": WORDS[number % len(WORDS)] for number in range(43)}
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
        assert (len(index.engine.store.pending_buckets()), pending_words(index)) == (1, set())
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
                assert replaced.wait(WAIT_S)
            return lexicon_of(lexicons, view, collection, bucket)

        monkeypatch.setattr(Lexicons, "of", wait_and_open)
        answers: list[set[str]] = []
        with open_index(tmp_path) as index:
            late = threading.Thread(target=lambda: answers.append(corrected(index)))
            push(index, "o", " ".join(WORDS))
            index.consolidate()
            late.start()
            assert begun.wait(WAIT_S)
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
            for number in range(examples(16)):
                push(index, "p", f"neues{number}wort")
                index.consolidate()
            ended.set()
            for reader in readers:
                reader.join()
            assert index.engine.graphs.broken == set()
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
            assert (len(index.engine.store.pending_buckets()), len(graph_files(index))) == (0, 30)
        assert caplog.records == []
