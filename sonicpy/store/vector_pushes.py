"""The short ways of a PUSH with a vector, or with an order; `Store.push` has that of a PUSH without them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreError
from sonicpy.rules import FIRST
from sonicpy.store.changing.mutations import pack_push_with
from sonicpy.store.disk.log import RECORD_MAX_BYTES
from sonicpy.store.fields.all_fields import ORDER, VECTORS
from sonicpy.store.refused_changes import Refusals

if TYPE_CHECKING:
    from sonicpy.store.changing.bucket_writer import BucketWriter
    from sonicpy.store.recovery import RecoveringStore
else:
    RecoveringStore = object  # of whoever takes these methods

TRIED_AGAIN = (StoreError, DamagedBytes, OverflowError)
"""Errors after which a PUSH is repeated once, in a recovered transaction."""


class VectorPushes(RecoveringStore):
    """A store that takes vectors beside texts."""

    _refusals: Refusals

    def push_with_vector(
        self, collection: str, bucket: str, oid: str, terms: Terms, vector: bytes, rules: int = FIRST
    ) -> bool:
        """Carry out a PUSH with one vector as `push` does; return False where it has to take the way of `apply`.

        Args:
            vector: packed, as `pack_vectors` does.

        Raises:
            StoreError: as `push`.
        """
        writer = self._ready_writer(collection, bucket, rules)
        if writer is None or writer.vectors.of(vector) is None:
            return False
        fields = ((VECTORS.id, vector),)
        return self._push_short(writer, writer.push_with_vector, (collection, bucket, oid, terms), fields)

    def push_with_order(
        self, collection: str, bucket: str, oid: str, terms: Terms, order: bytes, rules: int = FIRST
    ) -> bool:
        """Carry out a PUSH with the order of its words as `push` does; return False as `push_with_vector`.

        Args:
            order: as records of the log give it.

        Raises:
            StoreError: as `push`.
        """
        writer = self._ready_writer(collection, bucket, rules)
        if writer is None:
            return False
        fields = ((ORDER.id, order),)
        return self._push_short(writer, writer.push_with_order, (collection, bucket, oid, terms), fields)

    def _ready_writer(self, collection: str, bucket: str, rules: int) -> "BucketWriter | None":
        """Return the writer of a bucket, if nothing is in the way of a short PUSH."""
        view = self.view
        if view is None or self.is_torn or self._refusals.now is not None:
            return None
        removals = view.removals
        if removals.objects or removals.collections or removals.vectors:
            return None
        writer: BucketWriter | None = view.writer_cache.get((collection, bucket))
        return None if writer is None or writer.rules != rules else writer

    def _push_short(
        self,
        writer: "BucketWriter",
        push: Callable[[str, Terms, bytes], object],
        change: tuple[str, str, str, Terms],
        fields: tuple[tuple[int, bytes]],
    ) -> bool:
        view = self.view
        assert view is not None
        collection, bucket, oid, terms = change
        record = pack_push_with(collection, bucket, oid, terms, fields, writer.rules)
        if len(record) > RECORD_MAX_BYTES:
            return False
        self.uncommitted += 1
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            push(oid, terms, fields[0][1])
            if terms.languages:
                writer.count_languages(terms.languages)
        except BaseException as error:
            self.uncommitted -= 1
            self._recover(error if isinstance(error, StoreError) else None)
            if not isinstance(error, TRIED_AGAIN):
                raise
            return False
        self.stamp += 1
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._board.mark(collection, bucket, view.transaction.number)
        return True
