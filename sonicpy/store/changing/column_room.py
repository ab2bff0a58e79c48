"""Limits the number of names of values, and of texts, in a bucket, and keeps points apart from numbers. A change is
checked once, before it is accepted; replay and replicas carry it out unchecked, and leave out values that do not fit.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sonicpy._native.named_terms import names_of_named
from sonicpy.store.changing.mutations import ChangeFields, Fields, PushWith, UpsertTerms
from sonicpy.store.fields.all_fields import TEXTS, VALUES
from sonicpy.store.fields.value_field import unpack_values
from sonicpy.store.rows.column_names import COLUMN_NAMES, unpack_columns
from sonicpy.store.rows.named_words import TEXT_NAMES, unpack_names
from sonicpy.text_names import TEXTS_MAX
from sonicpy.text_names import too_many as too_many_texts
from sonicpy.values import VALUES_MAX, other_kind, too_many

if TYPE_CHECKING:
    from sonicpy.store.views.view import View

BOUNDED = frozenset((TEXTS.id, VALUES.id))
"""The fields whose number of names in a bucket is limited."""


def has_bounds(fields: Fields) -> bool:
    """Return whether `check_room` has to check a change of these fields."""
    return fields[0][0] in BOUNDED if len(fields) == 1 else not BOUNDED.isdisjoint([id for id, _ in fields])


def check_room(view: "View", changes: Iterable[ChangeFields | UpsertTerms | PushWith]) -> None:
    """Raise InvalidArgument if changes would give a bucket too many names of values, or of texts, or points and numbers
    under one name."""
    changes = tuple(changes)
    given: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for change in changes:
        for id, packed in change.fields:
            if id == VALUES.id:
                found = [
                    (name, is_point) for name, (value, is_point) in unpack_values(packed).items() if value is not None
                ]
                given.setdefault((change.collection, change.bucket), []).extend(found)
    _check_texts(view, changes)
    for scope, new in given.items():
        state = view.bucket(*scope)
        columns = [] if state is None else unpack_columns(view.fact(state.bucket, COLUMN_NAMES))
        kinds = {column.name: column.is_point for column in columns if column.name}
        held = len(kinds)
        for name, is_point in new:
            if kinds.setdefault(name, is_point) != is_point:
                raise other_kind(name, are_points=not is_point)
        if len(kinds) > max(held, VALUES_MAX):
            raise too_many(kinds)


def _check_texts(view: "View", changes: Sequence[ChangeFields | UpsertTerms | PushWith]) -> None:
    names: dict[tuple[str, str], set[bytes]] = {}
    for change in changes:
        for id, value in change.fields:
            if id == TEXTS.id:
                names.setdefault((change.collection, change.bucket), set()).update(names_of_named(value))
    for scope, new in names.items():
        state = view.bucket(*scope)
        known = set() if state is None else set(unpack_names(view.fact(state.bucket, TEXT_NAMES)))
        if len(known | new) > TEXTS_MAX and not new <= known:
            raise too_many_texts(name.decode() for name in known | new)
