"""COUNT of a collection beside a count of its buckets one by one, through changes, commits, reopening and recovery."""

from pathlib import Path
from random import Random

import pytest

from sonicpy.index.index import Index
from tests.index.shorthand import open_index

COLLECTIONS = ("one", "two")
BUCKETS = [f"b{number}" for number in range(12)]


def change(index: Index, random: Random) -> None:
    collection, bucket = random.choice(COLLECTIONS), random.choice(BUCKETS)
    match random.randrange(12):
        case 0:
            index.flush_bucket(collection, bucket)
        case 1 | 2:
            index.flush_object(collection, bucket, "o")
        case 3:
            index.pop(collection, bucket, "o", "alpha")
        case 4:
            index.engine.commit()
        case 5 if random.randrange(6) == 0:
            index.flush_collection(collection)
        case 6 if random.randrange(3) == 0:
            index.consolidate()
        case _:
            index.push(collection, bucket, "o", random.choice(("alpha", "beta", "...")), "none")


def one_by_one(index: Index, collection: str) -> int:
    return sum(index.count_words(collection, bucket) > 0 for bucket in BUCKETS)


@pytest.mark.full
@pytest.mark.parametrize("compat", [False, True], ids=["own", "compat"])
@pytest.mark.parametrize("commits_late", [False, True], ids=["commits", "commits late"])
def test_the_count_is_that_of_the_buckets_one_by_one(tmp_path: Path, compat: bool, commits_late: bool) -> None:
    random = Random(7)
    settings = {"server__compat": "sonic"} if compat else {}
    for opened in range(4):
        with open_index(tmp_path, commits_late=commits_late, **settings) as index:
            for step in range(150):
                change(index, random)
                if random.randrange(3) == 0:
                    for collection in COLLECTIONS:
                        assert index.count_buckets(collection) == one_by_one(index, collection), (opened, step)
                if step == 100:
                    with index.engine.snapshot_of_now() as view:
                        field = "lexicon_version" if compat else "live_words"
                        assert view.count_buckets("one", field) == one_by_one(index, "one")
