"""The figures of each term and each object of a bucket, for statistics."""

from collections.abc import Iterator
from typing import NamedTuple

from sonicpy._native.postings import unpack_block
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View

CUT = b"\xff"
"""A byte that marks the key of a term that was cut; it does not occur in UTF-8."""


class TermStats(NamedTuple):
    """A term of a bucket.

    Attributes:
        objects: the number of objects that hold it.
        hidden_objects: the number of objects in which it is hidden: only a part of a run without blanks, or a stop word
            of compat mode. A term that is hidden in all objects is searched, not suggested, listed or counted.
        postings: the number of its postings, one for each object.
        times: the number of its occurrences in all objects, of which at most 255 per object count.
    """

    word: str
    objects: int
    hidden_objects: int
    postings: int
    times: int


class ObjectStats(NamedTuple):
    """An object of a bucket.

    Attributes:
        length: the number of words, repeated ones and stop words included; the ranking "bm25" uses it.
        words: the number of different words, without hidden ones.
        hidden_words: the number of different hidden words.
        new_words: the number of different words, hidden ones included, that no older object holds.
    """

    object: str
    length: int
    words: int
    hidden_words: int
    new_words: int


def term_stats(view: View, state: BucketState) -> Iterator[TermStats]:
    """Yield the terms that objects hold, hidden ones too, in byte order."""
    reader = BucketReader(view, state)
    for word, row in reader.lexicon(b""):
        if row.df:
            times = [count for block in reader.blocks(row) for _, count in unpack_block(block)]
            whole = reader.terms([row.term_id])[0] if CUT in word else word.decode()
            yield TermStats(whole, row.df, row.hidden_df, row.df, sum(times))


def object_stats(view: View, state: BucketState) -> Iterator[ObjectStats]:
    """Yield the objects in the order of their creation."""
    seen: set[int] = set()
    for _, record in BucketReader(view, state).objects():
        before = len(seen)
        seen.update(term_id for term_id, *_ in record.terms())
        yield ObjectStats(
            record.oid.decode(), record.length, record.shown, len(record) - record.shown, len(seen) - before
        )
