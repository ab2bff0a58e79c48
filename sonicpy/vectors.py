"""Vectors as arguments: the numbers or bits that programs give, and their form on the wire.

    PUSH     <name>:<base 64 of bits>, several vectors separated by commas; bits as `numpy.packbits` orders them
    QUERY    <name>:<base 64 of numbers from -128 to 127, a byte each>

The name may be left out if the bucket has one column. Commands, caches and questions between nodes hold these forms, so
a vector is a str everywhere after its check.
"""

import re
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from typing import Any

from sonicpy._native import vectors as native
from sonicpy.errors import InvalidArgument
from sonicpy.ids import plain_str, shown

Vector = Any
"""A vector that a program gives: numbers (a list, an array of NumPy, a value of Arrow), int8, or packed bits as bytes;
or a dict of them by names of columns."""

_COLUMN = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}"
COLUMN_NAMES = "1 to 64 letters of ASCII, digits and . _ / -, first a letter or a digit"
COLUMNS_MAX = 2
NUMBERS_MAX = native.BITS_MAX
ALLOWED = "numbers, int8 or packed bits, perhaps by the name of a column"
BITS_FORMAT = "B"
NUMBERS_FORMATS = frozenset("fdb")
"""The formats of buffers that are read without conversion: floats and int8."""
DATES = frozenset("mM")
"""The kinds of types of NumPy that are times, which it may give as whole numbers or bytes."""


def is_column(name: str) -> bool:
    """Return whether a column of vectors may have this name, such as the name of a model."""
    return re.fullmatch(_COLUMN, name) is not None


def bits_of(argument: str, given: Vector) -> str | None:
    """Return the form for PUSH of a vector, or of several by column; None: no vector is given.

    Raises:
        InvalidArgument: the argument is no vector, its length is not allowed, or the name of a column is not valid.
    """
    if given is None:
        return None
    columns = bits_by_column(argument, given)
    return plain_str(given) if isinstance(given, str) else ",".join(_written(name, bits) for name, bits in columns)


def bits_by_column(argument: str, given: Vector) -> tuple[tuple[str, bytes], ...]:
    """Return the (column, packed bits) of each vector that `bits_of` takes; "" is the column of a vector without a
    name. Raises the errors of `bits_of`."""
    try:
        if isinstance(given, str):
            return read_bits(plain_str(given))
        if type(given) is bytes or not isinstance(given, Mapping):  # the look at the type is faster
            bits = given if type(given) is bytes else _packed(given, native.signs, bytes)
            _check_length(8 * len(bits))
            return (("", bits),)
        columns = tuple((_checked(name), _packed(one, native.signs, bytes)) for name, one in given.items())
        return _checked_columns(columns)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal(argument, error) from error


def numbers_of(argument: str, given: Vector) -> str | None:
    """Return the form for QUERY of one vector, or None for None. Arguments and errors as in `bits_of`."""
    if given is None:
        return None
    try:
        if isinstance(given, str):
            text = plain_str(given)
            read_numbers(text)
            return text
        name = ""
        if isinstance(given, Mapping):
            if len(given) != 1:
                raise _several(len(given))
            ((name, given),) = given.items()
            name = _checked(name)
        numbers = _packed(given, native.whole_numbers, native.of_bits)
        _check_length(len(numbers))
        return _written(name, numbers)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal(argument, error) from error


def read_bits(text: str) -> tuple[tuple[str, bytes], ...]:
    """Return the (column, bits) of each vector of a PUSH. Raises ValueError if the text has another form."""
    if "," not in text:  # most of them
        one = _read_one(text)
        _check_length(8 * len(one[1]))
        return (one,)
    given = tuple(map(_read_one, text.split(",")))
    return _checked_columns(given)


@lru_cache(maxsize=4)  # the parts of a search read its vector
def read_numbers(text: str) -> tuple[str, bytes]:
    """Return the (column, numbers as int8) of the vector of a query. Raises ValueError if the text has another form."""
    if "," in text:
        raise _several(text.count(",") + 1)
    name, numbers = _read_one(text)
    _check_length(len(numbers))
    return name, numbers


def _checked_columns(given: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    if not given or len(given) > COLUMNS_MAX or len({name for name, _ in given}) < len(given):
        raise ValueError(f"it has {len(given)} columns; allowed are 1 to {COLUMNS_MAX} different ones")
    for _, bits in given:
        _check_length(8 * len(bits))
    return given


def _checked(name: str) -> str:
    if not isinstance(name, str) or not is_column(name):
        raise ValueError(f"the column is {shown(name)}; allowed are {COLUMN_NAMES}")
    return plain_str(name)


def _read_one(text: str) -> tuple[str, bytes]:
    name, colon, packed = text.rpartition(":") if ":" in text else ("", "", text)
    if colon:
        _checked(name)
    try:
        return name, a2b_base64(packed.encode("ascii"), strict_mode=True)
    except (Error, UnicodeEncodeError) as error:
        raise ValueError("it is no base 64") from error


def _check_length(count: int) -> None:
    if not 0 < count <= native.BITS_MAX or count % 8:
        raise ValueError(f"it has {count} numbers; allowed are multiples of 8 from 8 to {native.BITS_MAX}")


def _refusal(argument: str, error: Exception) -> InvalidArgument:
    allowed = "" if "; allowed " in str(error) else f"; allowed are {ALLOWED}"
    return InvalidArgument(f"{argument} is refused, {error}{allowed}", "invalid_meta_value")


def _written(name: str, packed: bytes) -> str:
    base64 = b2a_base64(packed, newline=False).decode()
    return f"{name}:{base64}" if name else base64


def _several(columns: int) -> ValueError:
    return ValueError(f"it has {columns} columns; allowed is 1")


def _packed(given: Any, of_numbers: Callable[[Any], bytes], of_bits: Callable[[bytes], bytes]) -> bytes:
    given = _plain(given)
    if isinstance(given, bytes):
        return of_bits(given)
    try:
        return of_numbers(given)
    except TypeError as error:
        raise TypeError(f"one of its numbers {error}") from error  # must be real number, not str


def packed_lists(values: list[Any], kind: Any) -> list[Any]:
    """Return the values of a column of a table; lists of unsigned bytes, as `numpy.packbits` makes them, become bytes,
    also those of a struct, which are vectors by column.

    Args:
        kind: the type of the column, of Arrow or Polars.
    """
    if _has_bytes(kind):
        return [_as_bytes(one) for one in values]
    if not str(kind).lower().startswith("struct"):
        return values
    named = [(field.name, field.type if hasattr(field, "type") else field.dtype) for field in _fields(kind)]
    packed = [name for name, member in named if _has_bytes(member)]
    return [_with_bytes(one, packed) if isinstance(one, dict) else one for one in values] if packed else values


def _fields(struct: Any) -> Iterable[Any]:
    """Return the fields of a type of structs; older versions of pyarrow give them by iteration alone."""
    fields: Iterable[Any] = getattr(struct, "fields", struct)
    return fields


def _has_bytes(kind: object) -> bool:
    """Return whether a type of Arrow or Polars is that of lists of unsigned bytes."""
    return _is_byte(getattr(kind, "value_type", getattr(kind, "inner", "")))


def _is_byte(kind: object) -> bool:
    """Return whether a type of Arrow, Polars or pandas is that of unsigned bytes."""
    return str(kind).lower().removesuffix("[pyarrow]") == "uint8"


def _with_bytes(struct: dict[str, Any], packed: list[str]) -> dict[str, Any]:
    return {**struct, **{name: _as_bytes(struct[name]) for name in packed}}


def _as_bytes(given: Any) -> Any:
    """Return a list of unsigned bytes as bytes; anything else, also a list that lacks one, as it is."""
    try:
        return bytes(given) if isinstance(given, list) else given
    except TypeError:
        return given


def _plain_value(given: Any) -> Any:
    """Return a value of Arrow, a list or an array of numbers or bytes. Raises TypeError if it is missing."""
    is_array = hasattr(given, "to_pylist")
    plain = given.to_pylist() if is_array else given.as_py()
    if plain is None:
        raise TypeError("it is None")
    kind = getattr(given, "type", None)  # a table has none
    return _as_bytes(plain) if (_is_byte(kind) if is_array else _has_bytes(kind)) else plain


def _plain(given: Any) -> Any:
    """Return packed bits as bytes, and numbers as a flat buffer or an iterable. Raises TypeError if `given` is neither
    a buffer nor an iterable.
    """
    if hasattr(given, "as_py") or hasattr(given, "to_pylist"):
        return _plain_value(given)
    if getattr(getattr(given, "dtype", None), "kind", None) in DATES:
        raise TypeError(f"its numbers are {given.dtype}")
    try:
        view = memoryview(given)
    except (TypeError, ValueError, BufferError):  # it has no buffer, or none for numbers of its type
        return _plain_members(given)
    if (view.format or BITS_FORMAT).lstrip("<>") == BITS_FORMAT:  # ctypes names the order of a single byte, too
        return bytes(view)
    if view.format in NUMBERS_FORMATS and view.c_contiguous:
        return view
    try:
        return _plain_members(given) if hasattr(given, "tolist") else list(given)
    except NotImplementedError as error:
        raise TypeError(f"its numbers are of the format {view.format!r}") from error


def _plain_members(given: Any) -> Any:
    """Return the numbers or packed bits of an array, a Series or an iterable. Raises TypeError as `_plain`."""
    kind = getattr(given, "dtype", "")
    given = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(given, Iterable) or isinstance(given, Set):  # whose numbers have no order
        raise TypeError(f"it is {shown(given)}")
    return _as_bytes(list(given)) if _is_byte(kind) else given
