"""A bucket's counters: the value of its row in `scopes`."""

from typing import Self

from sonicpy._native.counters import Counters, unpack_counters
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged

FIELD_NAMES = (
    "bucket", "next_iid", "next_term", "objects", "total_length", "live_words", "pending_seq", "lexicon_version",
    "graph_words", "graph_seq", "named", "slices",
)  # fmt: skip


BORN_GRAPHLESS = 1
"""The `graph_words` of a bucket that began as a small one: its words are compared until it is consolidated."""

COUNTED = ("live_words", "lexicon_version")
"""The fields that make a bucket count: it holds words now, or held words at the last consolidation."""
BucketCounts = dict[tuple[str, str], int]
"""Collection and field -> the number of buckets with a value other than 0 in the field."""


class BucketState(Counters):
    """The counters of a bucket as a whole. Its row holds the fields as varints, in this order.

    Attributes:
        bucket: the number of the bucket, a part of every key; it is never reused after a flush.
        next_iid: the IID of the next new object.
        next_term: the id of the next new term.
        objects: the number of objects.
        total_length: the sum of the lengths of all objects.
        live_words: the number of words, in the sense of the lexicon, that objects hold.
        pending_seq: the number of words ever added to `pending`: the sequence number of the last one.
        lexicon_version: the version of the bucket's word graph; 0: none was built yet.
        graph_words: the number of words in the graph; without a graph, the number of words at the last consolidation,
            or BORN_GRAPHLESS.
        graph_seq: the `pending_seq` up to which the graph includes pending words.
        named: an IID: `oids` holds all objects with a smaller one; newer objects may be missing there.
        slices: the number of slices into which `oids` divides the hashes of names.
    """

    __slots__ = ()

    @property
    def is_graphless(self) -> bool:
        """Whether the bucket was consolidated without a graph, or began as a small one, so that its pending rows may
        lack words."""
        return not self.lexicon_version and self.graph_words > 0

    @property
    def words_in_graph(self) -> int:
        """The number of words in the graph; 0: there is none."""
        return self.graph_words if self.lexicon_version else 0

    @classmethod
    def unpack(cls, row: bytes) -> Self:
        """Return the state in a row made by `pack`.

        Raises:
            StoreDamaged: the row is cut off, has another number of fields, or a number that is too high.
        """
        try:
            return unpack_counters(cls, row)
        except DamagedBytes as error:
            raise StoreDamaged(f"the row of a bucket cannot be read: {error}") from error
