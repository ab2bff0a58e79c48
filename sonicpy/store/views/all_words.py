"""Reads, from the rows of words, the words that the word graph of a bucket would hold."""

from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.keys import bucket_key, word_key
from sonicpy._native.parts import JOINT_MARK
from sonicpy._native.term_rows import live_words, terms_held
from sonicpy.rules import counts_letters
from sonicpy.store.disk.pages import ROWS_MAX, pages
from sonicpy.store.rows.bucket_state import BucketState

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_rows import BucketRows


def all_live_words(view: "BucketRows", state: BucketState) -> list[bytes]:
    """Return the words of a bucket that objects hold, without hidden terms, in byte order."""
    prefix = bucket_key(state.bucket)
    size = min(state.next_term + 1, ROWS_MAX)  # a small bucket is read at once, and not those behind it
    letters = counts_letters(view.rules(state.bucket))
    found = (live_words(rows, prefix, letters=letters) for rows in pages(view.word_rows_from, prefix, size))
    return [word for words in found for word in words]


def joint_terms(view: "BucketRows", bucket: int) -> list[bytes]:
    """Return the hidden terms of a bucket that mark where words are joined from parts."""
    prefix = word_key(bucket, JOINT_MARK)
    read = partial(view.word_rows_from, prefix=prefix)
    return [term for rows in pages(read, prefix) for term in terms_held(rows, prefix)]


def compared_words(view: "BucketRows", state: BucketState) -> list[bytes]:
    """Return the words that queries compare one by one in a bucket without a graph."""
    return all_live_words(view, state) + joint_terms(view, state.bucket)
