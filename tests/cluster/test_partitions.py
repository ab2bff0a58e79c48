"""The partition and the nodes of a bucket: frozen numbers, and few moves when a node is added or drained."""

from collections import Counter

import pytest

from sonicpy.cluster.registry.partitions import partition_of, placement

FROZEN = [
    ("messages", "default", 16, 5),
    ("messages", "user:1", 16, 12),
    ("messages", "user:2", 16, 14),
    ("a", "bc", 16, 5),
    ("ab", "c", 16, 5),
    ("messages", "default", 1000, 245),
]


FROZEN_PLACES = (("n1", "n3"), ("n1", "n3"), ("n2", "n4"), ("n2", "n4"))


@pytest.mark.parametrize(("collection", "bucket", "partitions", "number"), FROZEN)
def test_the_partition_of_a_bucket_is_frozen(collection: str, bucket: str, partitions: int, number: int) -> None:
    assert partition_of(collection, bucket, partitions) == number


def test_the_holders_of_a_partition_are_frozen() -> None:
    assert placement(4, ("n1", "n2", "n3", "n4"), 2) == FROZEN_PLACES


def test_the_order_of_the_nodes_does_not_matter() -> None:
    assert placement(16, ("n1", "n2", "n3"), 2) == placement(16, ("n3", "n1", "n2"), 2)


def test_buckets_spread_evenly() -> None:
    counts = Counter(partition_of("messages", f"bucket{number}", 16) for number in range(16_000))
    assert len(counts) == 16
    assert max(counts.values()) < 1.15 * 1000


NODES = tuple(f"n{number}" for number in range(1, 10))
STEPS = [(3, 4), (4, 5), (3, 5), (5, 4), (4, 3), (5, 3), (8, 9)]
"""(number of nodes before, number of nodes afterwards)."""


@pytest.mark.parametrize(("before", "after"), STEPS)
@pytest.mark.parametrize("partitions", [16, 17, 64, 1024])
def test_a_node_that_comes_or_goes_moves_little(partitions: int, before: int, after: int) -> None:
    for copies in (1, 2, 3):
        old, new = placement(partitions, NODES[:before], copies), placement(partitions, NODES[:after], copies)
        moved = sum(len({*there} - {*here}) for here, there in zip(old, new, strict=True))
        least = partitions * copies * abs(after - before) / max(before, after)
        assert moved <= 2 * least + 2, (copies, moved, least)


@pytest.mark.parametrize("partitions", range(1, 40))
def test_every_partition_has_its_replicas_and_no_node_more_than_its_share(partitions: int) -> None:
    for count in range(1, 10):
        for copies in range(1, 5):
            held = placement(partitions, NODES[:count], copies)
            assert {len({*nodes}) for nodes in held} == {min(copies, count)}
            counts = Counter(node for nodes in held for node in nodes)
            assert max(counts.values()) <= -(-partitions * min(copies, count) // count)


def test_a_thousand_buckets_on_three_nodes_and_five() -> None:
    """After each addition and removal, every bucket has its three replicas, and no node holds more than 1.3 times the
    mean.
    """
    for nodes in (NODES[:3], NODES[:4], NODES[:5], NODES[1:5], NODES[2:5]):
        held = placement(16, nodes, 3)
        counts: Counter[str] = Counter()
        for number in range(1000):
            holders = held[partition_of("messages", f"bucket{number}", 16)]
            assert len({*holders}) == 3
            assert {*holders} <= {*nodes}
            counts.update(holders)
        assert max(counts.values()) <= 1.3 * 3000 / len(nodes), counts


def test_fewer_nodes_than_copies_hold_all() -> None:
    assert sorted(placement(1, ("n1", "n2"), 3)[0]) == ["n1", "n2"]
