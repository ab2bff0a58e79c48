"""The partition of a bucket, and the nodes of a partition.

These functions must never change: every node of a cluster, and every later version, has to compute the same numbers.
"""

from functools import cache, lru_cache
from hashlib import blake2b

BUCKETS_KEPT = 4096
"""The most buckets whose partition a node caches."""


@lru_cache(BUCKETS_KEPT)
def partition_of(collection: str, bucket: str, partitions: int) -> int:
    """Return the number of the partition that holds a bucket, from 0 on.

    Args:
        partitions: the number of partitions in the cluster.
    """
    return _hash(f"{collection}\0{bucket}") % partitions


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "big")


def part_of(object: str, parts: int) -> int:
    """Return the number of an object's part of a spread bucket, from 0 on.

    Args:
        parts: number of parts of the bucket.
    """
    return _hash(object) % parts


def partition_of_part(collection: str, bucket: str, part: int, partitions: int) -> int:
    """Return the partition that holds a part of a spread bucket: parts lie in successive partitions, so no two share
    one.

    Args:
        partitions: the number of partitions in the cluster, at least that of the bucket's parts.
    """
    return (partition_of(collection, bucket, partitions) + part) % partitions


@cache
def placement(partitions: int, nodes: tuple[str, ...], copies: int) -> tuple[tuple[str, ...], ...]:
    """Return the nodes that hold each partition, by rendezvous hashing within bounds.

    Each partition ranks the nodes by a hash, so adding or removing a node moves few partitions. A node with its full
    share is skipped, so no node has more than the mean, rounded up.

    Args:
        partitions: the number of partitions.
        nodes: the names of all nodes, each once, in any order.
        copies: the number of nodes to hold each partition; all nodes if there are fewer.
    """
    copies = min(copies, len(nodes))
    share = -(-partitions * copies // len(nodes))
    room = dict.fromkeys(nodes, share)
    placed = []
    for partition in range(partitions):
        ranked = sorted(nodes, key=lambda node: _weight(partition, node), reverse=True)  # noqa: B023 - used at once
        chosen = [node for node in ranked if room[node]][:copies]
        _leave_enough(chosen, room, partitions - partition - 1)
        for node in chosen:
            room[node] -= 1
        placed.append(tuple(chosen))
    return tuple(placed)


def _leave_enough(chosen: list[str], room: dict[str, int], left: int) -> None:
    """Replace chosen nodes by nodes with the most room, until the remaining partitions find enough nodes.

    A partition takes a node once, so room for more than `left` partitions cannot be used.
    """
    copies = len(chosen)
    while sum(min(have - (node in chosen), left) for node, have in room.items()) < copies * left:
        fullest = min(chosen, key=lambda node: room[node])
        emptiest = max((node for node in room if node not in chosen), key=lambda node: (room[node], node))
        chosen[chosen.index(fullest)] = emptiest


def _weight(partition: int, node: str) -> tuple[bytes, str]:
    return blake2b(f"{partition}\0{node}".encode(), digest_size=8).digest(), node
