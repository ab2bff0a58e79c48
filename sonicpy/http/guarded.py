"""A backend that answers a request with a key as far as the key allows."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from sonicpy.access.admission import Permit
from sonicpy.access.grant import NotPermitted, asked_scope
from sonicpy.access.scopes import EVERYTHING, KeyScope
from sonicpy.errors import CommandError
from sonicpy.http.backend import Backend, RefusedPlace, TextRow

PERMIT: ContextVar[Permit | None] = ContextVar("permit", default=None)
"""Of the secret that the present request brought; None: everything is allowed."""


def _named(args: Sequence[Any]) -> KeyScope:
    """Return the buckets in the first two arguments of a method."""
    names = [name if isinstance(name, str) else None for name in (*args[:2], None, None)]
    return asked_scope(names[0], names[1])


def _all(args: Sequence[Any]) -> KeyScope:
    return EVERYTHING


METHODS: dict[str, tuple[str, Callable[[Sequence[Any]], KeyScope]]] = {
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
"""The verb of a key that allows a method, and the buckets that a call may touch. Other methods are refused."""


class GuardedBackend:
    """A backend behind the permit of the present request.

    Args:
        backend: answers the requests that are allowed.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method. Raises NotPermitted if the key does not allow it."""
        permit = PERMIT.get()
        if permit is not None:
            verb, scope_of_call = METHODS.get(method, (method, _all))
            permit.use().check(verb, [scope_of_call(args)])
        return await self._backend.call(method, *args, **options)

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names, as `Backend.names`."""
        self._check("collections" if collection is None else "buckets", asked_scope(collection))
        return await self._backend.names(collection, after, limit)

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push, or `upsert`, the rows that the key allows, and return the others as refused."""
        permit = PERMIT.get()
        if permit is None:
            return await self._backend.push_rows(rows, upsert=upsert)
        grant, refused, places = permit.use(), [], []
        for place, row in enumerate(rows):
            try:
                grant.check("upsert" if upsert else "push", [_named(row)])
            except NotPermitted as error:
                refused.append((place, str(error)))
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
