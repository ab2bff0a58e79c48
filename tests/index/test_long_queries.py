"""Queries of thousands of words: only the first words are corrected, so that no line takes seconds."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from sonicpy._native.planner import EXPANDED_WORDS
from sonicpy.index.search import several, sonic
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.planners.spacing import other_spellings
from sonicpy.index.search.sketch import EXPANDED_MAX, sketch_query
from sonicpy.store.rows.keys import scope_of
from sonicpy.store.views.bucket_reader import TagReader
from tests.index.shorthand import B, C, found, open_index, push
from tests.support.patience import is_below

LETTERS = "bcdfghjklmnp"
UNKNOWN = [f"{one}u{two}o{three}i{four}" for one in LETTERS for two in LETTERS for three in "kltr" for four in "ns"]

MODES = [
    ("bm25", {}, EXPANDED_WORDS),
    ("newest", {"search__ranking": "newest"}, EXPANDED_WORDS),
    ("sonic", {"server__compat": "sonic"}, sonic.CORRECTED_WORDS_SONIC),
]


@pytest.mark.parametrize(("name", "settings", "most"), MODES, ids=[row[0] for row in MODES])
def test_only_the_first_words_are_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, object], most: int
) -> None:
    asked = []
    corrections = Lexicon.corrections

    def count(lexicon: Lexicon, word: bytes, distance: int, **how: bool) -> list[tuple[bytes, int]]:
        asked.append(word)
        return corrections(lexicon, word, distance, **how)

    monkeypatch.setattr(Lexicon, "corrections", count)
    with open_index(tmp_path, search__query_alternates_try=4, **settings) as index:
        push(index, "object", "weather")
        index.consolidate()
        assert len(UNKNOWN) > 2 * most
        assert found(index, " ".join(UNKNOWN)) == []
        assert len(asked) == most
        assert found(index, " ".join([*UNKNOWN, "weather"])) == ([] if name == "newest" else ["object"])
        if name != "newest":  # which wants every word
            assert found(index, " ".join([*UNKNOWN[: most - 1], "wether"])) == ["object"], "the last that is corrected"
            assert found(index, " ".join([*UNKNOWN[:most], "wether"])) == []


@pytest.mark.parametrize("compat", ["none", "sonic"])
def test_time_is_linear_in_the_marks_of_a_word(tmp_path: Path, compat: str) -> None:
    marked = "a" + "\u0301\u0323" * 4_900
    with open_index(tmp_path, server__compat=compat) as index:
        push(index, "object", marked)
        took = []
        for _ in range(3):
            began = time.thread_time()
            assert found(index, marked) == ["object"]
            took.append(time.thread_time() - began)
        assert is_below(min(took), 0.05)


def test_a_part_of_a_bucket_corrects_the_first_words(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "object", "weather os.path.join")
        unknown = index.engine.lexer.lex(" ".join([*UNKNOWN, "wether"]), "none")
        codes = index.engine.lexer.lex(" ".join(f"{word}.x" for word in UNKNOWN), "none")
        with index.engine.read_words(C, B) as lexicon:
            assert lexicon is not None
            sketch = sketch_query(lexicon, unknown, index.config, Matching("none", True, True, ()))
            assert len(sketch["corrected"]) == EXPANDED_MAX + 1, "the last one, too"
            assert len(sketch_query(lexicon, codes, index.config, None)["begun"]) == EXPANDED_MAX + 1


def test_words_that_go_on_are_looked_for_behind_the_first_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    beginnings = Lexicon.beginnings

    def count(lexicon: Lexicon, word: bytes, distance: int) -> object:
        asked.append(word)
        return beginnings(lexicon, word, distance)

    monkeypatch.setattr(Lexicon, "beginnings", count)
    with open_index(tmp_path) as index:
        push(index, "object", "weather os.path.join")
        assert found(index, " ".join(["os.path", *(f"{word}.x" for word in UNKNOWN)])) == ["object"]
        assert len(asked) <= EXPANDED_WORDS + 2  # and the last word, two times


@pytest.mark.parametrize("sign", [".", "_", "'", ":", ""])
@pytest.mark.parametrize("letter", ["a", "é", "ж"])
def test_a_long_word_has_few_other_spellings(tmp_path: Path, letter: str, sign: str) -> None:
    word = f"{letter}{sign}" * (19_000 // len(f"{letter}{sign}".encode())) + letter
    with open_index(tmp_path) as index:
        push(index, "object", f"{letter} {letter * 2} {word[:40]}")
        terms = index.engine.lexer.lex(word, "none")
        assert len(terms) == 1
        size = sum(map(len, other_spellings(terms)))
        assert size < 4 * len(word.encode())
        with index.engine.read_words(C, B) as lexicon:
            assert lexicon is not None
            assert len(plan_bm25(lexicon, terms, index.config.search, None).clauses) <= 65


def test_long_words_fill_no_cache(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "object", "os.path.join weather")
        words = [f"a{number:05}".translate(str.maketrans("0123456789", LETTERS[:10])) * 3_000 for number in range(60)]
        assert [index.query(C, B, word, lang="fra") for word in words[:5]] == [[]] * 5
        tracemalloc.start()
        try:
            assert [index.query(C, B, word, lang="fra") for word in words] == [[]] * len(words)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < 3 * len(words) * len(words[0]), "the answers keep each word once"


def seconds_of(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs in seconds."""
    took = []
    for _ in range(3):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return min(took)


@pytest.mark.full
def test_the_time_of_a_phrase_is_linear_in_its_words(tmp_path: Path) -> None:
    with open_index(tmp_path, store__order=True) as index:
        push(index, "object", "weather")
        runs = iter(range(18))

        def seconds_for(words: int) -> float:
            phrases = [" ".join(f"x{run}y{number}" for number in range(words)) for run in islice(runs, 3)]
            return seconds_of(lambda: index.query(C, B, "", phrase=phrases.pop()))  # no word is in a cache

        ratios = [seconds_for(12_000) / seconds_for(750) for _ in range(3)]
        assert min(ratios) < 64, "16 times the words; 256 for the square"


def test_equal_beginnings_of_buckets_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(several, "scope_of", lambda key: read.append(key) or scope_of(key))
    with open_index(tmp_path) as index:
        for number in range(20):
            index.push(C, f"b{number}", "object", "weather")
        assert len(index.query(C, ["b0", *["b*", "b1*", "*"] * 300], "weather", limit=50)) == 20
        assert len(read) == 40, "those of b* and those of *"


@pytest.mark.full
def test_rules_of_synonyms_beyond_the_first_matches_cost_nothing(tmp_path: Path) -> None:
    rules = [", ".join(["weather", *(f"v{number}x{other}" for other in range(15))]) for number in range(5_000)]
    with open_index(tmp_path) as index:
        index.set_synonyms(C, rules)
        push(index, "object", "weather")
        assert found(index, "weather") == ["object"]
        assert is_below(seconds_of(lambda: index.query(C, B, "weather v1x1")), 0.02)


def test_a_group_by_tags_reads_those_of_its_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    starting = TagReader.starting

    def count(reader: TagReader, *given: bytes) -> Iterator[object]:
        for each in starting(reader, *given):
            read.append(each)
            yield each

    monkeypatch.setattr(TagReader, "starting", count)
    with open_index(tmp_path) as index:
        for number in range(200):
            index.push(C, B, f"o{number}", f"word{number}", tags=[f"author:{number}"])
        hits = index.query(C, B, "word7", group="author:")
        assert (list(hits), hits.groups) == (["o7"], ["author:7"])
        assert len(read) <= 2
