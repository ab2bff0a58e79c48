"""Tests of explore: the figures in frames are those of the texts, and plots show them. Needs the extra [notebook]."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

import sonicpy
from tests.processes import Server

pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'sonicpy-search[notebook]'")
matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'sonicpy-search[notebook]'")
matplotlib.use("agg")

from matplotlib import pyplot  # noqa: E402

from sonicpy import explore  # noqa: E402

RANDOM = random.Random(3)
WORDS = [f"w{a}{b}" for a in "abcdef" for b in "abcdef"]
TEXTS = {f"o{n}": RANDOM.choices(WORDS, [1 / (place + 1) for place in range(36)], k=8) for n in range(200)}


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        opened.push_many(((oid, " ".join(text), "none") for oid, text in TEXTS.items()), collection="c", bucket="b")
        yield opened


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def test_words_the_most_frequent_first(index: sonicpy.Index) -> None:
    frame = explore.words(index, "c", "b")
    holders = Counter(word for text in TEXTS.values() for word in set(text))
    assert frame["objects"].to_dict() == dict(holders)
    assert frame["objects"].is_monotonic_decreasing
    assert frame["times"].to_dict() == Counter(word for text in TEXTS.values() for word in text)
    assert "hidden_objects" not in frame and "hidden_objects" in explore.words(index, "c", "b", hidden=True)


def test_objects_in_the_order_of_their_making(index: sonicpy.Index) -> None:
    frame = explore.objects(index, "c", "b")
    assert list(frame.index) == list(TEXTS)
    assert (frame["length"] == 8).all()
    assert list(frame["words"]) == [len(set(text)) for text in TEXTS.values()]


def test_terms_by_the_number_of_their_objects(index: sonicpy.Index) -> None:
    frame = explore.terms(index, "c", "b")
    by_objects = Counter(Counter(word for text in TEXTS.values() for word in set(text)).values())
    assert frame["words"].to_dict() == dict(by_objects)
    assert frame["share"].sum() == pytest.approx(1) and frame["up_to"].iloc[-1] == pytest.approx(1)


def test_growth_counts_each_word_once(index: sonicpy.Index) -> None:
    frame = explore.growth(index, "c", "b")
    assert list(frame.index) == list(range(1, 201))
    assert list(frame["tokens"]) == [8 * place for place in range(1, 201)]
    texts = list(TEXTS.values())
    assert frame["words"][57] == len({word for text in texts[:57] for word in text})


def test_buckets(index: sonicpy.Index) -> None:
    assert explore.buckets(index).loc[("c", "b")].to_list() == [200, 36, 8]


def test_plots_show_the_figures(index: sonicpy.Index) -> None:
    (ranks,) = explore.plot_ranks(index, "c", "b").get_lines()
    assert list(ranks.get_ydata()) == sorted(explore.words(index, "c", "b")["objects"], reverse=True)
    bars = explore.plot_postings(index, "c", "b").patches
    assert sum(bar.get_height() for bar in bars) == 36
    (curve,) = explore.plot_growth(index, "c", "b").get_lines()
    assert curve.get_ydata()[-1] == 36
    _, ax = pyplot.subplots()
    assert explore.plot_growth(index, "c", "b", ax) is ax


def test_a_bucket_that_does_not_exist_is_empty(index: sonicpy.Index) -> None:
    for frame in (explore.words, explore.objects, explore.terms, explore.growth):
        assert frame(index, "c", "nowhere").empty
    for plot in (explore.plot_ranks, explore.plot_postings, explore.plot_growth):
        plot(index, "c", "nowhere").figure.canvas.draw()
    with sonicpy.open(":memory:") as empty:
        assert explore.buckets(empty).empty


def test_what_is_no_index_is_refused(index: sonicpy.Index) -> None:
    for show in (explore.words, explore.objects, explore.plot_growth):
        with pytest.raises(TypeError, match="index is of type Bucket; allowed is an Index: open a server's folder"):
            show(index.bucket("c", "b"), "c", "b")


def test_beside_a_server_that_writes(server: Server) -> None:
    with sonicpy.connect(f"sonic://127.0.0.1:{server.port}") as client:
        client.push("c", "b", "o", "sunny weather")
        client.consolidate()  # commits
    with sonicpy.open(server.folder / "store", read_only=True) as reader:
        assert set(explore.words(reader, "c", "b").index) == {"sunny", "weather"}
