"""Figures of words and objects, compared with the texts and with `holdings`, which reads other rows."""

import random
from collections import Counter
from pathlib import Path

import sonicpy
from sonicpy.index.report.term_stats import ObjectStats, TermStats

LETTERS = "abcdefgh"


def random_texts(seed: int, count: int) -> dict[str, list[str]]:
    random_ = random.Random(seed)
    words = [f"{a}{b}x" for a in LETTERS for b in LETTERS]
    return {f"o{n}": random_.choices(words, range(1, 65), k=random_.randint(0, 12)) for n in range(count)}


def test_words_and_objects_are_those_of_the_texts() -> None:
    texts = random_texts(7, 400)
    with sonicpy.open(":memory:") as index:
        index.push_many(((oid, " ".join(text), "none") for oid, text in texts.items()), collection="c", bucket="b")
        holders = Counter(word for text in texts.values() for word in set(text))
        times = Counter(word for text in texts.values() for word in text)
        assert list(index.term_stats("c", "b")) == [
            TermStats(word, holders[word], 0, holders[word], times[word]) for word in sorted(holders)
        ]
        seen: set[str] = set()
        expected = []
        for oid, text in texts.items():
            expected.append(ObjectStats(oid, len(text), len(set(text)), 0, len(set(text) - seen)))
            seen.update(text)
        assert list(index.object_stats("c", "b")) == expected


def test_parts_of_runs_are_told_apart() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(12):
            index.push("c", "b", f"o{number}", f"the weather weather in สวย town{number}", lang="eng")
        told = {figures.word: figures for figures in index.term_stats("c", "b")}
        assert told["weather"] == TermStats("weather", 12, 0, 12, 24)
        assert told["the"] == TermStats("the", 12, 0, 12, 12)
        for part in ("ส", "สว"):
            assert told[part] == TermStats(part, 12, 12, 12, 12)
        first, *_, last = index.object_stats("c", "b")
        assert first == ObjectStats("o0", 11, 5, 5, 10)
        assert last == ObjectStats("o11", 11, 5, 5, 1)


def test_they_agree_with_holdings_after_changes() -> None:
    texts = random_texts(11, 300)
    with sonicpy.open(":memory:") as index:
        for oid, text in texts.items():
            index.push("c", "b", oid, " ".join(text), lang="none")
        for oid, text in list(texts.items())[::3]:
            index.pop("c", "b", oid, " ".join(text[:4]))
        for oid in list(texts)[::7]:
            index.flush("c", "b", oid)
        for oid, text in list(texts.items())[::5]:
            index.push("c", "b", oid, " ".join(text[::-1]) + " late", lang="none")
        held: dict[str, Counter[str]] = {}
        for holding in index.holdings("c", "b"):
            held.setdefault(holding.object, Counter()).update(holding.terms)
        words = Counter(word for terms in held.values() for word in terms)
        assert {told.word: told.objects for told in index.term_stats("c", "b")} == words
        assert {told.object: (told.length, told.words) for told in index.object_stats("c", "b")} == {
            oid: (terms.total(), len(terms)) for oid, terms in held.items()
        }


def test_a_word_too_long_for_a_key_is_told_whole() -> None:
    words = ["a" * 600, "é" * 300, "b" * 500]
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "o", " ".join(words), lang="none")
        assert {told.word for told in index.term_stats("c", "b")} == set(words)


def test_a_reader_sees_what_is_committed_and_nothing_is_there_in_an_unknown_bucket(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push("c", "b", "o", "weather")
    with sonicpy.open(tmp_path, read_only=True) as reader:
        assert [told.word for told in reader.term_stats("c", "b")] == ["weather"]
        assert list(reader.term_stats("c", "x")) == list(reader.object_stats("x", "b")) == []
