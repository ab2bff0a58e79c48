"""Names of collections, buckets and objects, and the rules for valid names.

                              collections, buckets                  objects
    default mode              1 to 128 ASCII characters             1 to 128 bytes of UTF-8
                              without white space                   without white space and control characters
    compat mode               the same                              as collections

Older versions accepted ASCII control characters in names of objects. An object with such a name can still be found,
read and removed, but no text can be added to it.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeAlias, TypeGuard

from sonicpy._native.ids import are_names
from sonicpy.errors import InvalidArgument

NAME_MAX_BYTES = 128

if TYPE_CHECKING:
    from decimal import Decimal
    from uuid import UUID

    ObjectName: TypeAlias = str | SupportsIndex | float | Decimal | UUID
else:
    ObjectName = str | SupportsIndex | float  # and Decimal and UUID, which are loaded when they are needed
"""The name of an object as an argument of the library: a str; a whole number, whose digits are the name; or a UUID."""

SCOPE_NAME = f"1 to {NAME_MAX_BYTES} ASCII characters without white space"
OBJECT_NAME = f"1 to {NAME_MAX_BYTES} bytes of UTF-8 without white space and control characters, or a whole number"
"""The rule for names, for error messages."""

EXACT_MAX = 2**53
"""The bound below which a float means one whole number; from it on, several numbers become the same float."""
NARROW_EXACT_MAX = {2: 2**11, 4: 2**24}
"""The same bound of a narrower float of NumPy, by its bytes."""

_UNFIT = r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]"
_NOT_IN_NAMES = frozenset(" \t\n\v\f\r")
_SHOWN = 60
_BITS_MAX = (10**NAME_MAX_BYTES).bit_length()
"""The most bits of a number whose digits can be a name."""


class Scope(NamedTuple):
    """The name of a bucket: its collection, and its name in the collection."""

    collection: str
    bucket: str


def check_collection(name: Any) -> None:
    """Raise InvalidArgument unless `name` is 1 to 128 ASCII characters without white space."""
    if not _is_ascii_name(name):
        raise _invalid("collection", name, SCOPE_NAME, "InvalidCollection")


def check_bucket(name: Any) -> None:
    """Raise InvalidArgument unless `name` is 1 to 128 ASCII characters without white space."""
    if not _is_ascii_name(name):
        raise _invalid("bucket", name, SCOPE_NAME, "InvalidBucket")


def check_object(name: Any, *, compat: bool = False, new: bool = False) -> None:
    """Raise InvalidArgument unless `name` can be the name of an object.

    Args:
        compat: True: the name must be ASCII, as in compat mode.
        new: True: a text is to be added to the object, so control characters are not allowed either.
    """
    is_valid = _is_ascii_name(name) if compat else is_object_name(name) or (not new and _is_ascii_name(name))
    if not is_valid:
        raise _invalid("object", name, SCOPE_NAME if compat else OBJECT_NAME, "InvalidObject")


def check_names(collection: Any, bucket: Any, object: Any = None, *, compat: bool = False, new: bool = False) -> None:
    """Raise InvalidArgument unless the collection, the bucket and, if given, the object have valid names.

    Args:
        compat, new: as in `check_object`.
    """
    if are_names(collection, bucket, object):
        return
    check_collection(collection)
    check_bucket(bucket)
    if object is not None:
        check_object(object, compat=compat, new=new)


def index_of(value: SupportsIndex) -> int | None:
    """Return a value as a whole number; None: the value is not one, but for example an array of several."""
    try:
        return value.__index__()
    except TypeError:
        return None


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a loop can take its elements from a value; none from an array without dimensions."""
    return isinstance(value, Iterable) and getattr(value, "ndim", None) != 0


def plain_str(text: str) -> str:
    """Return the text of an object of a subclass of str, such as an enumeration, a hit or markup, as a plain str."""
    return text if type(text) is str else str.__str__(text)


def object_name(object: Any, argument: str = "object") -> str:
    """Return the name of an object as a str.

    Equal numbers have the same name, the digits of the whole number: 42, 42.0 and Decimal("42.00") mean "42". A UUID
    means its text, 32 small hexadecimal digits in five groups.

    Args:
        argument: the argument that holds the name, for the message.

    Raises:
        InvalidArgument: `object` is neither a str nor a whole number nor a UUID.
    """
    if type(object) is int:  # as most keys of tables are
        number: int | None = object
    elif isinstance(object, str):
        return plain_str(object)
    else:
        from uuid import UUID  # noqa: PLC0415  loaded when it is needed

        if isinstance(object, UUID):
            return str(object)
        number = _whole(object)
    if number is None or number.bit_length() > _BITS_MAX:
        raise _invalid(argument, object, OBJECT_NAME, "InvalidObject")
    return str(number)


def _whole(value: object) -> int | None:
    """Return a value as a whole number; None: the value is not one, such as True, 1.5, an array, a float from
    its bound on."""
    if isinstance(value, bool):
        return None
    if isinstance(value, SupportsIndex):
        return index_of(value)
    from decimal import Decimal  # noqa: PLC0415  loaded when it is needed
    from numbers import Rational, Real  # noqa: PLC0415

    if isinstance(value, Decimal):
        return whole_in_decimal(value)
    if isinstance(value, Rational):
        return int(value.numerator) if value.denominator == 1 else None
    if isinstance(value, Real):
        number = float(value)
        bound = NARROW_EXACT_MAX.get(getattr(value, "itemsize", 0), EXACT_MAX)
        return int(number) if number == value and number.is_integer() and abs(number) < bound else None
    return None


def whole_in_decimal(value: "Decimal") -> int | None:
    """Return a Decimal as a whole number; None: it is not one, or it has more digits than the name of an object."""
    if not value.is_finite() or value != value.to_integral_value():
        return None
    # int() would write out the zeros of Decimal("1e999999"), without an end for more of them.
    return int(value) if not value or value.adjusted() < NAME_MAX_BYTES else None


def shown(value: object) -> str:
    """Return a value in the form for an error message: its repr, shortened, or its type if that is more helpful."""
    if isinstance(value, int) and value.bit_length() > _BITS_MAX:  # Python writes no number of many digits
        return f"a number of more than {NAME_MAX_BYTES} digits"
    from decimal import Decimal  # noqa: PLC0415  loaded when it is needed

    if value is None or isinstance(value, str | bytes | int | float | Decimal):
        plain = plain_str(value) if isinstance(value, str) else value  # kinds of str may have a repr of their own
        text = ascii(plain) if isinstance(plain, str) and not plain.isprintable() else repr(plain)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"of type {type(value).__name__}"


def shown_part(value: object) -> str:
    """Return a value inside another one, such as a value of a dict, in the form for an error message."""
    text = shown(value)
    return f"a value {text}" if text.startswith("of type ") else text


def _invalid(argument: str, value: object, allowed: str, detail: str) -> InvalidArgument:
    return InvalidArgument(f"{argument} is {shown(value)}; allowed are {allowed}", detail=detail)


def _is_ascii_name(name: object) -> bool:
    return (
        isinstance(name, str) and 0 < len(name) <= NAME_MAX_BYTES and name.isascii() and _NOT_IN_NAMES.isdisjoint(name)
    )


def is_object_name(name: object) -> bool:
    """Return whether an object can be made with a name in the default mode."""
    return isinstance(name, str) and not re.search(_UNFIT, name) and 0 < len(name.encode()) <= NAME_MAX_BYTES
