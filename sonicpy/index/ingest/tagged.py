"""The tags and values of an object, from arguments to the fields of a record."""

from collections.abc import Mapping
from typing import Any

from sonicpy.errors import InvalidArgument
from sonicpy.index.ingest.named_texts import texts_of_export
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import TAGS, TEXTS, VALUES
from sonicpy.store.fields.tag_field import pack_tags
from sonicpy.store.fields.value_field import pack_values
from sonicpy.tags import tags_of
from sonicpy.values import values_of


def fields_of(tags: Any, values: Any, *, compat: bool = False) -> Fields:
    """Return the fields that give an object its tags, all of them, and some values.

    Args:
        tags: all tags; None: they stay.
        values: the values by name; None: all stay.
        compat: the index answers as Sonic does, which has neither.

    Raises:
        InvalidArgument: a tag, a name or a value is not allowed, or the index has none of them.
    """
    if compat and (tags is not None or values is not None):
        raise InvalidArgument("tags and values are given to an index in compat mode; Sonic has neither")
    found = []
    if tags is not None:
        found.append((TAGS.id, pack_tags(tags_of(tags))))
    if values is not None and (given := values_of(values)):
        found.append((VALUES.id, pack_values(given)))
    return tuple(found)


def fields_of_export(fields: Mapping[str, Any], *, compat: bool) -> Fields:
    """Return the fields with the tags, the values and the named texts of an object of an export, given by their names
    there; `compat` as in `fields_of`. Raises InvalidArgument."""
    return fields_of(fields.get("tags"), fields.get("values"), compat=compat) + texts_of_export(
        fields.get(TEXTS.name), compat=compat
    )
