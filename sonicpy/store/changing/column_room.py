"""The bound of the names of values that a bucket has, checked before a change is made: replay and replicas carry it out
as it was accepted."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sonicpy.store.changing.mutations import ChangeFields, PushWith, UpsertTerms
from sonicpy.store.fields.all_fields import VALUES
from sonicpy.store.fields.value_field import unpack_values
from sonicpy.store.rows.column_names import COLUMN_NAMES, unpack_columns
from sonicpy.values import VALUES_MAX, too_many

if TYPE_CHECKING:
    from sonicpy.store.views.view import View


def check_room(view: "View", changes: Iterable[ChangeFields | UpsertTerms | PushWith]) -> None:
    """Raise InvalidArgument if changes would give a bucket too many names of values."""
    names: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        for id, value in change.fields:
            if id == VALUES.id:
                new = {name for name, given in unpack_values(value).items() if given.value is not None}
                names.setdefault((change.collection, change.bucket), set()).update(new)
    for scope, new in names.items():
        state = view.bucket(*scope)
        columns = [] if state is None else unpack_columns(view.fact(state.bucket, COLUMN_NAMES))
        together = new.union(column.name for column in columns if column.name)
        if len(together) > VALUES_MAX and not new <= {column.name for column in columns}:
            raise too_many(together)
