"""Shape: the columns of the parts of a row, as the arguments of `push_many` name them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sonicpy.api.columns import OBJECT_COLUMNS, TEXT_COLUMN
from sonicpy.arguments import language_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_bucket, check_collection, shown
from sonicpy.text_names import texts_of
from sonicpy.values import VALUES_MAX, name_of, too_many
from sonicpy.vectors import is_column

__all__ = ["OBJECT_COLUMNS", "TEXT_COLUMN", "Shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of the parts of a row.

    Attributes:
        collection, bucket: the names for all rows; None: each row names its own, in the column of that name.
        object: the column with the name of the object; None: `id`, else `object`.
        text: the column with the text, or several whose texts are joined; or the columns of named texts by name.
        lang: the language of all rows; None: each row's column `lang`, or a guess if there is none.
        compat: whether names of objects have to be allowed in compat mode.
        vector: the column with the vector, or those of several columns of vectors by their names; None: rows have none.
        tags: the column with tags, one as a text or several as a list, or several columns; None: rows give none.
        values: the columns with values, which give them their names; or the column of each value by its name.
        is_one_bucket: `collection` and `bucket` are needed, and rows by position that name another bucket are refused.
        object_columns: the columns that may hold the name of the object; the first that exists is used.
        text_columns: the columns whose texts are joined.
        named_columns: the names of the texts, in the order of `text_columns`; (): the texts have no names.
        scope_columns: the columns that every row needs, because no argument gives that name for all rows.
        tag_columns: the columns that give tags.
        value_columns: the column of each value, by its name.
        vectors: the name of each column of vectors, and the column of the row that gives it.
        extra_columns: the columns that give tags, values and vectors.
        is_plain: whether rows give only an object, one text, and perhaps a language.

    Raises:
        InvalidArgument: one of them is not valid.
    """

    collection: str | None = None
    bucket: str | None = None
    object: str | None = None
    text: str | Sequence[str] | Mapping[str, str] = TEXT_COLUMN
    lang: str | None = None
    compat: bool = False
    vector: str | Mapping[str, str] | None = None
    tags: str | Sequence[str] | None = None
    values: Sequence[str] | Mapping[str, str] = ()
    is_one_bucket: bool = False
    object_columns: tuple[str, ...] = field(init=False, repr=False)
    text_columns: tuple[str, ...] = field(init=False, repr=False)
    named_columns: tuple[str, ...] = field(init=False, repr=False)
    scope_columns: tuple[str, ...] = field(init=False, repr=False)
    vectors: tuple[tuple[str, str], ...] = field(init=False, repr=False)
    tag_columns: tuple[str, ...] = field(init=False, repr=False)
    value_columns: dict[str, str] = field(init=False, repr=False)
    extra_columns: tuple[str, ...] = field(init=False, repr=False)
    is_plain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.collection is not None or self.is_one_bucket:
            check_collection(self.collection)
        if self.bucket is not None or self.is_one_bucket:
            check_bucket(self.bucket)
        if not isinstance(self.object, str | None):
            raise InvalidArgument(f"object is {shown(self.object)}; allowed is the name of a column")
        named = self.text if isinstance(self.text, Mapping) else {}
        columns: Any = list(named.values()) if named else self.text
        if not isinstance(columns, str) and not _are_columns(columns):
            raise InvalidArgument(f"text is {shown(self.text)}; allowed are the name of a column, and several names")
        vectors = {"": self.vector} if isinstance(self.vector, str) else {} if self.vector is None else self.vector
        if not isinstance(vectors, Mapping) or not all(
            isinstance(name, str) for pair in vectors.items() for name in pair
        ):
            raise InvalidArgument(
                f"vector is {shown(self.vector)}; allowed are the name of a column, and names by name"
            )
        if isinstance(self.vector, Mapping) and not all(map(is_column, vectors)):
            raise InvalidArgument(f"vector is {shown(self.vector)}; allowed are names of columns of vectors as keys")
        if self.tags is not None and not isinstance(self.tags, str) and not _are_columns(self.tags):
            raise InvalidArgument(f"tags is {shown(self.tags)}; allowed are the name of a column, and several names")
        given = {"collection": self.collection, "bucket": self.bucket}
        for name, value in {
            "lang": language_of(self.lang),
            "object_columns": OBJECT_COLUMNS if self.object is None else (self.object,),
            "text_columns": (columns,) if isinstance(columns, str) else tuple(columns),
            "text": columns[0] if not named and not isinstance(columns, str) and len(columns) == 1 else self.text,
            "named_columns": tuple(texts_of(dict.fromkeys(named, ""))),
            "vectors": tuple(vectors.items()),
            "scope_columns": tuple(name for name, value in given.items() if value is None),
            "tag_columns": _several(self.tags),
            "value_columns": _value_columns(self.values),
        }.items():
            object.__setattr__(self, name, value)
        extra = (*self.tag_columns, *self.value_columns.values(), *vectors.values())
        object.__setattr__(self, "extra_columns", extra)
        object.__setattr__(self, "is_plain", isinstance(self.text, str) and not self.scope_columns and not extra)


def _several(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def _value_columns(values: Any) -> dict[str, str]:
    """Return the column of each value by its name. Raises InvalidArgument."""
    if not isinstance(values, Mapping | str | None) and not _are_columns(values) and not _is_empty(values):
        raise InvalidArgument(f"values is {shown(values)}; allowed are names of columns, and a dict of columns by name")
    columns = dict(values) if isinstance(values, Mapping) else {name: name for name in _several(values)}
    if not all(isinstance(column, str) for column in columns.values()):
        raise InvalidArgument(f"values is {shown(values)}; allowed are names of columns")
    if len(columns) > VALUES_MAX:
        raise too_many(columns)
    return {name_of(name): column for name, column in columns.items()}


def _is_empty(names: object) -> bool:
    return isinstance(names, Sequence) and not names


def _are_columns(names: object) -> bool:
    return isinstance(names, Sequence) and len(names) > 0 and all(isinstance(name, str) for name in names)
