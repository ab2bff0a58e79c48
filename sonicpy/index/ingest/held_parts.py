"""The tags, values and vectors that an object has, compared with those that a change gives it."""

from typing import TYPE_CHECKING

from sonicpy.api.rows import Row
from sonicpy.errors import InvalidArgument
from sonicpy.index.ingest.given_vectors import vector_fields
from sonicpy.index.ingest.held_vectors import stored_vector
from sonicpy.index.ingest.tagged import fields_of
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import TAGS, VALUES, VECTORS
from sonicpy.store.fields.tag_field import pack_tags
from sonicpy.store.fields.value_field import unpack_values
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, VectorColumn, column_for, live_columns, unpack_vectors
from sonicpy.store.views.bucket_reader import BucketReader, find_object
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine


def holds_row(engine: "Engine", row: Row) -> bool:
    """Return whether an object has just the tags, and the values and vectors, of a row; False if a row is not valid."""
    try:
        fields = fields_of(row.tags, row.values)
        if row.vector is not None:
            fields += vector_fields(row.vector)
    except InvalidArgument:
        return False
    with engine.read() as view:
        return holds_parts(view, row[:3], fields)


def holds_parts(view: View, names: tuple[str, str, str], fields: Fields) -> bool:
    """Return whether an object has just the tags, and the values and vectors, that a change gives it.

    Args:
        names: the names of the collection, the bucket and the object.
        fields: the tags, values and vectors, as a record holds them.
    """
    if not fields:
        return True
    state = view.bucket(*names[:2])
    found = None if state is None else find_object(view, state, names[2])
    if state is None or found is None:
        return False
    reader, iid = BucketReader(view, state), found[0]
    compare = {TAGS.id: _has_tags, VALUES.id: _has_values, VECTORS.id: _has_vectors}
    return all(compare[id](reader, iid, packed) for id, packed in fields)


def _has_tags(reader: BucketReader, iid: int, packed: bytes) -> bool:
    return packed == (b"" if reader.tags is None else pack_tags(reader.tags.tags_of([iid])[0]))


def _has_values(reader: BucketReader, iid: int, packed: bytes) -> bool:
    columns = reader.columns
    for name, (value, is_point) in unpack_values(packed).items():
        number = None if columns is None else columns.names.get(name)
        if columns is None or number is None:
            if value is not None:
                return False
        elif columns.values_of(number, [iid]) != [value] or (
            value is not None and columns.is_point(number) != is_point
        ):
            return False
    return True


def _has_vectors(reader: BucketReader, iid: int, packed: bytes) -> bool:
    columns = live_columns(reader.fact(VECTOR_COLUMNS))
    for name, bits in unpack_vectors(packed):
        column = column_for(columns, name, 8 * len(bits))
        if not isinstance(column, VectorColumn) or stored_vector(reader, reader.state.bucket, iid, column) != bits:
            return False
    return True
