"""The short ways of a PUSH with a vector or an order, and of an UPSERT; `Store.push` has that of a plain PUSH."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreError
from sonicpy.rules import FIRST
from sonicpy.store.changing.mutations import UpsertTerms, pack_mutation, pack_push_with
from sonicpy.store.disk.log import RECORD_MAX_BYTES
from sonicpy.store.fields.all_fields import DIGESTS, ORDER, VECTORS
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
        """Carry out a PUSH with one vector as `push` does; return False if `apply` has to carry it out.

        Args:
            vector: packed, as `pack_vectors` does.

        Raises:
            StoreError: as `push`.
        """
        writer = self._ready_writer(collection, bucket, rules)
        if writer is None or writer.vectors.of(vector) is None:
            return False
        record = pack_push_with(collection, bucket, oid, terms, ((VECTORS.id, vector),), rules)
        return self._push_short(writer, writer.push_with_vector, (collection, bucket, oid, terms, vector), record)

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
        record = pack_push_with(collection, bucket, oid, terms, ((ORDER.id, order),), rules)
        return self._push_short(writer, writer.push_with_order, (collection, bucket, oid, terms, order), record)

    def upsert(self, collection: str, bucket: str, oid: str, terms: Terms, digest: bytes, rules: int = FIRST) -> bool:
        """Carry out an UPSERT of a text as `apply` does; return False as `push_with_vector`.

        Args:
            digest: of the text.

        Raises:
            StoreError: as `push`.
        """
        writer = self._ready_writer(collection, bucket, rules)
        if writer is None:
            return False
        record = pack_mutation(UpsertTerms(collection, bucket, oid, terms, rules, ((DIGESTS.id, digest),)))
        return self._push_short(writer, writer.upsert, (collection, bucket, oid, terms, digest), record)

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
        change: tuple[str, str, str, Terms, bytes],
        record: bytes,
    ) -> bool:
        view = self.view
        assert view is not None
        collection, bucket, oid, terms, given = change
        if len(record) > RECORD_MAX_BYTES:
            return False
        self.uncommitted += 1
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            push(oid, terms, given)
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
