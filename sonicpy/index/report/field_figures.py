"""The number of objects of a bucket that have each named text: counted on demand, because no row holds it."""

import time
from collections import Counter

from sonicpy._native.named_terms import owners_of
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import TAGS
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key
from sonicpy.store.rows.named_words import TEXT_NAMES, split_name, unpack_names
from sonicpy.store.rows.tag_counts import OF_TEXTS, unpack_tag_counts
from sonicpy.store.rows.uses import TEXTS
from sonicpy.store.views.view import View

TERMS_AT_ONCE = 1_000
"""The number of terms, and of objects, between pauses for other threads."""


def objects_by_field(view: View, state: BucketState) -> dict[str, int]:
    """Return the number of objects of a bucket that have each named text, by its name; names without objects are left
    out.

    Raises:
        StoreDamaged: a row cannot be read.
    """
    names = unpack_names(view.fact(state.bucket, TEXT_NAMES)) if TEXTS in view.uses() else []
    if not names:
        return {}
    owners = _owners(view, state, names)
    together: Counter[int] = Counter()
    try:
        for number, (_, row) in enumerate(view.transaction.rows(TAGS, bucket_key(state.bucket | OF_TEXTS.row_mark))):
            together[owners_of(row, owners)] += 1
            if number % TERMS_AT_ONCE == 0:
                time.sleep(0)
    except DamagedBytes as error:
        raise StoreDamaged(f"bucket {state.bucket}: {error}") from error
    counts = {name: sum(count for bits, count in together.items() if bits >> at & 1) for at, name in enumerate(names)}
    return {name.decode(): count for name, count in sorted(counts.items()) if count}


def _owners(view: View, state: BucketState, names: list[bytes]) -> bytearray:
    """Return, by term id, the bit of the named text that the term belongs to; 0: no object holds the term."""
    bits = {name: 1 << at for at, name in enumerate(names)}
    most = unpack_tag_counts(view.fact(state.bucket, OF_TEXTS.counts)).next_id
    owners = bytearray(most)
    for first in range(0, most, TERMS_AT_ONCE):
        term_ids = range(first, min(first + TERMS_AT_ONCE, most))
        for term_id, term in view.terms_numbered(state.bucket | OF_TEXTS.mark, term_ids).items():
            owners[term_id] = bits.get(split_name(term)[0], 0)
        time.sleep(0)
    return owners
