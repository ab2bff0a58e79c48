"""Lists of words at any offset, and the number of buckets that hold words, while words are added and removed."""

import random
from pathlib import Path

import pytest

from sonicpy.index.search import word_places
from tests.index.shorthand import B, C, open_index

WORDS = [f"{first}{second}{number}x" for first in "ab" for second in "cde" for number in range(9)]


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_page_at_any_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_batch: bool) -> None:
    monkeypatch.setattr(word_places, "STEP", 4)
    monkeypatch.setattr(word_places, "LISTS_MAX", 2)
    chance = random.Random(3)
    held: dict[str, set[str]] = {}
    with open_index(tmp_path) as index:

        def check() -> None:
            for prefix in ("", "a", "bd", "q"):
                words = sorted({word for each in held.values() for word in each if word.startswith(prefix)})
                for offset in [len(words), len(words) + 9, *chance.sample(range(60), 6)]:
                    limit = chance.randint(1, 9)
                    assert index.words(C, B, limit=limit, offset=offset, prefix=prefix) == words[offset:][:limit]

        def change() -> None:
            oid = f"o{chance.randrange(12)}"
            words = chance.sample(WORDS, 5)
            match chance.randrange(4):
                case 0:
                    index.flush(C, B, oid)
                    held.pop(oid, None)
                case 1:
                    index.pop(C, B, oid, " ".join(words))
                    held[oid] = held.get(oid, set()) - set(words)
                case _:
                    index.push(C, B, oid, " ".join(words))
                    held[oid] = held.get(oid, set()) | set(words)

        for step in range(60):
            if is_batch:
                with index.batch():
                    change()
                    check()
            else:
                change()
                check()
            if step == 40:
                index.consolidate()
                check()


def test_the_number_of_buckets_that_hold_words(tmp_path: Path) -> None:
    chance = random.Random(5)
    held: set[tuple[str, str]] = set()
    with open_index(tmp_path) as index, index.batch():
        for _ in range(120):
            collection, bucket = f"c{chance.randrange(2)}", f"b{chance.randrange(9)}"
            if chance.random() < 0.4:
                index.flush(collection, bucket, "o")
                held.discard((collection, bucket))
            else:
                index.push(collection, bucket, "o", "word")
                held.add((collection, bucket))
            for each in ("c0", "c1", "c"):
                assert index.count(each) == sum(one == each for one, _ in held)
