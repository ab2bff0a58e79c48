"""The tags of a bucket, for reading: rows and postings under a number of their own, with the IIDs of the bucket."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.tag_rows import OBJECTS_PER_TAG_ROW, TagRow
from sonicpy._native.term_rows import TermInfo
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.pages import pages
from sonicpy.store.disk.transaction import TAGS
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import TAGS_MARK, owner_of, tag_key, word_key
from sonicpy.store.rows.tag_counts import TAG_COUNTS, TagCounts, unpack_tag_counts
from sonicpy.store.views.bucket_reader import BucketReader

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner
    from sonicpy.store.views.bucket_rows import BucketRows


class TagReader(BucketReader):
    """Reads the tags of a bucket. Words are tags here, and postings those of the objects that have one.

    Args:
        owner: reads the bucket.
        counts: of its tags.
    """

    def __init__(self, view: "BucketRows", owner: "Owner", counts: TagCounts) -> None:
        super().__init__(view, tags_state(owner.state, counts))
        self._owner = owner
        self.live = counts.live
        """Number of tags that objects have."""

    def lengths(self) -> bytes | bytearray:
        """Return the packed lengths of all objects of the bucket, by IID."""
        return self._owner.lengths()

    def length_masks(self) -> LengthMasks:
        """Return bits of the objects that are shorter than a limit."""
        return self._owner.length_masks()

    def starting(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the tags that begin with `prefix`, in byte order, with their rows.

        Args:
            after: only tags behind this one.
        """
        key_prefix = word_key(self.state.bucket, prefix)
        start = word_key(self.state.bucket, after) + b"\0" if after else key_prefix
        for rows in pages(partial(self._view.word_rows_from, prefix=key_prefix), key_prefix, start=start):
            for key, row in rows:
                yield key[4:], TermInfo(row, 0)

    def tag_ids_of(self, iids: list[int]) -> list[list[int]]:
        """Return the ids of the tags of some objects, rising."""
        bucket, held = owner_of(self.state.bucket), dict[int, TagRow]()
        for number in {iid // OBJECTS_PER_TAG_ROW for iid in iids}:
            held[number] = TagRow(self._transaction.get(TAGS, tag_key(bucket, number)) or b"")
        return [held[iid // OBJECTS_PER_TAG_ROW].of(iid % OBJECTS_PER_TAG_ROW) for iid in iids]

    def tags_of(self, iids: list[int]) -> list[list[str]]:
        """Return the tags of some objects, in byte order."""
        ids = self.tag_ids_of(iids)
        named = self._named({tag_id for held in ids for tag_id in held})
        return [[tag.decode() for tag in sorted(named[tag_id] for tag_id in held)] for held in ids]

    def tags_numbered(self, ids: list[int]) -> list[str]:
        """Return the tags with these ids."""
        named = self._named(ids)
        return [named[tag_id].decode() for tag_id in ids]

    def _named(self, ids: Iterable[int]) -> dict[int, bytes]:
        wanted = set(ids)
        named = self._view.terms_numbered(self.state.bucket, wanted)
        if len(named) < len(wanted):
            missing = len(wanted) - len(named)
            raise StoreDamaged(f"bucket {owner_of(self.state.bucket)}: objects have {missing} tags without a name")
        return named


def tag_counts(owner: "Owner") -> TagCounts | None:
    """Return the counters of the tags of a bucket; None: no object has a tag."""
    fact = owner.fact(TAG_COUNTS)
    counts = None if fact is None else unpack_tag_counts(fact)
    return counts if counts is not None and counts.live else None


def tags_state(state: BucketState, counts: TagCounts) -> BucketState:
    """Return the state of a bucket as a reader of its tags needs it."""
    return BucketState(state.bucket | TAGS_MARK, state.next_iid, counts.next_id, state.objects)
