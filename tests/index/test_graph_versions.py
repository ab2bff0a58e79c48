"""Graphs have versions: tidying and building check the version before they use a graph."""

from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.errors import StoreError
from sonicpy.index.maintenance.consolidate import Built, GraphLimits, read_changes, read_words
from sonicpy.store.views.view import View
from tests.index.shorthand import B, C, open_index, push

pytestmark = pytest.mark.usefixtures("in_tables")


def state_of(view: View) -> tuple[int, int]:
    """Return the number of the usual bucket and the version of its graph."""
    state = view.bucket(C, B)
    assert state is not None
    return state.bucket, state.lexicon_version


def pending(index: Index) -> set[bytes]:
    with index.engine.store.reading() as view:
        return set(view.pending_changes(state_of(view)[0]))


def build(index: Index) -> Built:
    index.engine.commit()
    with index.engine.store.reading() as view:
        built = index.maintainer.build_graph(state_of(view)[0])
    assert built is not None
    return built


def test_words_of_a_graph_that_is_not_the_one_of_the_bucket_stay_pending(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "amber birch")
        unpublished = build(index)
        assert index.maintainer.prune_pending(unpublished, b"") is None
        assert pending(index) == {b"amber", b"birch"}
        index.maintainer.publish_graphs([unpublished])
        push(index, "o", "cedar")
        following = build(index)
        assert index.maintainer.prune_pending(following, b"") is None
        assert pending(index) == {b"amber", b"birch", b"cedar"}, "what the second one holds, the first one may lack"
        assert index.maintainer.prune_pending(unpublished, b"") is None
        assert pending(index) == {b"cedar"}


def test_changes_are_not_read_upon_another_graph_than_that_of_the_snapshot(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        graphs = index.engine.graphs
        push(index, "o", "amber birch")
        index.consolidate()
        push(index, "o", "cedar")
        index.pop(C, B, "o", "amber")
        index.engine.commit()
        with index.engine.store.snapshot() as view:
            bucket, version = state_of(view)
            changes = read_changes(view, graphs, bucket)
            assert changes is not None
            assert changes.graph.version == version
            index.maintainer.publish_graphs([build(index)])
            assert read_changes(view, graphs, bucket) is None, "only the graph that follows it is there"
            found = read_words(view, graphs, bucket, GraphLimits())
            assert found is not None
            assert found.words == [b"birch", b"cedar"]


def test_a_staged_bucket_counts_as_without_a_graph_until_one_is_built(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "amber birch")
        index.consolidate()
        index.backup(tmp_path / "backup")
        push(index, "new", "cedar")
        with index.maintainer.restoration(tmp_path / "backup") as restoration:
            for _ in restoration.fill():
                pass
            with pytest.raises(StoreError, match="was not restored whole, so nothing was"):
                restoration.switch()
        assert index.query(C, B, "cedar", lang="none").objects == ["new"]
        index.restore(tmp_path / "backup")
        assert index.words(C, B) == ["amber", "birch"]
        assert index.verify() == []
