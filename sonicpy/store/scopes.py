"""A bucket's counters: the value of its row in `scopes`."""

from dataclasses import dataclass, fields

from sonicpy._native.postings import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged


@dataclass(slots=True)
class BucketState:
    """What is known of a bucket as a whole; as a row: the fields as varints, in this order."""

    bucket: int
    """Its number: part of every key; a flushed bucket's is never used again."""
    next_iid: int = 0
    next_term: int = 0
    objects: int = 0
    total_length: int = 0
    """Sum of the lengths of all objects."""
    live_words: int = 0
    """Words that some object holds as words of their own, of at most 40 bytes."""
    edits: int = 0
    """How many words were ever put into `pending`: orders them against a consolidation's snapshot."""
    lexicon_version: int = 0
    """Of the bucket's word graph; 0: none was built yet."""
    graph_words: int = 0
    """How many words that graph holds."""
    graph_edits: int = 0
    """How many of the edits it holds."""
    named: int = 0
    """Objects with a smaller IID are found through `oids`; newer ones may not be in it yet."""
    slices: int = 0
    """In how many slices `oids` divides the hashes of names."""

    def pack(self) -> bytes:
        """Return the row."""
        return pack_varints(getattr(self, name) for name in FIELD_NAMES)

    @classmethod
    def unpack(cls, row: bytes) -> "BucketState":
        """Return the state that `pack` made a row of.

        Raises:
            StoreDamaged: the row is cut off or has another number of fields.
        """
        try:
            numbers = unpack_varints(row)
        except DamagedBytes as fault:
            raise StoreDamaged(f"the row of a bucket cannot be read: {fault}") from fault
        if len(numbers) != len(FIELD_NAMES):
            raise StoreDamaged(f"the row of a bucket has {len(numbers)} numbers instead of {len(FIELD_NAMES)}")
        return cls(*numbers)


FIELD_NAMES = tuple(field.name for field in fields(BucketState))
