"""A bucket's counters: the value of its row in `scopes`."""

from typing import Self

from sonicpy._native.bucket import Counters
from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged

FIELD_NAMES = (
    "bucket", "next_iid", "next_term", "objects", "total_length", "live_words", "pending_seq", "lexicon_version",
    "graph_words", "graph_seq", "named", "slices",
)  # fmt: skip


class BucketState(Counters):
    """The counters of a bucket as a whole. Its row holds the fields as varints, in this order.

    Attributes:
        bucket: its number: part of every key; a flushed bucket's is never used again.
        next_iid: the IID of the next new object.
        next_term: the id of the next new term.
        objects: how many there are.
        total_length: sum of the lengths of all objects.
        live_words: words that some object holds as words of their own, of at most 40 bytes.
        pending_seq: how many words were ever added to `pending`; it orders them against a consolidation's snapshot.
        lexicon_version: the version of the bucket's word graph; 0: none was built yet.
        graph_words: how many words that graph holds.
        graph_seq: the `pending_seq` up to which the graph holds pending words.
        named: `oids` holds all objects with a smaller IID; newer ones may still be missing there.
        slices: into how many slices `oids` divides the hashes of names.
    """

    __slots__ = ()

    def pack(self) -> bytes:
        """Return the row."""
        return pack_varints(getattr(self, name) for name in FIELD_NAMES)

    @classmethod
    def unpack(cls, row: bytes) -> Self:
        """Return the state that `pack` made a row of.

        Raises:
            StoreDamaged: the row is cut off or has another number of fields.
        """
        try:
            numbers = unpack_varints(row)
        except DamagedBytes as error:
            raise StoreDamaged(f"the row of a bucket cannot be read: {error}") from error
        if len(numbers) != len(FIELD_NAMES):
            raise StoreDamaged(f"the row of a bucket has {len(numbers)} numbers instead of {len(FIELD_NAMES)}")
        return cls(*numbers)
