"""Search: a query as a value. Each entry point makes one; the caches of answers and of plans use it as their key.

A new option of QUERY is a row of `sonicpy.options`, a field of Search and a key of QueryOptions.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from sonicpy._native.named_tuples import HasUsual, Maker
from sonicpy.arguments import text_of
from sonicpy.bucket_names import AnyBucket, behind_hit, one_or_several
from sonicpy.ids import Scope
from sonicpy.late import late
from sonicpy.options import ARGUMENTS, checked, checked_value

if TYPE_CHECKING:
    from sonicpy.filters.grouping import behind_group
    from sonicpy.filters.sorting import facets_texts, sorts_by_score
else:
    behind_group = late("sonicpy.filters.grouping", "behind_group", __name__)
    facets_texts = late("sonicpy.filters.sorting", "facets_texts", __name__)
    sorts_by_score = late("sonicpy.filters.sorting", "sorts_by_score", __name__)

FilterLike = str | Mapping[str, Any] | None
"""A filter in the forms that programs may give."""


FieldsLike = str | Sequence[str] | Mapping[str, float | None] | None
"""Named texts, perhaps with weights, in the forms that programs may give."""


FacetsLike = str | Sequence[str] | Mapping[str, Sequence[int] | None] | None
"""Facets of a query in the forms that programs may give."""


class Search(NamedTuple):
    """A search for objects.

    Attributes:
        collection, bucket: the bucket that is searched.
        text: the text to look for.
        limit, offset: the page: at most `limit` objects after the first `offset`.
        lang: the language of the text, as an ISO 639-3 code; "none": no language; None: it is guessed.
        scores: whether the scores are wanted, too.
        stem: whether words also match their other forms, if search.stemming allows that.
        total: whether the number of all objects that answer is wanted, too.
        complete: whether the last word also finds words that begin with it, if search.complete allows that.
        vector: the vector of the text, in the form of `sonicpy.vectors`; None: only words decide the order.
        meaning: the weight of the likeness to the vector in a score.
        depth: the number of first objects that the vector puts in order.
        filter: a condition that objects have to meet; see `sonicpy.filters.grammar`. None: no condition.
        sort: the order of the answer; see `sonicpy.filters.sorting.parse_sort`. None: by score.
        after: with `sort`, only objects after this one, for groups of tags in the form of
            `sonicpy.filters.grouping.in_group`.
        fields: the named texts that are searched, or add to scores; see `sonicpy.text_names`. None: the search names no
            texts.
        boost: the values that raise scores; see `sonicpy.filters.sorting.parse_boost`. None: no values do.
        whole: with `total`, whether the number of objects that hold whole words is wanted, too.
        syntax: "web": signs of search boxes count, see `sonicpy.index.search.web_syntax`; "plain": all are words.
        match: "all": an object has to hold every word; "any": one is enough; "auto": the ranking decides.
        fuzzy: the most edits of a correction, as a digit; "auto": as many as the length of a word allows.
        group: the groups of which only the best object is a hit; see `sonicpy.filters.grouping`. None: no groups.
        how: whether the words by which each object answers are wanted, too.
        buckets: all buckets to search, as elements of `sonicpy.bucket_names`; empty: only `bucket`, which hits do not
            name.
        phrase: words that every object of the answer holds next to each other; None: no phrase.
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
    meaning: float = 0.7
    depth: int = 50
    filter: str | None = None
    sort: str | None = None
    after: str | None = None
    boost: str | None = None
    buckets: tuple[str, ...] = ()
    fields: str | None = None
    group: str | None = None
    phrase: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope of `collection` and `bucket`."""
        return Scope(self.collection, self.bucket)

    @property
    def question(self) -> "Search":
        """The search without its page, its filter, its order, its boost, its groups, its vector and the requested
        extras: searches with equal questions share a plan."""
        return self._replace(
            limit=0, offset=0, scores=False, total=False, how=False, vector=None, meaning=0.7, depth=50, filter=None,
            sort=None, after=None, boost=None, group=None,
        )  # fmt: skip

    @property
    def is_refined(self) -> bool:
        """Whether the search has a filter, an order of its own, a boost beside words, or groups."""
        return not _is_unrefined(self) and (self.has_words or not _is_about_none(self))

    @property
    def has_demands(self) -> bool:
        """Whether the search has signs, MATCH or FUZZY, which put conditions on words: see
        `sonicpy.index.search.demands`."""
        return not _is_undemanding(self)

    @property
    def has_words(self) -> bool:
        """Whether the search has a text or a phrase."""
        return bool(self.text.strip()) or self.phrase is not None

    @property
    def counts_whole(self) -> bool:
        """Whether the number of objects that hold whole words is a part of the answer."""
        return self.total and self.whole

    @property
    def is_by_score(self) -> bool:
        """Whether the objects of the answer are ordered by their scores."""
        return self.has_words and (self.sort is None or sorts_by_score(self.sort))


_PLACES = {name: place for place, name in enumerate(Search._fields)}


def _has_usual(*names: str) -> Callable[[Search], bool]:
    """Return a function that returns whether some fields of a search have the values of a plain search."""
    return HasUsual(Search("", "", "", 0, 0, None), [_PLACES[name] for name in names])


_is_unrefined = _has_usual("filter", "sort", "after", "boost", "group")
_is_about_none = _has_usual("filter", "sort", "after", "group")
"""Return whether no object answers a search with an empty text."""
_is_undemanding = _has_usual("syntax", "match", "fuzzy", "fields", "phrase")
asks_newest = _has_usual("text", "sort", "after", "group", "phrase", "total")
"""Return whether a search with a filter has no text, and asks for a page of the newest objects alone."""

ALL_OBJECTS = "newest"
"""The order with which an empty text means all objects."""
FACET_TAGS = 100
"""The most tags of a facet in the answer of a query with facets."""


class FacetSearch(NamedTuple):
    """A question for facets: counts of tags or values over all objects that answer a search.

    Attributes:
        collection, bucket, text, lang, stem, complete, filter, buckets, syntax, match, fuzzy, fields, phrase: as in
            Search.
        limit: the most tags of a facet to return.
        of: the beginnings of the tags to count; see `sonicpy.filters.sorting.parse_of`. None: no tags.
        ranges: the values to count, with the bounds of their ranges. None: no values.
        apart: whether each facet ignores the conditions of the filter on its own tags or values.
    """

    collection: str
    bucket: str
    text: str
    limit: int
    lang: str | None
    stem: bool = True
    complete: bool = True
    filter: str | None = None
    of: str | None = None
    ranges: str | None = None
    apart: bool = False
    buckets: tuple[str, ...] = ()
    syntax: str = "plain"
    match: str = "auto"
    fuzzy: str = "auto"
    fields: str | None = None
    phrase: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope of `collection` and `bucket`."""
        return Scope(self.collection, self.bucket)

    @property
    def search(self) -> Search:
        """The search whose answer is counted."""
        return Search(limit=0, offset=0, total=True, **{name: getattr(self, name) for name in COUNTED})


COUNTED = tuple(name for name in FacetSearch._fields if name in Search._fields and name != "limit")
"""The fields of a search that decide which objects answer; a FacetSearch has them, too."""


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
    filter: FilterLike
    fields: FieldsLike
    group: str | None
    phrase: str | None


class QueryOptions(ExplainOptions, total=False):
    """The options of `query`."""

    offset: int
    total: bool
    how: bool
    sort: str | None
    after: str | None
    boost: str | None


class FacetOptions(TypedDict, total=False):
    """The options of `facets`."""

    limit: int
    lang: str | None
    stem: bool
    complete: bool
    filter: FilterLike
    syntax: str
    match: str
    fuzzy: int | str
    fields: FieldsLike
    phrase: str | None
    of: str | None
    ranges: str | None
    apart: bool


def joined(search: Search, facets: Any) -> tuple[Search, FacetSearch | None]:
    """Return a search, and the question for the facets that a program asked for with it; None: no facets were asked
    for. With facets and an empty text, all objects answer, as they do with a filter.

    Args:
        facets: see `sonicpy.filters.sorting.facets_texts`.

    Raises:
        InvalidArgument: `facets` cannot be read as facets.
    """
    if facets is None:
        return search, None
    of, ranges = facets_texts(facets)
    same = {name: getattr(search, name) for name in COUNTED}
    counted = FacetSearch(**same, limit=FACET_TAGS, of=of, ranges=ranges)
    return search._replace(sort=sort_beside_facets(search.text, search.sort, search.phrase)), counted


def sort_beside_facets(text: Any, sort: str | None, phrase: str | None) -> str | None:
    """Return the order of a search with facets: with neither a text nor a phrase, all objects answer, the newest
    first, unless another order is given.
    """
    if sort is not None or phrase is not None or not isinstance(text, str) or text.strip():
        return sort
    return ALL_OBJECTS


def facets_asked(collection: str, bucket: AnyBucket, text: str, options: Mapping[str, Any]) -> FacetSearch:
    """Return the question that a method `facets` of the library or a client was called for.

    Raises:
        TypeError, InvalidArgument: see `sonicpy.options.checked`; the text is no str.
    """
    first, buckets = one_or_several(bucket)
    return FacetSearch(collection, first, text_of("text", text), **checked("FACETS", options), buckets=buckets)


class SimilarOptions(TypedDict, total=False):
    """The options of `similar`."""

    limit: int
    offset: int


def asked(verb: str, collection: str, bucket: AnyBucket, text: str, options: Mapping[str, Any]) -> Search:
    """Return the search that a method of the library or a client was called for.

    Args:
        verb: QUERY or EXPLAIN.
        collection, bucket: checked where they are used. Several buckets are a list; see `sonicpy.bucket_names`.
        text: the text of the query.
        options: the options that were given, by name.

    Raises:
        TypeError, InvalidArgument: see `sonicpy.options.checked`; the text is no str.
    """
    if type(text) is not str:
        text = text_of("text", text)
    first, buckets = (bucket, ()) if type(bucket) is str else one_or_several(bucket)
    if "after" in options and (buckets or "group" in options):
        options = {**options, "after": _behind(options["after"], bool(buckets), options.get("group"))}
    search = _maker(verb).make((collection, first, text), options)
    return search._replace(buckets=buckets) if buckets else search


def _behind(after: Any, has_buckets: bool, group: Any) -> Any:
    """Return the name of the hit after which a page begins, with its bucket if there are several, and its group if
    that is a tag; return a text as it is."""
    if not hasattr(after, "group"):
        return after
    name = behind_hit(after) if has_buckets else after
    return name if group is None else behind_group(group, after.group, str(name))


@cache
def _maker(verb: str) -> "Maker[Search]":
    """Return the maker of searches of a command, which checks the options."""
    usual = tuple(Search("", "", "", **{"offset": 0, **checked(verb, {})}))
    kinds = {name: option.kind for name, option in ARGUMENTS[verb].items()}
    checks = {name: (_PLACES[name], kind.check, getattr(kind, "unchecked", None)) for name, kind in kinds.items()}
    return Maker(Search, usual, checks, partial(checked_value, verb))
