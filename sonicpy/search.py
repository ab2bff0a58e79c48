"""Search: a query as a value. Each entry point makes one, once; the caches of answers and plans use it as their key.

A new option of QUERY is a row of `sonicpy.options`, a field of Search and a key of QueryOptions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from sonicpy.bucket_names import AnyBucket, one_or_several
from sonicpy.ids import Scope
from sonicpy.options import checked


class Search(NamedTuple):
    """A search for objects.

    Attributes:
        collection, bucket: the bucket that is searched.
        text: the text to look for.
        limit, offset: the page: at most `limit` objects behind the first `offset`.
        lang: language of the text, as an ISO 639-3 code; "none": of no language; None: it is guessed.
        scores: the scores are wanted, too.
        stem: words also match their other forms, where search.stemming allows it.
        total: the number of all objects that answer is wanted, too.
        complete: the last word also finds the words that begin so, where search.complete allows it.
        whole: with `total`, the number of those that hold whole words is wanted, too.
        buckets: elements of `sonicpy.bucket_names`: buckets that are searched, too; none: hits have no bucket.
    """

    collection: str
    bucket: str
    text: str
    limit: int
    offset: int
    lang: str | None
    scores: bool = False
    stem: bool = True
    total: bool = False
    complete: bool = True
    whole: bool = False
    buckets: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        """The bucket that is searched."""
        return Scope(self.collection, self.bucket)

    @property
    def question(self) -> "Search":
        """The search without its page and the requested extras: searches with one question have one plan."""
        return self._replace(limit=0, offset=0, scores=False, total=False)


class ExplainOptions(TypedDict, total=False):
    """The options of `explain`."""

    limit: int
    lang: str | None
    stem: bool
    complete: bool


class QueryOptions(ExplainOptions, total=False):
    """The options of `query`."""

    offset: int
    total: bool


class SimilarOptions(TypedDict, total=False):
    """The options of `similar`."""

    limit: int
    offset: int


def asked(verb: str, collection: str, bucket: AnyBucket, text: str, options: Mapping[str, Any]) -> Search:
    """Return the search that a method of the library or a client was called for.

    Args:
        verb: QUERY or EXPLAIN.
        collection, bucket, text: checked where they are used. Several buckets are a list; see `sonicpy.bucket_names`.
        options: those that were given.

    Raises:
        TypeError, InvalidArgument: see `sonicpy.options.checked`.
    """
    first, buckets = one_or_several(bucket)
    return Search(collection, first, text, **{"offset": 0, **checked(verb, options)}, buckets=buckets)
