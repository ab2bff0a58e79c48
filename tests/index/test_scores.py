"""Scores as users see them: they order the objects and show how each was found."""

from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Index
from tests.index.shorthand import B, C, open_index, push
from tests.index.test_ranking import carry_out, changes
from tests.support.examples import examples

WORDS = ["anker", "ankerkette", "anke", "banker", "birne", "birnen", "dampf", "unbekannt", "ander", "x1", "der"]
questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
buckets = count()


@pytest.fixture(scope="module", params=["bm25", "newest", "sonic"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("scores")
    with open_index(folder, search__ranking=request.param, search__query_alternates_try=4) as opened:
        yield opened


@settings(deadline=None, max_examples=examples(100))
@given(changes, st.lists(st.tuples(st.integers(0, 9), questions), max_size=12), questions)
def test_scores_never_rise(
    index: Index, todo: list[tuple[str, str, list[str]]], more: list[tuple[int, list[str]]], question: list[str]
) -> None:
    bucket = f"b{next(buckets)}"
    carry_out(index, bucket, todo)
    for number, words in more:
        index.push(C, bucket, f"o{number}", " ".join(words), "deu")
    text = " ".join(question)
    hits = index.query(C, bucket, text, limit=100, lang="deu", total=True)
    assert hits == index.query_ids(C, bucket, text, limit=100, lang="deu")
    assert hits.total == len(hits)
    if index.config.search.ranking == "newest":
        assert not hits.scores
    elif hits:
        assert hits.scores is not None
        assert all(left >= right >= 0 for left, right in pairwise(hits.scores))
        printed = [float(f"{score:.6f}") for score in hits.scores]
        assert all(left >= right for left, right in pairwise(printed))


def test_the_whole_number_says_how_an_object_was_found(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=4) as index:
        push(index, "exact", "anker und kette am ende eines langen satzes")
        push(index, "all", "anker vom boot")
        push(index, "completed", "ankerwinde")
        push(index, "corrected", "anter")
        hits = index.query(C, B, "anker boot")
        assert hits == ["all", "exact", "completed", "corrected"]
        assert hits.scores is not None
        assert [int(score) for score in hits.scores] == [3, 2, 1, 0]


def test_the_fraction_is_a_share_of_the_best(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "once", "anker")
        push(index, "often", "anker " * 250)
        hits = index.query(C, B, "anker", lang="none")
        assert hits == ["often", "once"]
        assert hits[0].score is not None and 3.9 < hits[0].score < 4
        assert hits[1].score is not None and 3.4 < hits[1].score < 3.9


def test_total_counts_what_the_page_leaves_out(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(25):
            push(index, f"o{number}", "anker")
        page = index.query(C, B, "anker", limit=4, offset=20, total=True)
        assert (len(page), page.total) == (4, 25)
        assert (len(behind := index.query(C, B, "anker", offset=99, total=True)), behind.total) == (0, 25)
        assert index.query(C, B, "...", total=True).total == 0
        assert index.query(C, "elsewhere", "anker", total=True).total == 0
        assert index.query(C, B, "anker").total is None
