"""The partitions of buckets, and the nodes that hold them, by the layout of the cluster."""

from sonicpy.cluster.registry.partitions import partition_of
from sonicpy.cluster.registry.registry import Layout


class Places:
    """The layout that a node works by.

    Attributes:
        layout: the newest layout that the node has read.
        holders: partition -> the nodes that hold it.
        spread: the collections whose buckets are spread.
    """

    def __init__(self, layout: Layout) -> None:
        self.take(layout)

    def take(self, layout: Layout) -> None:
        """Use another layout from now on."""
        self.layout = layout
        self.holders = [tuple(layout.holders(number)) for number in range(layout.partitions)]
        self.spread = frozenset(name for name, _ in layout.spread)

    def partition_of(self, collection: str, bucket: str, object: str = "") -> int:
        """Return the partition that holds a bucket or, for a spread bucket, the part with an object."""
        if self.spread:
            return self.layout.partition_of(collection, bucket, object)
        return partition_of(collection, bucket, self.layout.partitions)

    def parts_of(self, collection: str, bucket: str) -> list[int]:
        """Return the partitions that hold a bucket."""
        return self.layout.parts_of(collection, bucket)
