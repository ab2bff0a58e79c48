"""Named values of objects: their rules, and points, each of which is one value.

A point is 64 bits: the latitude in the upper 32 bits, the longitude in the lower ones, both in 1e-7 degree; the
longitude counts from -180 degrees. So points sort from south to north, and all nodes compare whole numbers.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, SupportsIndex

from sonicpy.errors import InvalidArgument
from sonicpy.ids import EXACT_MAX, index_of, plain_str, shown, whole_in_decimal

VALUES_MAX: Final = 16
"""The most names of values in a bucket."""
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}"
NAME_RULE: Final = "1 to 64 ASCII letters, digits, _ - and ., the first a letter or _"
_PAIR: Final = r"[^\s\"(),=]+=[^\s\"(),=]*"
_PAIRS: Final = rf"(?:{_PAIR}(?:,[ ]*{_PAIR})*)?"
VALUE_MIN, VALUE_MAX = -(2**63), 2**63 - 1
_DEGREES: Final = r"[+-]?(?=\.?[0-9])[0-9]{0,3}(\.[0-9]{1,30})?"
DEGREE: Final = 10**7
"""The number of units in a degree."""
LATITUDE_MAX, LONGITUDE_MAX = 90 * DEGREE, 180 * DEGREE
VALUE_RULE: Final = (
    "a whole number of 64 bits (a float only below 2**53), a date or a time (its seconds since 1970, in UTC if it has "
    "no zone), True or False (1 or 0), a point as (latitude, longitude) or '47.21/-1.55', or None to take the value "
    "away"
)


class GivenValue(NamedTuple):
    """A value to set under a name of an object.

    Attributes:
        value: a number of 64 bits with a sign; None: the value is removed.
        is_point: whether the value is a point.
    """

    value: int | None
    is_point: bool = False


def pack_point(latitude: int, longitude: int) -> int:
    """Return the value of a point, given in 1e-7 degree; latitudes are -90 to 90 degrees, longitudes -180 to 180."""
    return (latitude << 32) + longitude + 2**31


def unpack_point(value: int) -> tuple[int, int]:
    """Return the latitude and the longitude of a point, in 1e-7 degree."""
    return value >> 32, (value & 0xFFFFFFFF) - 2**31


def point_of(text: str) -> int:
    """Return the value of a point such as '47.21/-1.55'.

    Raises:
        ValueError: the text is no point.
    """
    latitude, slash, longitude = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} is no point")
    return _point(latitude, longitude)


def shown_point(value: int) -> str:
    """Return a point as text: '47.21/-1.55'."""
    return "/".join(_degrees(part) for part in unpack_point(value))


def is_name(name: Any) -> bool:
    """Return whether values may have this name."""
    return isinstance(name, str) and re.fullmatch(_NAME, name) is not None


def name_of(name: Any) -> str:
    """Return the name of values as a plain str. Raises InvalidArgument if the name is not valid."""
    if is_name(name):
        return plain_str(name)
    raise InvalidArgument(
        f"a value has the name {shown(name)}; allowed are {NAME_RULE}",
        "invalid_meta_value",
        f"SET[{shown(name)}]",
    )


def values_of(values: Any) -> dict[str, GivenValue]:
    """Return the values to set for an object, by name.

    Args:
        values: whole numbers, dates and times, points or None, by name.

    Raises:
        InvalidArgument: a name or a value is not allowed.
    """
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"values is {shown(values)}; allowed is a dict", "invalid_meta_value", "SET")
    found = {name_of(name): value_of(name, value) for name, value in values.items()}
    if len(found) > VALUES_MAX:
        raise too_many(found)
    return found


def too_many(names: Any) -> InvalidArgument:
    """Return the error for a bucket that would have more names of values than it may."""
    return InvalidArgument(
        f"values have new names: the bucket would have {', '.join(sorted(names))}; allowed are {VALUES_MAX}",
        "invalid_meta_value",
        f"SET, at most {VALUES_MAX} names a bucket",
    )


def other_kind(name: str, *, are_points: bool) -> InvalidArgument:
    """Return the error for a point among numbers of the same name in a bucket, or for a number among points."""
    kind, other = ("point", "number") if are_points else ("number", "point")
    return InvalidArgument(
        f"the value {name} is a {other}, but those of the bucket are {kind}s; allowed is a {kind}, or another name",
        "invalid_meta_value",
        f"SET[{name}], a {kind} in this bucket",
    )


def value_of(name: str, value: Any) -> GivenValue:
    """Return a value that a program gave for a name. Raises InvalidArgument if the value is not allowed."""
    try:
        found = _value(value)
    except (ValueError, ArithmeticError):  # OverflowError and those of Decimal among them
        found = None
    if found is None or (found.value is not None and not VALUE_MIN <= found.value <= VALUE_MAX):
        raise InvalidArgument(
            f"the value {name} is {shown(value)}; allowed are {VALUE_RULE}",
            "invalid_meta_value",
            f"SET[{name}={shown(value)}]",
        )
    return found


def number_in_value(value: Any) -> int | None:
    """Return the number that is stored for a value, for comparisons; None: the value is a text or a point, or is not
    allowed."""
    try:
        found = GivenValue(None) if isinstance(value, str) else value_of("number", value)
    except InvalidArgument:
        return None
    return None if found.is_point else found.value


def _value(value: Any) -> GivenValue | None:
    """Return the internal form of a value; None: the argument is not one."""
    if value is None:
        return GivenValue(None)
    if isinstance(value, str):
        text = plain_str(value)
        return GivenValue(point_of(text), is_point=True) if "/" in text else GivenValue(int(_digits(text)))
    if isinstance(value, GivenValue):
        return value
    if type(value) is int:
        return GivenValue(value)
    if isinstance(value, tuple | list) and len(value) == 2:
        return GivenValue(_point(*value), is_point=True)
    from datetime import UTC, date, datetime  # noqa: PLC0415  loaded when it is needed

    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return GivenValue(int((moment - datetime.fromtimestamp(0, UTC)).total_seconds() // 1))
    if isinstance(value, date):
        return GivenValue((value - date(1970, 1, 1)).days * 86_400)
    if isinstance(value, SupportsIndex):  # True and False, and numbers of numpy, too
        whole_number = index_of(value)
        return None if whole_number is None else GivenValue(whole_number)
    from decimal import Decimal  # noqa: PLC0415  loaded when it is needed
    from numbers import Rational  # noqa: PLC0415

    if isinstance(value, Decimal):
        whole_number = whole_in_decimal(value)
        return None if whole_number is None else GivenValue(whole_number)
    if isinstance(value, float) and abs(value) >= EXACT_MAX:  # perhaps another number, in a column with missing ones
        return None
    if isinstance(value, Rational | float) and value == (whole := int(value)):  # type: ignore[arg-type]
        return GivenValue(whole)
    return None


def read_text(text: str) -> Any:
    """Return the value that a text in a file means: a number, True or False, a date or a time of ISO 8601, or a point;
    None for an empty text; any other text unchanged."""
    from datetime import datetime  # noqa: PLC0415  loaded when it is needed
    from decimal import Decimal  # noqa: PLC0415  loaded when it is needed

    text = text.strip()
    for read in (lambda: WORDS[text.lower()], lambda: Decimal(text), lambda: datetime.fromisoformat(text)):
        try:
            return read()
        except (KeyError, ValueError, ArithmeticError):
            continue
    return text


WORDS: Final[dict[str, bool | None]] = {"": None, "true": True, "false": False}


def _digits(text: str) -> str:
    """Return the decimal digits of a number for commands. Raises ValueError if it is not a number."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        raise ValueError(f"{text!r} is no whole number")
    return text


def _point(latitude: Any, longitude: Any) -> int:
    parts = [_units(part) for part in (latitude, longitude)]
    if abs(parts[0]) > LATITUDE_MAX or abs(parts[1]) > LONGITUDE_MAX:
        raise ValueError("a latitude is at most 90 degrees, a longitude 180")
    return pack_point(*parts)


def _units(degrees: Any) -> int:
    """Return degrees in units of 1e-7 degree, rounded half to even. Raises ValueError or decimal.InvalidOperation."""
    from decimal import Decimal  # noqa: PLC0415  loaded when it is needed

    if isinstance(degrees, bool) or (isinstance(degrees, str) and not re.fullmatch(_DEGREES, degrees)):
        raise ValueError(f"{degrees!r} is no number of degrees")
    number = Decimal(plain_str(degrees) if isinstance(degrees, str) else str(degrees))
    if not number.is_finite() or abs(number) > 1000:
        raise ValueError(f"{degrees!r} is no number of degrees")
    return int((number * DEGREE).to_integral_value())


def _degrees(units: int) -> str:
    whole, part = divmod(abs(units), DEGREE)
    return f"{'-' if units < 0 else ''}{whole}.{part:07d}".rstrip("0").rstrip(".")


class ValueList:
    """The kind of option whose value is a list of values by name: `price=1999,place=47.21/-1.55,old=`."""

    is_text = False
    is_list = True

    def read(self, value: str, languages: object) -> dict[str, int | str | None]:
        """Return the values of a list on the wire, in the form of `plain_values`. Raises ValueError if it cannot be
        read."""
        if not re.fullmatch(_PAIRS, value):  # before the pairs are sought, in a long text without one n^2 steps
            raise ValueError(value)
        pairs = [item.partition("=") for item in re.findall(_PAIR, value)]
        if len({name for name, *_ in pairs}) < len(pairs):
            raise ValueError(value)
        return plain_values({name: text or None for name, _, text in pairs})

    def write(self, value: Mapping[str, Any]) -> str:
        """Return the form of values between brackets on the wire."""
        return ",".join(f"{name}={'' if one is None else one}" for name, one in plain_values(value).items())

    def check(self, name: str, value: Any) -> dict[str, int | str | None] | None:
        """Return the values that a program gave, in the form of `plain_values`, or None for None. Raises
        InvalidArgument if one is not allowed.
        """
        return None if value is None else plain_values(value)


def plain_values(values: Any) -> dict[str, int | str | None]:
    """Return values in the form for JSON and commands: points are text, None removes a value. Raises InvalidArgument if
    one is not allowed."""
    return {
        name: shown_point(value) if is_point and value is not None else value
        for name, (value, is_point) in values_of(values).items()
    }
