"""The short way of a PUSH with a vector, as `Store.push` is that of one without."""

from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreError
from sonicpy.rules import FIRST
from sonicpy.store.changing.mutations import pack_push_with
from sonicpy.store.disk.log import RECORD_MAX_BYTES
from sonicpy.store.fields.all_fields import VECTORS
from sonicpy.store.refused_changes import Refusals

if TYPE_CHECKING:
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
        view = self.view
        if (
            view is None
            or self.is_torn
            or self._refusals.now is not None
            or (writer := view.writer_cache.get((collection, bucket))) is None
            or writer.rules != rules
            or view.removals
            or writer.vectors.of(vector) is None
        ):
            return False
        record = pack_push_with(collection, bucket, oid, terms, ((VECTORS.id, vector),), rules)
        if len(record) > RECORD_MAX_BYTES:
            return False
        self.uncommitted += 1
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            writer.push_with_vector(oid, terms, vector)
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
