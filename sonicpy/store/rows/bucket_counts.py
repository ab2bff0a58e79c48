"""The counts of the buckets of collections, which the writer keeps right at each change of a bucket's row."""

from typing import TYPE_CHECKING

from sonicpy.ids import Scope
from sonicpy.store.disk.table_numbers import SCOPES
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import scope_key

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction

FIELDS = ("live_words", "lexicon_version")
"""The fields that make a bucket count: it holds words now, or held words at the last consolidation."""
BucketCounts = dict[tuple[str, str], int]
"""Collection and field -> the number of buckets with a value other than 0 in the field."""


def recount(counts: BucketCounts, transaction: "Transaction", scope: Scope, state: BucketState | None) -> None:
    """Change the counts of a bucket's collection, before the bucket's row is replaced by `state`; None: deleted."""
    for field in FIELDS:
        if (scope[0], field) in counts:
            row = transaction.get(SCOPES, scope_key(*scope))
            before = row is not None and getattr(BucketState.unpack(row), field) > 0
            counts[scope[0], field] += (state is not None and getattr(state, field) > 0) - before
