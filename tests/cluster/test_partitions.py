"""Which partition and which nodes: frozen numbers, and little moves when a node comes or goes."""

from collections import Counter

import pytest

from sonicpy.cluster.partitions import holders_of, partition_of

FROZEN = [
    ("messages", "default", 16, 5),
    ("messages", "user:1", 16, 12),
    ("messages", "user:2", 16, 14),
    ("a", "bc", 16, 5),
    ("ab", "c", 16, 5),
    ("messages", "default", 1000, 245),
]


@pytest.mark.parametrize(("collection", "bucket", "partitions", "number"), FROZEN)
def test_the_partition_of_a_bucket_is_frozen(collection: str, bucket: str, partitions: int, number: int) -> None:
    assert partition_of(collection, bucket, partitions) == number


def test_the_holders_of_a_partition_are_frozen() -> None:
    assert [holders_of(number, ["n1", "n2", "n3", "n4"], 2) for number in range(4)] == [
        ["n1", "n3"],
        ["n1", "n3"],
        ["n1", "n3"],
        ["n2", "n1"],
    ]


def test_the_order_of_the_nodes_does_not_matter() -> None:
    assert holders_of(3, ["n1", "n2", "n3"], 2) == holders_of(3, ["n3", "n1", "n2"], 2)


def test_buckets_spread_evenly() -> None:
    counts = Counter(partition_of("messages", f"bucket{number}", 16) for number in range(16_000))
    assert len(counts) == 16
    assert max(counts.values()) < 1.15 * 1000


def test_a_new_node_takes_only_its_share() -> None:
    before = [set(holders_of(number, ["n1", "n2", "n3"], 2)) for number in range(600)]
    after = [set(holders_of(number, ["n1", "n2", "n3", "n4"], 2)) for number in range(600)]
    for old, new in zip(before, after, strict=True):
        assert new - old <= {"n4"}
    assert 0.4 < sum("n4" in new for new in after) / 600 < 0.6


def test_fewer_nodes_than_copies_hold_all() -> None:
    assert sorted(holders_of(0, ["n1", "n2"], 3)) == ["n1", "n2"]
