"""The vectors that an object has, as a record of a change holds them."""

from typing import TYPE_CHECKING

from sonicpy._native.vectors import vector_at
from sonicpy.store.changing.column_room import check_room, has_bounds
from sonicpy.store.changing.mutations import ChangeFields, RulesDiffer, UpsertTerms, check_size, pack_mutation
from sonicpy.store.fields.all_fields import VECTORS
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, VectorColumn, live_columns, pack_vectors
from sonicpy.store.views.bucket_reader import BucketReader, find_object
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine


def held_vectors(view: View, names: tuple[str, str, str], column: str, *, others: bool = False) -> bytes:
    """Return the packed vectors of an object; b"": it has none, or does not exist.

    Args:
        names: the names of the collection, the bucket and the object.
        column: the name of the column of vectors; "": all columns.
        others: return the vectors of the other columns instead.
    """
    collection, bucket, oid = names
    state = view.bucket(collection, bucket)
    columns = () if state is None else live_columns(view.fact(state.bucket, VECTOR_COLUMNS))
    wanted = [one for one in columns if (column in ("", one.name)) != others]
    found = find_object(view, state, oid) if state is not None and wanted else None
    if state is None or found is None:
        return b""
    vectors = [(one.name, stored_vector(view, state.bucket, found[0], one)) for one in wanted]
    return pack_vectors(tuple([(name, bits) for name, bits in vectors if bits is not None]))


def stored_vector(rows: View | BucketReader, bucket: int, iid: int, column: VectorColumn) -> bytes | None:
    """Return the bits of an object in a column of vectors; None: it has none."""
    key, place = column.place(bucket, iid)
    row = rows.vector_rows([key]).get(key)
    return None if row is None else vector_at(row, place, column.size)


def forget_vectors(engine: "Engine", upsert: UpsertTerms, column: str) -> None:
    """Take the vectors of a column that `held_vectors` returns away from the object of an UPSERT that comes next.

    After a crash between both changes, the object has no vector, and the next UPSERT finds that. In the other order,
    it would keep the vector of another text beside the digest of its own.

    Raises:
        RulesDiffer, InvalidArgument: the store refuses the UPSERT; the object keeps its vectors.
        StoreError: the vectors were not taken away.
    """
    check_size(pack_mutation(upsert))
    names = upsert[:3]
    with engine.read() as view:
        state = view.bucket(upsert.collection, upsert.bucket)
        if state is not None and (rules := view.rules(state.bucket)) != upsert.rules:
            raise RulesDiffer((upsert.collection, upsert.bucket), rules)
        if has_bounds(upsert.fields):
            check_room(view, (upsert,))
        is_held = held_vectors(view, names, column) != b""
        kept = held_vectors(view, names, column, others=True)
    if is_held:
        engine.apply(ChangeFields(*names, FieldMode.REPLACE, ((VECTORS.id, kept),)))
