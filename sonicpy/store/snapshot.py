"""A snapshot that many reads share one after the other, until the next commit: states of buckets are read once."""

from sonicpy.store.environment import Transaction
from sonicpy.store.scopes import BucketState
from sonicpy.store.view import BUCKETS_KEPT, View


class Snapshot(View):
    """The picture of one commit. What it remembers goes with its transaction."""

    def __init__(self, transaction: Transaction, read_lengths: dict[int, tuple[int, bytearray]]) -> None:
        super().__init__(transaction, read_lengths)
        self._states: dict[tuple[str, str], BucketState | None] = {}

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, not to be changed, or None if it does not exist."""
        scope = (collection, bucket)
        try:
            return self._states[scope]
        except KeyError:
            pass
        if len(self._states) >= BUCKETS_KEPT:
            self._states.clear()
        state = self._states[scope] = super().bucket(collection, bucket)
        return state
