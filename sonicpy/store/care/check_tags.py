"""Compares the tags of a bucket with its objects: their rows, names, postings and impacts."""

from collections.abc import Iterator
from itertools import chain

from sonicpy._native.keys import bucket_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.tag_rows import OBJECTS_PER_TAG_ROW, TagRow
from sonicpy.store.care.check_terms import TermsCheck
from sonicpy.store.disk.transaction import FACTS, TAGS, WORDS, Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import TAGS_MARK, fact_key, owner_of
from sonicpy.store.rows.meta import uses_of
from sonicpy.store.rows.objects_there import ObjectsThere
from sonicpy.store.rows.tag_counts import TAG_COUNTS, TagCounts, unpack_tag_counts

NO_NAME = b"-"


class TagsCheck(TermsCheck):
    """The rows under the number of the tags of a bucket, which are like those of words."""

    def __init__(self, transaction: Transaction, state: BucketState, counts: TagCounts) -> None:
        super().__init__(transaction, BucketState(state.bucket | TAGS_MARK, state.next_iid, counts.next_id))
        self._counts = counts
        self._held = 0

    def faults(self) -> Iterator[str]:
        """Yield the errors, a sentence each."""
        return (
            f"tags: {fault}"
            for fault in chain(
                self._word_faults(),
                self._term_faults(),
                self._row_faults(),
                self._posting_faults(),
                self._holder_faults(),
                self._count_faults(),
            )
        )

    def _live_faults(self, live: int) -> Iterator[str]:
        return iter(())  # tags are not words of the bucket

    def _is_forgotten(self, word: bytes) -> bool:
        return False

    def _row_faults(self) -> Iterator[str]:
        bucket = owner_of(self._state.bucket)
        there = ObjectsThere(self._transaction, bucket)
        for key, packed in self._transaction.rows(TAGS, bucket_key(bucket)):
            first, row = int.from_bytes(key[4:], "big") * OBJECTS_PER_TAG_ROW, TagRow(packed)
            if row.pack() != packed:
                yield f"the row of the objects from {first} on is not written as it is read"
            for place in row.places():
                iid, ids = first + place, row.of(place)
                self._held += len(ids)
                if iid not in there:
                    yield f"object {iid} has tags, but does not exist"
                yield from self._record_faults(iid, ObjectRecord.of(NO_NAME, [(id, 1, False, 0) for id in ids]))

    def _count_faults(self) -> Iterator[str]:
        counted = self._counts._replace(live=len(self._words), held=self._held)
        if counted != self._counts:
            held, right = (f"{counts.live} tags with {counts.held} holders" for counts in (self._counts, counted))
            yield f"the bucket counts {held} instead of {right}"


def tag_faults(transaction: Transaction, state: BucketState) -> Iterator[str]:
    """Yield the errors of the tags of a bucket, a sentence each."""
    fact = transaction.get(FACTS, fact_key(state.bucket, TAG_COUNTS))
    prefix = bucket_key(state.bucket), bucket_key(state.bucket | TAGS_MARK)
    rows = [transaction.first(table, key) for table, key in ((TAGS, prefix[0]), (WORDS, prefix[1]))]
    if fact is None:
        if any(row is not None and row[0].startswith(key) for row, key in zip(rows, prefix, strict=True)):
            yield "it has tags, and no counters of them"
        return
    if uses.TAGS not in uses_of(transaction):
        yield "it has tags, and the row 'uses' of meta does not name them"
    yield from TagsCheck(transaction, state, unpack_tag_counts(fact)).faults()
