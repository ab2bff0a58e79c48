"""The vectors that an object has, as a record of a change holds them."""

from sonicpy._native.vectors import vector_at
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, live_columns, pack_vectors
from sonicpy.store.views.bucket_reader import find_object
from sonicpy.store.views.view import View


def held_vectors(view: View, names: tuple[str, str, str], column: str) -> bytes:
    """Return the packed vectors of an object; b"": it has none, or does not exist.

    Args:
        names: the names of the collection, the bucket and the object.
        column: the name of the column of vectors; "": all columns.
    """
    collection, bucket, oid = names
    state = view.bucket(collection, bucket)
    columns = () if state is None else live_columns(view.fact(state.bucket, VECTOR_COLUMNS))
    wanted = [one for one in columns if column in ("", one.name)]
    found = find_object(view, state, oid) if state is not None and wanted else None
    if state is None or found is None:
        return b""
    held = []
    for one in wanted:
        key, place = one.place(state.bucket, found[0])
        row = view.vector_rows([key]).get(key)
        bits = None if row is None else vector_at(row, place, one.size)
        if bits is not None:
            held.append((one.name, bits))
    return pack_vectors(tuple(held))
