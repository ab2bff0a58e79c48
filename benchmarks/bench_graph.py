"""The word graph of 250,000 words: build, open, list, complete and correct."""

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.corrections import WORDS, build, distance_for, misspellings, words
from sonicpy.graph.word_graph import WordGraph

WORDS_UNTIMED = 20_000


@pytest.fixture(scope="module")
def lexicon(request: pytest.FixtureRequest) -> list[bytes]:
    """The words of the graph; only a few if nothing is timed."""
    return words(WORDS_UNTIMED if request.config.option.benchmark_disable else WORDS)


@pytest.fixture(scope="module")
def content(lexicon: list[bytes]) -> bytes:
    """The graph file of the words."""
    return build(lexicon)


@pytest.fixture(scope="module")
def graph(content: bytes) -> WordGraph:
    """The graph of the words."""
    return WordGraph.from_bytes(content)


def test_build(benchmark: BenchmarkFixture, lexicon: list[bytes]) -> None:
    content = benchmark.pedantic(build, args=(lexicon,), rounds=5)
    assert len(content) < 25 * len(lexicon), "a real word takes 15 bytes, an invented one 21"


def test_open(benchmark: BenchmarkFixture, content: bytes, lexicon: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_bytes(content)
    assert len(benchmark(WordGraph, path)) == len(lexicon)


def test_contains(benchmark: BenchmarkFixture, graph: WordGraph, lexicon: list[bytes]) -> None:
    """One operation looks up a thousand words."""
    some = lexicon[:: len(lexicon) // 1_000]
    assert benchmark(lambda: all([graph.contains(word) for word in some]))


def test_complete(benchmark: BenchmarkFixture, graph: WordGraph, lexicon: list[bytes]) -> None:
    """One operation finds the first five completions of a thousand prefixes."""
    prefixes = [word[: len(word) // 2] for word in lexicon[:: len(lexicon) // 1_000]]
    assert all(benchmark(lambda: [graph.complete(prefix, 5) for prefix in prefixes]))


def test_list_far_behind(benchmark: BenchmarkFixture, graph: WordGraph, lexicon: list[bytes]) -> None:
    offset = len(lexicon) - 100
    assert benchmark(graph.words, offset, 10) == lexicon[offset : offset + 10]


@pytest.mark.parametrize("swaps", [False, True], ids=["levenshtein", "transpositions"])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_correct(
    benchmark: BenchmarkFixture, graph: WordGraph, lexicon: list[bytes], distance: int, swaps: bool
) -> None:
    """One operation corrects every misspelling whose length allows this distance."""
    typed = [word.encode() for word in misspellings(lexicon) if distance_for(word) == distance]
    found = benchmark(lambda: [graph.correct(word, distance, transpositions=swaps) for word in typed])
    benchmark.extra_info["lookups"] = len(typed)
    assert all(corrections.matches and corrections.whole for corrections in found)
