"""A beginning of eight letters has two errors only where none with one error has a longer word, over all words of a
question: pending ones, and those of all buckets and parts.
"""

import random
from pathlib import Path

import pytest

from sonicpy import Config, Index
from sonicpy._native.expansions import edits_allowed
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.index.search.statistics import SummedStatistics
from sonicpy.index.search.suggest import suggest_likely
from tests.index.test_spread import PARTS, SCOPE, Part, ask, through_json
from tests.reference.word_graph import edit_distance
from tests.reference.word_walks import distance_of

FAMILIES = 15
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MANY = 1_000
EVERY_CORRECTION = Config.model_validate({"search": {"query_alternates_try": MANY}})


def changed(chance: random.Random, word: str, errors: int) -> str:
    """Return a word with other letters, one more or one less, in some places after the first three."""
    for _ in range(errors):
        at = chance.randrange(3, len(word) - 2)
        word = word[:at] + chance.choice(LETTERS) * chance.randrange(3) + word[at + 1 :]
    return word


def families(seed: int) -> dict[str, list[str]]:
    """Return typed words and words like each, fewer than are enough for a query."""
    chance = random.Random(seed)
    made: dict[str, list[str]] = {}
    for _ in range(FAMILIES):
        stem = "".join(chance.choices(LETTERS, k=14))
        typed = stem[: chance.randrange(6, 11)]
        like = {changed(chance, stem, chance.randrange(1, 4))[: chance.randrange(8, 15)] for _ in range(5)}
        made[typed] = sorted(each for each in like if each != typed)
    return made


def expected(typed: str, words: list[str]) -> set[str]:
    """Return the corrections of a typed word, and the words with its beginning but for errors."""
    errors = {word: distance_of(typed, list(word), MANY, begins=True) for word in words}
    near = {word for word in words if errors[word] <= 1}
    if len(typed) >= 8 and all(len(word) < len(typed) + 2 for word in near):
        near = {word for word in words if errors[word] <= 2}
    return near | {word for word in words if edit_distance(typed, word, True) <= edits_allowed(len(typed))}


def test_two_errors_count_where_one_finds_no_longer_word(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        for number, (text, finds) in enumerate([
            ("abcqefyhijkl", ["abcqefyhijkl"]),
            ("abcqefyhijkl abcdefgh", ["abcdefgh", "abcqefyhijkl"]),
            ("abcqefyhijkl abcdefghi", ["abcdefghi", "abcqefyhijkl"]),
            ("abcqefyhijkl abcdefghij", ["abcdefghij"]),
        ]):  # fmt: skip
            index.push("c", str(number), "o", text, "none")
            assert index.suggest("c", str(number), "abcdefxh") == finds, text


@pytest.mark.parametrize("seed", range(2))
def test_words_and_objects_are_those_of_the_definition(tmp_path: Path, seed: int) -> None:
    asked = families(seed)
    words = [word for like in asked.values() for word in like]
    random.Random(seed).shuffle(words)
    parts = [Part(tmp_path / str(number), EVERY_CORRECTION) for number in range(PARTS)]
    left_out = 0
    with Index(tmp_path / "one", EVERY_CORRECTION) as index:
        for number, word in enumerate(words):
            for bucket in ("one", f"of{number % 3}"):
                index.push("c", bucket, word, word, "none")
            parts[part_of(word, PARTS)].push(*SCOPE, word, word, "none")
            if number == len(words) // 2:
                index.consolidate()
                parts[0].consolidate()
        for _ in range(2):
            for typed, like in asked.items():
                finds = expected(typed, words)
                for bucket in ("one", ["of0", "of1", "of2"]):
                    assert set(index.suggest("c", bucket, typed, limit=MANY)) == finds, (bucket, typed)
                    assert set(index.query("c", bucket, typed, limit=MANY, lang="none")) == finds, (bucket, typed)
                of_parts = SummedStatistics([through_json(part.spread_word(*SCOPE, typed)) for part in parts])
                assert {each.decode() for each in suggest_likely(of_parts, typed.encode(), MANY)} == finds, typed
                assert set(ask(parts, typed, MANY, lang="none").names) == finds, typed
                left_out += any(distance_of(typed, list(word), MANY, begins=True) == 2 for word in {*like} - finds)
            index.consolidate()
    for part in parts:
        part.close()
    assert left_out, "some words with two errors are left out"
