"""The rights of a key or a token, and the check of one request."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sonicpy.access.scopes import EVERY_NAME, EVERYTHING, KeyScope, Pattern, shown_scope, written_scope
from sonicpy.access.verbs import FILTERED, VERBS
from sonicpy.errors import CommandError

NOT_PERMITTED = "not_permitted"
ENDED = "ended"
ESCAPE = re.compile(r"\\(.)")


class NotPermitted(CommandError):
    """A key does not allow a request.

    Args:
        why: the reason, a sentence without its full stop.
    """

    def __init__(self, why: str) -> None:
        super().__init__(NOT_PERMITTED, why)

    def __reduce__(self) -> tuple[type["NotPermitted"], tuple[str]]:  # type: ignore[override]
        return type(self), (str(self.detail),)


class TooOften(NotPermitted):
    """A key is used for more requests than its rate allows."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a key, or of a token signed for it.

    Attributes:
        key: the name of the key.
        verbs: the names of the allowed verbs.
        scopes: the buckets of the key.
        within: the buckets to which a token narrows `scopes`; None: there is no token, or it does not narrow them.
        filters: the filters of the key and of the token, which are added to every query.
        expires: the time of the end, in seconds since 1970; None: never. That of a token allows for other clocks.
        rate: the most requests a second; None: no limit.
    """

    key: str
    verbs: frozenset[str] = VERBS
    scopes: tuple[KeyScope, ...] = (EVERYTHING,)
    within: tuple[KeyScope, ...] | None = None
    filters: tuple[str, ...] = ()
    expires: float | None = None
    rate: float | None = None

    def check(self, verb: str, asked: Iterable[KeyScope]) -> None:
        """Check that a verb is allowed, and every bucket that it may touch.

        Args:
            verb: the name of the verb.
            asked: the buckets that the request may touch; EVERYTHING for the whole index.

        Raises:
            NotPermitted: the verb or a bucket is not allowed.
        """
        if verb not in self.verbs:
            raise NotPermitted(f"the key {self.key} does not allow {verb}; it allows {', '.join(sorted(self.verbs))}")
        if self.filters and verb not in FILTERED:
            raise NotPermitted(
                f"the key {self.key} has a fixed filter, which {verb} cannot obey; allowed are "
                f"{', '.join(sorted(FILTERED & self.verbs))}"
            )
        for scope in asked:
            if not self.covers(scope):
                holder, reached = f"the key {self.key}", self.scopes
                if any(own.covers_all(scope) for own in reached):
                    holder, reached = f"the token of {holder}", self.within or ()
                names = ", ".join(map(written_scope, reached))
                raise NotPermitted(f"{holder} does not reach {shown_scope(scope)}; it reaches {names}")

    def check_after(self, after: str | None) -> None:
        """Check that a page may begin behind an object. Raises NotPermitted if the grant has filters: the order would
        show the places of objects that do not pass them.
        """
        if self.filters and after is not None:
            raise NotPermitted(
                f"the key {self.key} has a fixed filter, and a page after an object is asked for; allowed is an offset"
            )

    def covers(self, scope: KeyScope) -> bool:
        """Return whether all buckets of a scope are allowed."""
        if self.within is not None and not any(own.covers_all(scope) for own in self.within):
            return False
        return any(own.covers_all(scope) for own in self.scopes)


def asked_scopes(
    collection: str | None = None, bucket: str | None = None, others: Iterable[str] | None = None
) -> list[KeyScope]:
    """Return the buckets that a request touches.

    Args:
        others: further buckets of the collection: names, in quotes or without, and beginnings of names followed by `*`.
    """
    first = asked_scope(collection, bucket)
    return [first, *(KeyScope(first.collection, _pattern(other)) for other in others or ())]


def _pattern(element: str) -> Pattern:
    if element.startswith('"'):
        return Pattern(ESCAPE.sub(r"\1", element[1:-1]), False)
    return Pattern(element.removesuffix("*"), element.endswith("*"))


def asked_scope(collection: str | None = None, bucket: str | None = None) -> KeyScope:
    """Return the scope of a request that names a collection and a bucket, one of them, or neither."""
    return KeyScope(
        EVERY_NAME if collection is None else Pattern(collection, False),
        EVERY_NAME if bucket is None else Pattern(bucket, False),
    )
