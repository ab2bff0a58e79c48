"""A backend that answers a request with a key as far as the rights of the key reach."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from sonicpy.access.admission import Permit
from sonicpy.access.grant import Grant, NotPermitted, asked_scope, asked_scopes
from sonicpy.access.scopes import EVERYTHING, KeyScope
from sonicpy.api.explanation import Explanation
from sonicpy.api.hits import Hits, with_facets
from sonicpy.bucket_names import AnyBucket
from sonicpy.errors import CommandError, sentence_of
from sonicpy.filters.fixed import coarse, with_fixed
from sonicpy.http.backend import Backend, RefusedPlace, TextRow

PERMIT: ContextVar[Permit | None] = ContextVar("permit", default=None)
"""The permit of the secret in the present request; None: everything is allowed."""


def _named(args: Sequence[Any]) -> list[KeyScope]:
    """Return the buckets that the first two arguments of a method name: a name, or the elements of several buckets."""
    collection, bucket = (*args[:2], None, None)[:2]
    several = bucket if isinstance(bucket, list | tuple) and bucket else None
    name = collection if isinstance(collection, str) else None
    if several is None:
        return [asked_scope(name, bucket if isinstance(bucket, str) else None)]
    return asked_scopes(name, None, map(str, several))[1:]


def _all(args: Sequence[Any]) -> list[KeyScope]:
    return [EVERYTHING]


METHODS: dict[str, tuple[str, Callable[[Sequence[Any]], list[KeyScope]]]] = {
    "query": ("query", _named),
    "suggest": ("suggest", _named),
    "explain": ("explain", _named),
    "words": ("list", _named),
    "objects": ("objects", _named),
    "exists": ("exists", _named),
    "count": ("count", _named),
    "stats": ("stats", _named),
    "push": ("push", _named),
    "upsert": ("upsert", _named),
    "tag": ("tag", _named),
    "facets": ("facets", _named),
    "similar": ("similar", _named),
    "drop_vectors": ("flush", _named),
    "pop": ("pop", _named),
    "flush": ("flush", _named),
    "synonyms": ("synonyms", _named),
    "set_synonyms": ("synonyms", _named),
    "consolidate": ("trigger", _all),
    "backup": ("trigger", _all),
    "restore": ("trigger", _all),
    "verify": ("verify", _all),
}
"""Method -> (verb of a key that allows it, function that returns the buckets that a call may touch). Other methods are
refused.
"""


class GuardedBackend:
    """A backend that checks the permit of the present request.

    Args:
        backend: answers the requests that are allowed.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method. Raises NotPermitted if the key does not allow it."""
        permit = PERMIT.get()
        if permit is None:
            return await self._backend.call(method, *args, **options)
        grant = permit.grant
        verb, scopes_of_call = METHODS.get(method, (method, _all))
        grant.check(verb, scopes_of_call(args))
        found = await self._backend.call(method, *args, **within(grant, options))
        return coarse_hits(found) if grant.filters and isinstance(found, Hits) else found

    async def explained(self, collection: str, bucket: AnyBucket, text: str, **options: Any) -> Explanation:
        """Return the explanation of a query, for marks in the texts of its hits. The key only has to allow the query,
        because the client gets these texts and not the explanation.
        """
        permit = PERMIT.get()
        if permit is not None:
            permit.grant.check("query", _named((collection, bucket)))
            options = within(permit.grant, options)
        found: Explanation = await self._backend.call("explain", collection, bucket, text, **options)
        return found

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names, as `Backend.names`."""
        self._check("collections" if collection is None else "buckets", asked_scope(collection))
        return await self._backend.names(collection, after, limit)

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push, or `upsert`, the rows that the key allows, and return the others as refused."""
        permit = PERMIT.get()
        if permit is None:
            return await self._backend.push_rows(rows, upsert=upsert)
        grant, refused, places = permit.check(), [], []
        for place, row in enumerate(rows):
            try:
                grant.check("upsert" if upsert else "push", _named(row))
            except NotPermitted as error:
                refused.append((place, sentence_of(error)))
            else:
                places.append(place)
        found = await self._backend.push_rows([rows[place] for place in places], upsert=upsert)
        return sorted(refused + [(places[place], reason) for place, reason in found])

    async def figures(self) -> dict[str, Any]:
        """Return figures of this moment."""
        self._check("info", EVERYTHING)
        return await self._backend.figures()

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return words of each object; none if the key may not list words."""
        try:
            self._check("list", asked_scope(collection, bucket))
        except CommandError:
            return [[] for _ in objects]
        return await self._backend.words_of_objects(collection, bucket, objects)

    def channel(self) -> str:
        """Return the URL of the server for clients of the channel."""
        return self._backend.channel()

    async def unready(self) -> str | None:
        """Return the reason why requests cannot be answered, or None."""
        return await self._backend.unready()

    def _check(self, verb: str, scope: KeyScope) -> None:
        permit = PERMIT.get()
        if permit is not None:
            permit.grant.check(verb, [scope])


def within(grant: Grant, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a query with the fixed filters of a key added to its own filter.

    Raises:
        NotPermitted: the query would show the place of an object that does not pass.
        InvalidArgument: the filter of the query is not valid.
    """
    if not grant.filters:
        return options
    grant.check_after(options.get("after"))
    apart = bool(options.get("apart"))
    return {**options, "filter": with_fixed(grant.filters, options.get("filter"), apart=apart)}


def coarse_hits(hits: Hits) -> Hits:
    """Return hits with scores cut to two decimals, and without a corrected text."""
    scores = None if hits.scores is None else [coarse(score) or 0.0 for score in hits.scores]
    found = Hits(hits.objects, scores, hits.total, hits.whole, hits.hows, None, hits.buckets, hits.groups)
    return found if hits.facets is None else with_facets(found, hits.facets)


async def explained(backend: Backend, collection: str, bucket: AnyBucket, text: str, **options: Any) -> Explanation:
    """Return the explanation of a query, for marks in texts; see `GuardedBackend.explained`."""
    if isinstance(backend, GuardedBackend):
        return await backend.explained(collection, bucket, text, **options)
    found: Explanation = await backend.call("explain", collection, bucket, text, **options)
    return found
