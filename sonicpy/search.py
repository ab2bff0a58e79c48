"""Search: a query as a value. Each entry point makes one, once; the caches of answers and plans use it as their key.

A new option of QUERY is a row of `sonicpy.options`, a field of Search and a key of QueryOptions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

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
        vector: the vector of the text, in the form of `sonicpy.vectors`; None: the order is that of the words.
        meaning: how much likeness to the vector adds to a score.
        depth: how many of the first objects the vector puts in order.
        whole: with `total`, the number of those that hold whole words is wanted, too.
        syntax: "web": signs of search boxes count, see `sonicpy.index.search.web_syntax`; "plain": all are words.
        match: "all": an object has to hold every word; "any": one is enough; "auto": the ranking decides.
        fuzzy: how many edits corrections have at most, as a digit; "auto": as many as the length of a word allows.
        how: the words by which each object answers are wanted, too.
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
    syntax: str = "plain"
    match: str = "auto"
    fuzzy: str = "auto"
    how: bool = False
    vector: str | None = None
    meaning: float = 0.5
    depth: int = 50

    @property
    def scope(self) -> Scope:
        """The bucket that is searched."""
        return Scope(self.collection, self.bucket)

    @property
    def question(self) -> "Search":
        """The search without its page and the requested extras: searches with one question have one plan."""
        return self._replace(
            limit=0, offset=0, scores=False, total=False, how=False, vector=None, meaning=0.5, depth=50
        )


class ExplainOptions(TypedDict, total=False):
    """The options of `explain`."""

    limit: int
    lang: str | None
    stem: bool
    complete: bool
    syntax: str
    match: str
    fuzzy: int | str
    vector: Any
    meaning: float
    depth: int


class QueryOptions(ExplainOptions, total=False):
    """The options of `query`."""

    offset: int
    total: bool
    how: bool


def asked(verb: str, collection: str, bucket: str, text: str, options: Mapping[str, Any]) -> Search:
    """Return the search that a method of the library or a client was called for.

    Args:
        verb: QUERY or EXPLAIN.
        collection, bucket, text: checked where they are used.
        options: those that were given.

    Raises:
        TypeError, InvalidArgument: see `sonicpy.options.checked`.
    """
    return Search(collection, bucket, text, **{"offset": 0, **checked(verb, options)})
