"""With changes and queries in turn, an index that has answered all the time gives the same answers as one that was just
opened.

There are few words, which are similar, so that changes concern words that queries have just used: typed words, their
completions and forms, words that were missing, and words that no object holds any more.
"""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from tests.support.examples import examples
from tests.support.texts import messages, oid

C, BUCKETS = "c", ("b", "other")
WORDS = (
    "alpha", "alphas", "alpine", "alpines", "beta", "betas", "bet", "better", "gamma", "gammas", "gamut", "delta",
    "dealt", "epsilon", "epsilons", "state-of-the-art", "stateful", "café", "cafe", "cafés", "10.0.0.1",
    "mail.example.org", "the", "und", "der", "les", "von", "with", "zeppelin" * 63, "zeppelin" * 64,
)  # fmt: skip
ASKED = (*WORDS, "alp", "ga", "epsi", "alpah", "gamme", "state", "example", "alpha beta", "better gamma del", "10.0")
STEPS = 60
CALLS_MAX = 110
"""The most functions of Python that a PUSH and a query that finds it call together, on average."""


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))


def change(chance: random.Random) -> Callable[[Index], object]:
    """Return a function that makes a change, to be called for each index."""
    bucket, oid, given = chance.choice(BUCKETS), f"o{chance.randrange(25)}", text(chance)
    rows = [(C, bucket, f"o{chance.randrange(25)}", text(chance)) for _ in range(3)]
    ways: tuple[Callable[[Index], object], ...] = (
        lambda index: index.push(C, bucket, oid, given),
        lambda index: index.push(C, bucket, oid, given, tags=[given.split()[0][:100]]),
        lambda index: index.push(C, bucket, oid, given, field="title"),
        lambda index: index.upsert(C, bucket, oid, given),
        lambda index: index.upsert(C, bucket, oid, {"title": given, "": "alpha"}),
        lambda index: index.pop(C, bucket, oid, given),
        lambda index: index.flush_object(C, bucket, oid),
        lambda index: index.push_many(rows, upsert=len(given) % 2 == 0).indexed,
        lambda index: index.commit(),
        lambda index: index.consolidate() if len(given) % 4 == 0 else None,
        lambda index: index.flush_bucket(C, bucket) if len(given) % 16 == 0 else None,
    )
    return chance.choices(ways, weights=(8, 2, 2, 8, 2, 4, 4, 2, 1, 1, 1))[0]


def answers(index: Index, bucket: str, asked: list[str]) -> list[Any]:
    """Return the answers to some questions, with their scores."""
    found: list[Any] = [[(hit, hit.score) for hit in index.query(C, bucket, each, limit=20)] for each in asked]
    found += [index.query(C, bucket, each, limit=20, filter="alpha").objects for each in asked[:2]]
    found += [index.query(C, bucket, each, limit=20, fields="title").objects for each in asked[:2]]
    return [*found, *(index.suggest(C, bucket, each[:3]) for each in asked), index.words(C, bucket, limit=100)]


@pytest.mark.parametrize("seed", range(examples(4)))
def test_answers_between_changes_are_those_of_an_index_that_was_just_opened(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    index, twin = sonicpy.open(tmp_path / "index"), sonicpy.open(tmp_path / "twin")
    for step in range(STEPS):
        for _ in range(chance.choice((1, 1, 1, 4))):
            made = change(chance)
            assert made(index) == made(twin)
        bucket = chance.choice(BUCKETS)
        asked = chance.sample(ASKED, 5)
        found = answers(index, bucket, asked)
        if step % 6 == 5:
            twin.close()
            twin = sonicpy.open(tmp_path / "twin")
            assert found == answers(twin, bucket, asked)
    assert index.verify() == []
    index.close()
    twin.close()


def test_a_change_and_a_query_call_few_functions_of_python(tmp_path: Path) -> None:
    texts, called = messages(600), 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal called
        called += event == "call"

    with sonicpy.open(tmp_path) as index:
        try:
            for number, each in enumerate(texts):
                if number == 400:
                    sys.setprofile(count)
                index.push(C, "b", oid(number), each)
                index.query(C, "b", max(each.split(), key=len))
        finally:
            sys.setprofile(None)
    assert called / 200 < CALLS_MAX
