"""Operations that search."""

import asyncio
import html
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import Query

from sonicpy.api.counted import counted
from sonicpy.api.explanation import Explanation
from sonicpy.api.held_word import held_json
from sonicpy.api.highlighting import highlight
from sonicpy.api.hits import Hits
from sonicpy.api.shown import Show, Shown
from sonicpy.bucket_names import AnyBucket, with_others
from sonicpy.errors import CommandError, InvalidArgument, NotOffered
from sonicpy.http.backend import Backend
from sonicpy.http.guarded import explained
from sonicpy.http.many import many_operation
from sonicpy.http.models import (
    LIMIT_MAX,
    QUERY_TEXT_MAX,
    After,
    AnyJson,
    Apart,
    BucketName,
    CollectionName,
    CountJson,
    ExistsJson,
    FacetsJson,
    HeldWordJson,
    HitJson,
    HitsJson,
    NameOfObject,
    NamesJson,
    Of,
    OptionalName,
    OtherBuckets,
    PageLimit,
    Prefix,
    QueryBody,
    QueryText,
    Ranges,
    SearchJson,
    ShownJson,
    WordsJson,
    takes_options,
)
from sonicpy.http.problems import status_of
from sonicpy.http.routes import Operation
from sonicpy.index.search.web_syntax import notes_of
from sonicpy.options import ARGUMENTS, FILTER
from sonicpy.search import sort_beside_facets

CORRECTED_MAX = 5
"""The most words that a corrected text ("did you mean") corrects."""
EXPLAINED_MAX = 100
"""The most hits whose words are marked in all texts, beside those of the query."""
SIGNS = '"+-*\u201c\u201d\u201e'
"""The signs of SYNTAX(web) that may be around a word."""
NOT_EXPLAINED = (400, 501)
"""The HTTP statuses with which EXPLAIN is refused where it is not offered."""
MARKED = "shown, with titles and texts as HTML: escaped, and <mark> around the words that the text looks for"

Marks = Callable[[Shown], Shown]
"""Returns a display as HTML with marks."""


def search_operations(backend: Backend, show: Show | None = None) -> list[Operation]:
    """Return the operations over a backend.

    Args:
        show: returns the displays of objects; None: their names.
    """
    operations = SearchOperations(backend, show)
    return [
        Operation("GET", "/v1/query", operations.query, omits_unset=True),
        Operation("POST", "/v1/query", operations.query_by_body, id="query_by_body", omits_unset=True),
        many_operation(operations.query_by_body),
        Operation("GET", "/v1/facets", operations.facets),
        Operation("GET", "/v1/suggest", operations.suggest),
        Operation("GET", "/v1/search", operations.search, omits_unset=True),
        Operation("GET", "/v1/similar", operations.similar, omits_unset=True),
        Operation("GET", "/v1/words", operations.words),
        Operation("GET", "/v1/explain", operations.explain),
        Operation("GET", "/v1/collections", operations.collections),
        Operation("GET", "/v1/buckets", operations.buckets),
        Operation("GET", "/v1/objects", operations.objects),
        Operation("GET", "/v1/exists", operations.exists),
        Operation("GET", "/v1/count", operations.count),
    ]


class CountedWith(NamedTuple):
    """The facets to count with a query; see the options of FACETS."""

    of: str | None
    ranges: str | None
    apart: bool

    @property
    def is_asked_for(self) -> bool:
        """Whether there are facets to count."""
        return self.of is not None or self.ranges is not None

    def beside(self, text: str, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the query; see `sort_beside_facets`."""
        if not self.is_asked_for:
            return options
        return {**options, "sort": sort_beside_facets(text, options.get("sort"), options.get("phrase"))}


class SearchOperations:
    """Operations that search."""

    def __init__(self, backend: Backend, show: Show | None) -> None:
        self._backend = backend
        self._show = show

    @takes_options("QUERY")
    async def query(
        self,
        collection: CollectionName,
        bucket: BucketName,
        text: QueryText,
        of: Of = None,
        ranges: Ranges = None,
        apart: Apart = False,
        buckets: OtherBuckets = "",
        **options: Any,
    ) -> HitsJson:
        """Return the objects that answer a text, best first."""
        where, counts = with_others(bucket, buckets), CountedWith(of, ranges, apart)
        options = counts.beside(text, options)
        hits = await self._backend.call("query", collection, where, text, **options)
        return hits_json(hits, text, options, await self._counted(collection, where, text, counts, options))

    async def _counted(
        self, collection: str, bucket: AnyBucket, text: str, counts: "CountedWith", options: Mapping[str, Any]
    ) -> FacetsJson | None:
        """Count the facets that a query asks for, and return the counts; None: it asks for none."""
        if not counts.is_asked_for:
            return None
        given = {name: value for name, value in options.items() if name in ARGUMENTS["FACETS"] and name != "limit"}
        found = await self._backend.call("facets", collection, bucket, text, **counts._asdict(), **given)
        return FacetsJson(**found.to_dict())

    @takes_options("FACETS")
    async def facets(
        self,
        collection: CollectionName,
        bucket: BucketName,
        text: QueryText = "",
        buckets: OtherBuckets = "",
        **options: Any,
    ) -> FacetsJson:
        """Return how many of the objects that answer a text hold each tag, or have a value in each range."""
        found = await self._backend.call("facets", collection, with_others(bucket, buckets), text, **options)
        return FacetsJson(**found.to_dict())

    async def query_by_body(self, body: QueryBody) -> HitsJson:
        """Return the objects that answer a text that is too long for an address."""
        options = body.model_dump(exclude={"collection", "bucket", "text", "buckets", *CountedWith._fields})
        where, counts = with_others(body.bucket, body.buckets), CountedWith(body.of, body.ranges, body.apart)
        options = counts.beside(body.text, options)
        hits = await self._backend.call("query", body.collection, where, body.text, **options)
        counted = await self._counted(body.collection, where, body.text, counts, options)
        return hits_json(hits, body.text, options, counted)

    async def suggest(
        self,
        collection: CollectionName,
        bucket: BucketName,
        word: Annotated[str, Query(max_length=200)],
        limit: PageLimit = 5,
        filter: Annotated[str | None, Query(max_length=QUERY_TEXT_MAX, description=FILTER.sentence)] = None,
        buckets: OtherBuckets = "",
    ) -> WordsJson:
        """Return words that complete or correct a word; words that occur together with the words before it come
        first.
        """
        given = {} if filter is None else {"filter": filter}
        where = with_others(bucket, buckets)
        return WordsJson(words=await self._backend.call("suggest", collection, where, word, limit=limit, **given))

    @takes_options("QUERY")
    async def search(
        self,
        collection: CollectionName,
        bucket: BucketName,
        text: QueryText,
        suggestions: PageLimit = 5,
        shown: Annotated[bool, Query(description="also what each hit is shown as")] = False,
        marked: Annotated[bool, Query(description=MARKED)] = False,
        of: Of = None,
        ranges: Ranges = None,
        apart: Apart = False,
        buckets: OtherBuckets = "",
        **options: Any,
    ) -> SearchJson:
        """Return hits, completions of the last word, and a corrected text: everything for a search box."""
        began = time.perf_counter()
        signs = SIGNS if options.get("syntax") == "web" else ""
        where, counts = with_others(bucket, buckets), CountedWith(of, ranges, apart)
        options = counts.beside(text, options)
        hits, words, meant = await asyncio.gather(
            self._backend.call("query", collection, where, text, **options),
            suggested(self._backend, collection, where, [text, *text.split()[-1:]], suggestions, options.get("filter")),
            did_you_mean(self._backend, collection, where, text, options.get("filter"), signs=signs),
        )
        found = hits_json(hits, text, options)
        took_us = (time.perf_counter() - began) * 1e6
        given = {name: value for name, value in options.items() if name in ARGUMENTS["EXPLAIN"] and name != "limit"}
        explanation = None
        if marked and self._show is not None:  # else there is neither title nor text to mark
            most = min(max(len(hits), 1), EXPLAINED_MAX)
            explanation = await self._explained(collection, where, text, {**given, "limit": most})
        marks = partial(marked_html, explained=explanation) if marked else None
        facets = await self._counted(collection, where, text, counts, options)
        counted: dict[str, Any] = {} if facets is None else {"facets": facets}
        return SearchJson(
            hits=found.hits,
            total=found.total,
            whole=found.whole,
            suggestions=words,
            did_you_mean=meant,
            took_us=took_us,
            shown=await self._shown_hits(collection, bucket, hits, marks) if shown or marked else None,
            **more_of(hits, text, options),
            **counted,
        )

    async def _explained(
        self, collection: str, where: AnyBucket, text: str, options: Mapping[str, Any]
    ) -> Explanation | None:
        """Return the explanation of a query that was answered; None: the server explains no queries of this bucket."""
        try:
            return await explained(self._backend, collection, where, text, **options)
        except (CommandError, NotOffered) as error:  # such as a bucket that is spread
            if status_of(error) not in NOT_EXPLAINED:
                raise
            return None

    async def _shown_hits(self, collection: str, bucket: str, hits: Hits, marks: Marks | None) -> list[ShownJson]:
        """Return the displays of hits in one bucket or several."""
        if hits.buckets is None:
            return await self._shown(collection, bucket, list(hits), marks)
        made: dict[tuple[str, str], ShownJson] = {}
        pairs = list(zip(hits.buckets, hits.objects, strict=True))
        for its in dict.fromkeys(hits.buckets):
            names = [name for each, name in pairs if each == its]
            shown = await self._shown(collection, its, names, marks)
            made.update(zip(((its, name) for name in names), shown, strict=True))
        return [made[pair] for pair in pairs]

    async def _shown(self, collection: str, bucket: str, objects: list[str], marks: Marks | None) -> list[ShownJson]:
        """Return the displays of objects, which a thread asks for, because a function of the settings may wait for a
        database.
        """
        if self._show is None:
            made = [Shown()] * len(objects)
        else:
            made = await asyncio.to_thread(_shown_with, self._show, collection, bucket, objects, marks)
        words = await self._backend.words_of_objects(collection, bucket, objects)
        return [ShownJson(**one._asdict(), words=held) for one, held in zip(made, words, strict=True)]

    @takes_options("SIMILAR")
    async def similar(
        self, collection: CollectionName, bucket: BucketName, object: NameOfObject, **options: Any
    ) -> HitsJson:
        """Return the objects most similar to a given one, best first."""
        return hits_json(await self._backend.call("similar", collection, bucket, object, **options), "", options)

    @takes_options("LIST")
    async def words(
        self, collection: CollectionName, bucket: BucketName, buckets: OtherBuckets = "", **options: Any
    ) -> WordsJson:
        """Return words of a bucket in byte order, page by page: `after` is the last word of the page before."""
        found = await self._backend.call("words", collection, with_others(bucket, buckets), **options)
        return WordsJson(words=found)

    @takes_options("EXPLAIN")
    async def explain(
        self,
        collection: CollectionName,
        bucket: BucketName,
        text: QueryText,
        buckets: OtherBuckets = "",
        **options: Any,
    ) -> AnyJson:
        """Return the reasons for the answer of a query."""
        found = await self._backend.call("explain", collection, with_others(bucket, buckets), text, **options)
        held: AnyJson = json.loads(found.to_json())
        return held

    async def collections(self, after: After = None, limit: PageLimit = LIMIT_MAX) -> NamesJson:
        """Return the names of collections, page by page: `after` is the last name of the page before."""
        return NamesJson(names=await self._backend.names(None, after, limit))

    async def buckets(self, collection: CollectionName, after: After = None, limit: PageLimit = LIMIT_MAX) -> NamesJson:
        """Return the names of the buckets of a collection, page by page."""
        return NamesJson(names=await self._backend.names(collection, after, limit))

    async def objects(
        self,
        collection: CollectionName,
        bucket: BucketName,
        prefix: Prefix = "",
        after: After = None,
        limit: PageLimit = 100,
    ) -> NamesJson:
        """Return names of objects in the order of their first push, page by page."""
        found = await self._backend.call("objects", collection, bucket, prefix=prefix, after=after, limit=limit)
        return NamesJson(names=found)

    async def exists(self, collection: CollectionName, bucket: BucketName, object: NameOfObject) -> ExistsJson:
        """Return whether a bucket has an object."""
        return ExistsJson(exists=await self._backend.call("exists", collection, bucket, object))

    async def count(
        self,
        collection: CollectionName,
        bucket: OptionalName = None,
        object: OptionalName = None,
        objects: Annotated[bool, Query(description="count the objects of the collection or the bucket")] = False,
        buckets: OtherBuckets = "",
    ) -> CountJson:
        """Return the number of buckets or objects of a collection, words or objects of a bucket, or words of an
        object."""
        if objects and object is not None:
            raise InvalidArgument("objects is true and object is given; allowed is one of the two")
        what = counted(bucket, object, "objects" if objects else None)
        if buckets and (bucket is None or object is not None):
            raise InvalidArgument("buckets is given without a bucket or with an object; allowed is it with a bucket")
        where = bucket if bucket is None else with_others(bucket, buckets)
        return CountJson(count=await self._backend.call("count", collection, where, object, of=what))


class AnyField:
    """The fields of a bucket where they are not known, so that no note denies one."""

    def __contains__(self, name: object) -> bool:
        return True


ANY_FIELD = AnyField()


def hits_json(hits: Hits, text: str, options: Mapping[str, Any], facets: FacetsJson | None = None) -> HitsJson:
    """Return the JSON of hits, and of the facets that were counted with them.

    Args:
        text, options: the text and the options of the query.
    """
    found = [HitJson.model_construct(object=name, score=score) for name, score in hits.pairs()]
    for one, bucket in zip(found, hits.buckets or (), strict=False):
        one.bucket = bucket
    for one, group in zip(found, hits.groups or (), strict=False):
        if group is not None:
            one.group = group
    for one, how in zip(found, hits.hows or (), strict=False):
        one.how = [HeldWordJson.model_construct(**word) for word in held_json(how)]
    counted = {} if facets is None else {"facets": facets}
    more = {**more_of(hits, text, options), **counted}
    return HitsJson.model_construct(hits=found, total=hits.total, whole=hits.whole, **more)


def more_of(hits: Hits, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an answer that only some options add; {} for other queries.

    Args:
        text, options: the text and the options of the query.
    """
    more: dict[str, Any] = {}
    if hits.hows is not None:
        more["corrected"] = hits.corrected
    if (syntax := options.get("syntax", "plain")) != "plain":
        more["notes"] = list(notes_of(text, syntax, ANY_FIELD))
    return more


def _shown_with(show: Show, collection: str, bucket: str, objects: list[str], marks: Marks | None) -> list[Shown]:
    made = show(collection, bucket, objects)
    return made if marks is None else list(map(marks, made))


def marked_html(shown: Shown, explained: Explanation | None) -> Shown:
    """Return a title and a text as HTML, in which the words that the query looked for are marked.

    Args:
        explained: the explanation of the query; None: there is none, and nothing is marked.
    """
    write: Callable[[str], str] = html.escape
    if explained is not None:
        write = partial(highlight, explanation=explained, escape=True)
    title, text = (None if each is None else write(each) for each in shown[:2])
    return shown._replace(title=title, text=text)


async def suggested(
    backend: Backend, collection: str, bucket: AnyBucket, texts: list[str], limit: int, filter: str | None = None
) -> list[str]:
    """Return words that complete or correct the last word of the first of these texts that the backend answers.

    A text of several words is refused if suggestions are in alphabetical order, and by older servers.
    """
    given = {} if filter is None else {"filter": filter}
    for text in dict.fromkeys(texts if limit else ()):
        try:
            found: list[str] = await backend.call("suggest", collection, bucket, text, limit=limit, **given)
        except CommandError:  # or such as "!", which is no word
            continue
        return found
    return []


async def did_you_mean(
    backend: Backend, collection: str, bucket: AnyBucket, text: str, filter: str | None = None, *, signs: str = ""
) -> str | None:
    """Return a text in which unknown words are replaced by similar known ones; None: there are no such words.

    Args:
        signs: the signs that may be around a word, and stay there.
    """
    words = text.split()
    if not words:
        return None
    better = list(words)
    for place, typed in enumerate(words[:CORRECTED_MAX]):
        word = typed.strip(signs) if signs else typed
        found = await suggested(backend, collection, bucket, [word], 1, filter)
        if found and not found[0].lower().startswith(word.lower()):
            better[place] = typed.replace(word, found[0])
    return " ".join(better) if better != words else None
