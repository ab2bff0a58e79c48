"""A field: a kind of value that an object, or a bucket as a whole, may hold. `all_fields.FIELDS` has a row for each."""

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.terms import Terms
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader
    from sonicpy.store.views.write_view import WriteView


class FieldMode(IntEnum):
    """The way in which a record of kind 6 changes the fields that it names: adding to them, or replacing them."""

    ADD = 0
    REPLACE = 1


class Tagging(Protocol):
    """Changes the tags of objects; `TagWriter` documents the methods."""

    def ids_of(self, iid: int) -> list[int]: ...
    def put(self, iid: int, tags: list[bytes]) -> None: ...


class Valuing(Protocol):
    """Changes the values of objects; `ValueWriter` documents the methods."""

    def has_any(self, iid: int) -> bool: ...
    def put(self, iid: int, name: str, value: int | None, *, is_point: bool = False) -> None: ...
    def drop(self, iid: int) -> None: ...
    def finish(self) -> None: ...


class NamedTexts(Protocol):
    """Changes the named texts of objects; `TextWriter` documents the methods."""

    def replace(self, iid: int, terms: Terms, names: tuple[bytes, ...]) -> None: ...
    def add(self, iid: int, terms: Terms, names: tuple[bytes, ...], *, new: bool = False) -> None: ...
    def drop(self, iid: int) -> None: ...


class FieldWriter(Protocol):
    """The methods and attributes of a `BucketWriter` that fields need.

    Attributes:
        push: a method that adds the terms of a text to an object, and creates the object if it is missing.
        replace: a method that replaces the terms of an object by those of a text, and returns the IID.
        iid_of: a method that returns the IID of an object; None: the object does not exist.
        view: the view of the open write transaction.
        state: the state of the bucket.
        forget_columns: a method to call when the columns of vectors have changed.
    """

    @property
    def push(self) -> Callable[[str, Terms], bool]: ...
    @property
    def replace(self) -> Callable[[str, Terms], int]: ...
    @property
    def view(self) -> "WriteView": ...
    @property
    def state(self) -> BucketState: ...
    @property
    def tags(self) -> Tagging: ...
    @property
    def values(self) -> Valuing: ...
    @property
    def texts(self) -> NamedTexts: ...
    def forget_columns(self) -> None: ...
    def drop_order(self, iid: int) -> None: ...
    def iid_of(self, oid: str) -> int | None: ...
    def is_new(self, oid: str) -> bool: ...
    def takes_first_texts(self) -> bool: ...


class Field(Protocol):
    """One kind of value: its tables, and the methods that change, check and export it.

    Attributes:
        id: the number of the field in records; a number is never reused.
        name: the key of the field in `uses.KNOWN`; None: format 5 has the field.
        tables: the tables that hold the field. All are in `BUCKET_TABLES`, so flush, sweep, backup and restore cover
            it.
    """

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def tables(self) -> tuple[int, ...]: ...

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Change the field of an object. Raises DamagedBytes if the value cannot be read.

        Args:
            oid: the object; "": the field is of the bucket as a whole.
            value: the value as a record holds it.
        """

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove the field of an object that is being deleted, and that has already lost its terms."""

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield the faults of the rows of the field in a bucket, one sentence each."""

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the entries, by key, that the field adds to the line of an object in an export; {}: no entry."""
