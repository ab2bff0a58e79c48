"""Small buckets without a word graph: typos, beginnings and families find the same words as with a graph."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.graph import graph_pool
from sonicpy.index.maintenance import consolidate
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.views.read_cache import read_pending
from tests.index.graphs import WORDS, corrected, graph_files, pending_words, typo
from tests.index.shorthand import B, C, found, open_index, push
from tests.store.consistency import check_consistent
from tests.support.examples import examples

pytestmark = pytest.mark.usefixtures("in_tables")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small buckets get no graph file."""
    monkeypatch.setattr(graph_pool, "FILES_ENOUGH", 0)


def test_a_small_bucket_gets_no_file_and_finds_the_same(full: None, tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", " ".join(WORDS))
        index.consolidate()
        assert graph_files(index) == []
        assert index.maintainer.due_buckets() == []
        assert index.stats(C, B)["pending_words"] == 0
        assert corrected(index) == set(WORDS)
        assert index.verify() == []
    with open_index(tmp_path) as index:
        assert corrected(index) == set(WORDS), "as read from the rows"
        push(index, "p", "quelle")
        assert index.suggest(C, B, typo("quelle")) == ["quelle"]
        index.consolidate()
        index.flush_object(C, B, "o")
        assert corrected(index) == set()
        assert index.suggest(C, B, typo("quelle")) == ["quelle"]
        assert index.verify() == []


def test_a_file_is_written_once_many_words_were_added(
    full: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate, "GRAPHLESS_WORDS", 10)
    with open_index(tmp_path) as index:
        index.maintainer.graph_limits = consolidate.GraphLimits(graphless_words=10)
        push(index, "o", " ".join(WORDS))
        index.consolidate()
        assert graph_files(index) == []
        push(index, "p", "quelle rinde")
        index.consolidate()
        assert graph_files(index) == []
        push(index, "q", "tanne")
        index.consolidate()
        assert graph_files(index) == ["0-1.graph"]
        assert pending_words(index) == set()
        assert corrected(index) == set(WORDS)
        assert index.suggest(C, B, typo("tanne")) == ["tanne"]
        assert index.verify() == []


def test_the_first_buckets_have_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_pool, "FILES_ENOUGH", 3)
    with open_index(tmp_path) as index:
        for number in range(6):
            index.push(C, f"b{number}", "o", " ".join(WORDS))
        index.consolidate()
        assert len(graph_files(index)) == 3
        assert all(corrected(index, f"b{number}") == set(WORDS) for number in range(6))
        index.flush_bucket(C, "b0")
        index.push(C, "b5", "p", "quelle")
        index.consolidate()
        assert len(graph_files(index)) <= 3


def test_where_only_graphs_are_read_they_are_built(full: None, tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", " ".join(WORDS))
        index.consolidate()
    with open_index(tmp_path, search__live_words=False) as index:
        assert index.maintainer.due_buckets() == [0]
        index.consolidate()
        assert graph_files(index) == ["0-1.graph"]
        assert (index.words(C, B), corrected(index)) == (WORDS, set(WORDS))
    compat = tmp_path / "compat"
    with open_index(compat, server__compat="sonic") as index:
        push(index, "o", " ".join(WORDS))
        index.consolidate()
        assert graph_files(index) == ["0-1.graph"]


def test_a_backup_is_restored_with_it(full: None, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    with open_index(tmp_path / "one") as index:
        push(index, "o", " ".join(WORDS))
        index.consolidate()
        index.backup(backup)
    with open_index(tmp_path / "two") as index:
        index.restore(backup)
        assert graph_files(index) == []
        assert corrected(index) == set(WORDS)
        assert found(index, "anker") == ["o"]
        assert index.verify() == []


def test_words_that_are_read_again_are_known_once(full: None, tmp_path: Path) -> None:
    """A reader that missed the changes of some commits reads all rows again, and has each word once."""
    known = KnownPending(0, 0, 0)
    with open_index(tmp_path) as index:
        push(index, "o", " ".join(WORDS))
        index.consolidate()
        for number in range(3):
            push(index, "p", f"quelle{number} getUserName{number}")
            with index.engine.store.snapshot() as view:
                state = view.bucket(C, B)
                assert state is not None
                read_pending(known, view, state, number)
                assert sorted(known.words) == sorted(view.pending_words(state))


def test_an_undone_publication_keeps_the_pending_words(full: None, tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", " ".join(WORDS))
        index.engine.commit()
        built = index.maintainer.build_graph(0)
        assert built is not None and not built.version
        assert index.maintainer.prune_pending(built, b"") is None
        assert pending_words(index) == set(WORDS)
        assert len(index.engine.store.pending_buckets()) == 1


TEXTS = [
    "strasse", "straße", "getUserName", "ｆｏｏ", "haus", "hauses", "wi-fi", "x" * 60, "ж" * 45, "mañana", "hause",
    "user",
]  # fmt: skip
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from("abc"), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4)),
        st.tuples(st.just("flush"), st.sampled_from("abc"), st.just([])),
        st.tuples(st.just("pop"), st.sampled_from("abc"), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2)),
        st.tuples(st.just("consolidate"), st.just(""), st.just([])),
    ),
    min_size=2,
    max_size=8,
)


def answers(index: Index) -> list[object]:
    asked = ["strase", "hau", "hauss", "name", "usre", "wifi", "manana", "foo", "xxxx"]
    return [(index.query(C, B, word), index.suggest(C, B, word)) for word in asked] + [index.words(C, B)]


def carried_out(index: Index, steps: list[tuple[str, str, list[str]]]) -> list[list[object]]:
    seen = []
    for what, oid, words in steps:
        if what == "push":
            push(index, oid, " ".join(words))
        elif what == "flush":
            index.flush_object(C, B, oid)
        elif what == "pop":
            index.pop(C, B, oid, " ".join(words))
        else:
            index.consolidate()
        seen.append(answers(index))
    return seen


@settings(max_examples=examples(12))
@given(steps=_steps)
def test_answers_are_those_of_a_graph(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("graphless")
    seen = []
    for name, enough in (("with", 100), ("without", 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph_pool, "FILES_ENOUGH", enough)
            with open_index(folder / name) as index:
                seen.append(carried_out(index, steps))
                assert index.verify() == []
                check_consistent(index.engine.store)
            with open_index(folder / name) as index:
                seen[-1].append(answers(index))
    assert seen[0] == seen[1]
