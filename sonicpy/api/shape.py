"""Shape: the places of the parts of a row, as the arguments of `push_many` name them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sonicpy.api.columns import OBJECT_COLUMNS, TEXT_COLUMN
from sonicpy.arguments import language_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_bucket, check_collection, shown

__all__ = ["OBJECT_COLUMNS", "TEXT_COLUMN", "Shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The places of the parts of a row.

    Attributes:
        collection, bucket: of all rows; None: each row names its own, in the column of that name.
        object: the column with the name of the object; None: `id`, else `object`.
        text: the column with the text, or several whose texts are joined.
        lang: of all rows; None: each row's column `lang`, or a guess if there is none.
        compat: names of objects are those of compat mode.
        object_columns: the columns that may hold the name of the object; the first that exists is used.
        text_columns: the columns whose texts are joined.
        scope_columns: the columns that every row needs, because no argument gives that name for all rows.

    Raises:
        InvalidArgument: one of them is not valid.
    """

    collection: str | None = None
    bucket: str | None = None
    object: str | None = None
    text: str | Sequence[str] = TEXT_COLUMN
    lang: str | None = None
    compat: bool = False
    object_columns: tuple[str, ...] = field(init=False, repr=False)
    text_columns: tuple[str, ...] = field(init=False, repr=False)
    scope_columns: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.collection is not None:
            check_collection(self.collection)
        if self.bucket is not None:
            check_bucket(self.bucket)
        if not isinstance(self.object, str | None):
            raise InvalidArgument(f"object is {shown(self.object)}; allowed is the name of a column")
        if not isinstance(self.text, str) and not _are_columns(self.text):
            raise InvalidArgument(f"text is {shown(self.text)}; allowed are the name of a column, and several names")
        given = {"collection": self.collection, "bucket": self.bucket}
        for name, value in {
            "lang": language_of(self.lang),
            "object_columns": OBJECT_COLUMNS if self.object is None else (self.object,),
            "text_columns": (self.text,) if isinstance(self.text, str) else tuple(self.text),
            "scope_columns": tuple(name for name, value in given.items() if value is None),
        }.items():
            object.__setattr__(self, name, value)


def _are_columns(names: object) -> bool:
    return isinstance(names, Sequence) and len(names) > 0 and all(isinstance(name, str) for name in names)
