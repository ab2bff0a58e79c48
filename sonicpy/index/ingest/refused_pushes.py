"""The pushes that a store would refuse, found among many, so that the others can be stored."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sonicpy._native.named_terms import names_of_named
from sonicpy.errors import InvalidArgument
from sonicpy.index.ingest.given_vectors import ColumnCheck, Scoped
from sonicpy.store.changing.column_room import check_room, has_bounds
from sonicpy.store.changing.mutations import (
    AnyPush,
    Fields,
    PushTerms,
    PushWith,
    UpsertTerms,
    check_size,
    pack_mutation,
)
from sonicpy.store.fields.all_fields import TEXTS, VALUES
from sonicpy.store.fields.value_field import unpack_values
from sonicpy.store.views.view import View

FieldName = tuple[int, str | bytes, bool]
"""A name that a change gives its bucket: the id of the field, the name, and whether the value is a point."""


def refusals(read: Callable[[], AbstractContextManager[View]], pushes: Sequence[AnyPush]) -> list[str | None]:
    """Return the reason why each of some pushes is refused after those before it; None: it is taken.

    Args:
        read: returns a context manager that gives a view of the buckets.
    """
    reasons = [_refusal(check_size, pack_mutation(push)) for push in pushes]
    with read() as view:
        columns, room = ColumnCheck(view), RoomCheck(view)
        for place, push in enumerate(pushes):
            if reasons[place] is None:
                reasons[place] = room.refusal(push) or columns.refusal(push)
            if reasons[place] is None:
                room.note(push)
    return reasons


class RoomCheck:
    """Checks, as `check_room`, whether buckets have room for the names that pushes give them.

    Args:
        view: shows the buckets.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._named: dict[Scoped, set[FieldName]] = {}
        self._bringing: dict[Scoped, list[PushWith | UpsertTerms]] = {}  # only these have to be checked once more

    def refusal(self, push: AnyPush) -> str | None:
        """Return the reason why a bucket has no room for a push beside the noted ones; None: it has room."""
        if isinstance(push, PushTerms) or not self._new(push):
            return None
        others = self._bringing.get((push.collection, push.bucket), [])
        return _refusal(check_room, self._view, (*others, push))

    def note(self, push: AnyPush) -> None:
        """Note a push that is taken."""
        if not isinstance(push, PushTerms) and (new := self._new(push)):
            scope = push.collection, push.bucket
            self._named.setdefault(scope, set()).update(new)
            self._bringing.setdefault(scope, []).append(push)

    def _new(self, push: PushWith | UpsertTerms) -> set[FieldName]:
        """Return the names that a push gives its bucket, without those of noted pushes."""
        if not has_bounds(push.fields):
            return set()
        return set(_named(push.fields)) - self._named.get((push.collection, push.bucket), set())


def _named(fields: Fields) -> Iterator[FieldName]:
    for id, packed in fields:
        if id == VALUES.id:
            values = unpack_values(packed).items()
            yield from ((id, name, is_point) for name, (value, is_point) in values if value is not None)
        elif id == TEXTS.id:
            yield from ((id, name, False) for name in names_of_named(packed))


def _refusal(check: Callable[..., None], *args: Any) -> str | None:
    """Return the sentence of the InvalidArgument that a check raises, or None."""
    try:
        check(*args)
    except InvalidArgument as error:
        return str(error)
    return None
