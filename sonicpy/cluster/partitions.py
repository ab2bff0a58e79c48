"""Which partition a bucket belongs to, and which nodes hold a partition.

Both functions are frozen: every node of a cluster, and every later version, has to compute the same numbers.
"""

from collections.abc import Sequence
from hashlib import blake2b


def partition_of(collection: str, bucket: str, partitions: int) -> int:
    """Return the number of the partition that holds a bucket, from 0 on.

    Args:
        partitions: how many the cluster has.
    """
    name = f"{collection}\0{bucket}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % partitions


def holders_of(partition: int, nodes: Sequence[str], copies: int) -> list[str]:
    """Return the nodes that hold a partition, by rendezvous hashing: a node that comes or goes moves little.

    Args:
        nodes: the names of all nodes, in any order.
        copies: how many nodes are to hold it; all, if there are fewer.
    """

    def weight(node: str) -> tuple[bytes, str]:
        return blake2b(f"{partition}\0{node}".encode(), digest_size=8).digest(), node

    return sorted(nodes, key=weight, reverse=True)[:copies]
