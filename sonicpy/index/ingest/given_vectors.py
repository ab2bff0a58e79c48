"""The vectors of texts on their way to the store: given by a program or made by the embedder of an index, then
checked.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sonicpy._native.vectors import packed_vector
from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown, shown_part
from sonicpy.store.changing.mutations import ChangeFields, Mutation, PushTerms, PushWith, UpsertTerms
from sonicpy.store.fields.all_fields import VECTORS
from sonicpy.store.rows.vector_columns import (
    UNNAMED,
    VECTOR_COLUMNS,
    VectorColumn,
    column_for,
    live_columns,
    pack_vectors,
    unpack_vectors,
)
from sonicpy.store.views.view import View
from sonicpy.vectors import bits_by_column, bits_of, is_column, numbers_of, read_bits

Embed = Callable[[list[str]], Sequence[Any]]
"""Returns a vector for each text; see `embed` of `sonicpy.open`."""

VECTOR_ID = VECTORS.id
IN_COMPAT = "vector is refused: compat mode has no vectors"

Scoped = tuple[str, str]
GIVING = (PushWith, UpsertTerms, ChangeFields)
"""The kinds of changes that may give vectors to an object; without an object, ChangeFields takes columns away."""


def packed_fields(argument: str, given: Any) -> tuple[tuple[int, bytes], ...]:
    """Return the fields of a PUSH with vectors that a program gave. Raises InvalidArgument as `bits_of`."""
    packed = packed_vector(given)  # of most
    return ((VECTOR_ID, pack_vectors(bits_by_column(argument, given)) if packed is None else packed),)


def vector_fields(vector: str) -> tuple[tuple[int, bytes], ...]:
    """Return the fields of a PUSH with vectors, given in the form of `sonicpy.vectors`."""
    return ((VECTORS.id, pack_vectors(read_bits(vector))),)


def vectors_of_export(fields: Mapping[str, Any]) -> str | None:
    """Return the vectors of an object of an export, in the form for PUSH; None: it has none.

    Raises:
        InvalidArgument: they have another form.
    """
    given = fields.get(VECTORS.name)
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(bits, str) for bits in given.values()):
        raise InvalidArgument(f"vectors is {shown(given)}; allowed is base 64 by column")
    return bits_of(VECTORS.name, ",".join(f"{name}:{bits}" for name, bits in given.items()))


class ColumnCheck:
    """Checks vectors against the columns of their buckets, including the columns that a first vector makes.

    Args:
        view: shows the buckets.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._columns: dict[Scoped, tuple[VectorColumn, ...]] = {}
        self._taken: set[tuple[Scoped, bytes]] = set()  # with the heads of vectors that buckets take

    def refusal(self, change: Mutation) -> str | None:
        """Return the reason why a bucket does not take the vectors that a change gives; None: it takes them."""
        if not isinstance(change, GIVING) or not change.oid:
            return None
        scope = change.collection, change.bucket
        for id, packed in change.fields:
            if id == VECTORS.id and packed:
                head = packed[: packed[0] + 2]  # the column and the length
                is_one = len(packed) == len(head) + head[-1]
                if is_one and (scope, head) in self._taken:
                    continue
                reason = self.refusal_of(scope, unpack_vectors(packed))
                if reason is not None:
                    return reason
                if is_one:
                    self._taken.add((scope, head))
        return None

    def refusal_of(self, scope: Scoped, given: Iterable[tuple[str, bytes]]) -> str | None:
        """Return the reason why a bucket does not take the vectors of an object, by column; None: it takes them, and
        the columns that they make are noted.
        """
        columns = self._columns[scope] if scope in self._columns else self._stored(scope)
        for name, bits in given:
            found = column_for(columns, name, 8 * len(bits))
            if isinstance(found, str):
                return f"the vector is refused: {found}"
            if found is None:
                columns = (*columns, VectorColumn(name or UNNAMED, 8 * len(bits), 0))
        self._columns[scope] = columns
        return None

    def _stored(self, scope: Scoped) -> tuple[VectorColumn, ...]:
        state = self._view.bucket(*scope)
        return () if state is None else live_columns(self._view.fact(state.bucket, VECTOR_COLUMNS))


def give_vectors(changes: Iterable[Mutation]) -> bool:
    """Return whether one of some changes may give vectors to an object."""
    vectors = VECTORS.id
    for change in changes:
        if type(change) is not PushTerms and isinstance(change, GIVING):  # most are PushTerms
            for id, _ in change.fields:
                if id == vectors:
                    return True
    return False


def check_columns(read: Callable[[], AbstractContextManager[View]], changes: Collection[Mutation]) -> None:
    """Raise InvalidArgument if a bucket does not take the vectors that one of some changes gives.

    Args:
        read: returns a context manager that gives a view of the buckets.
    """
    if not give_vectors(changes):
        return
    with read() as view:
        check = ColumnCheck(view)
        for change in changes:
            reason = check.refusal(change)
            if reason is not None:
                raise InvalidArgument(reason, "invalid_meta_value", reason)


def embedded(embed: Embed, texts: list[str]) -> list[str]:
    """Return the vectors of texts, in the form for PUSH.

    Raises:
        InvalidArgument: the embedder gives no vector of a text, or one that is not allowed.
    """
    return [str(bits_of("embed", _named(embed, vector))) for vector in _of_all(embed, texts)]


def embedded_question(embed: Embed, text: str) -> str:
    """Return the vector of the text of a query, in the form for QUERY. Raises as `embedded`."""
    (vector,) = _of_all(getattr(embed, "question", embed), [text])
    return str(numbers_of("embed", _named(embed, vector)))


def check_embedder(embed: object) -> None:
    """Raise InvalidArgument if `embed` of `sonicpy.open` cannot be called, or its column has no valid name."""
    if not callable(embed):
        raise InvalidArgument(f"embed is {shown(embed)}; allowed is a function that returns vectors of texts")
    column = getattr(embed, "column", "")
    if column != "" and not (isinstance(column, str) and is_column(column)):
        raise InvalidArgument(f"embed.column is {shown(column)}; allowed is the name of a column of vectors")


def _of_all(embed: Embed, texts: list[str]) -> list[Any]:
    made: Any = embed(texts)
    if not isinstance(made, Iterable):
        raise InvalidArgument(f"embed is refused: it made {shown_part(made)} of {len(texts)} texts, no vectors")
    vectors = list(made)
    if len(vectors) != len(texts):
        raise InvalidArgument(f"embed is refused: it made {len(vectors)} vectors of {len(texts)} texts")
    for text, vector in zip(texts, vectors, strict=True):
        if vector is None:
            raise InvalidArgument(f"embed is refused: it made no vector of {shown(text)}")
    return vectors


def _named(embed: Embed, vector: Any) -> Any:
    column = getattr(embed, "column", "")
    return {column: vector} if column else vector
