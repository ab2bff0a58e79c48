"""Merged lists of rare words and their families are extended by the words of new objects."""

import random
from pathlib import Path

import pytest

import sonicpy
from sonicpy import Index
from tests.support.examples import examples

OBJECTS = 65_300
"""The number of objects: in a small bucket no word is rare enough, and behind 65,536 objects, lists get another
part.
"""
WORDS = ("engine", "engines", "engined", "nation", "nations", "national", "quartz")
QUERIES = ("engine", "engines nation", "quartz engine", "national quartz nations", "engined")


def push(indexes: tuple[Index, Index], number: int, text: str) -> None:
    for index in indexes:
        index.push("c", "b", str(number), text)


def answers(index: Index) -> list[list[tuple[str, float]]]:
    return [index.query("c", "b", text, limit=40).pairs() for text in QUERIES]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 8))
def test_answers_are_those_of_an_index_that_has_kept_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kept = sonicpy.open(tmp_path / "kept")
    fresh = sonicpy.open(tmp_path / "fresh")
    number = OBJECTS
    try:
        for index in (kept, fresh):
            index.bucket("c", "b").push_many([(number, f"filler{number % 50}") for number in range(OBJECTS)])
        for _ in range(examples(12)):
            with kept.batch(), fresh.batch():
                for _ in range(chance.choice((1, 1, 5, 200))):
                    number += 1
                    words = chance.choices(WORDS, k=chance.choice((1, 2, 5)))
                    push((kept, fresh), number, " ".join(words))
                if chance.random() < 0.3:  # rewrites lists
                    push((kept, fresh), chance.randrange(number), chance.choice(WORDS))
            fresh.close()
            fresh = sonicpy.open(tmp_path / "fresh")
            assert answers(kept) == answers(fresh)
    finally:
        kept.close()
        fresh.close()


def test_hundreds_of_rare_completions_in_any_order_find_their_objects(tmp_path: Path) -> None:
    chance = random.Random(3)
    words = [f"zy{number:03}x" for number in range(300)]
    texts = [" ".join(chance.sample(words, 4)) for _ in range(3_000)]
    with sonicpy.open(tmp_path / "store") as index:
        index.push_many([("c", "b", str(number), text) for number, text in enumerate(texts)])
        index.push_many([("c", "b", f"other{number}", f"other{number}") for number in range(50)])
        for typed in ("zy", "zy1", "zy29"):
            hits = index.query("c", "b", typed, limit=5_000, total=True)
            wanted = {str(number) for number, text in enumerate(texts) if typed in text}
            assert set(hits) == wanted
            assert hits.total == len(wanted)
