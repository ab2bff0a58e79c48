"""Reads, from the rows of words, the words that the word graph of a bucket would hold."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.keys import bucket_key, word_key
from sonicpy._native.parts import JOINT_MARK
from sonicpy._native.term_rows import live_words, terms_held
from sonicpy.rules import counts_letters
from sonicpy.store.disk.pages import ROWS_FIRST, ROWS_MAX, pages
from sonicpy.store.rows.bucket_state import BucketState

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_rows import BucketRows


def all_live_words(view: "BucketRows", state: BucketState) -> list[bytes]:
    """Return the words of a bucket that objects hold, without hidden terms, in byte order."""
    return list(_live_words(view, state, min(state.next_term + 1, ROWS_MAX)))  # a small bucket is read at once


def first_live_word(view: "BucketRows", state: BucketState) -> bytes | None:
    """Return the first word of `all_live_words`; None: there is none."""
    return next(_live_words(view, state, ROWS_FIRST), None)


def joint_terms(view: "BucketRows", bucket: int) -> list[bytes]:
    """Return the hidden terms of a bucket that mark where words are joined from parts."""
    prefix = word_key(bucket, JOINT_MARK)
    read = partial(view.word_rows_from, prefix=prefix)
    return [term for rows in pages(read, prefix) for term in terms_held(rows, prefix)]


def _live_words(view: "BucketRows", state: BucketState, size: int) -> Iterator[bytes]:
    """Yield the words of `all_live_words`; the first `size` rows are read at once."""
    prefix, letters = bucket_key(state.bucket), counts_letters(view.rules(state.bucket))
    for rows in pages(view.word_rows_from, prefix, size):
        yield from live_words(rows, prefix, letters=letters)


def compared_words(view: "BucketRows", state: BucketState) -> list[bytes]:
    """Return the words that queries compare one by one in a bucket without a graph."""
    return all_live_words(view, state) + joint_terms(view, state.bucket)
