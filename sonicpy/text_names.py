"""The names of texts of an object, such as title and body, and their weights in a query."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from sonicpy.arguments import plain_scalar, text_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import is_iterable, shown

TEXTS_MAX: Final = 8
"""The most names of texts in a bucket."""
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
WEIGHT_MAX: Final = 100.0
DEFAULT_WEIGHT: Final = 0.25
"""The weight of a text for which none is given, beside texts with a weight; measured by
`python -m benchmarks.quality titles`."""
ALLOWED: Final = "allowed are 1 to 64 ASCII letters, digits and _ - . with a letter or _ first"
_ENTRY: Final = rf"({_NAME})(?:\^([0-9]{{1,3}}(?:\.[0-9]{{1,6}})?))?"

Weights = dict[str, float | None]
"""The weight of each text by its name; None: no weight was given."""


def name_of_text(value: Any) -> str:
    """Return the name of a text as a plain str. Raises InvalidArgument if the name is not allowed."""
    name = value if type(value) is str else text_of("field", value)
    if not _is_name(name):
        raise InvalidArgument(f"field is {shown(name)}; {ALLOWED}")
    return name


@lru_cache(maxsize=64)  # many rows have the same few
def _is_name(name: str) -> bool:
    return re.fullmatch(_NAME, name) is not None


def texts_of(value: Mapping[Any, Any]) -> dict[str, str]:
    """Return the texts of an object by name; "" names the main text. Raises InvalidArgument if a name or text is not
    allowed."""
    if len(names := [name for name in value if name != ""]) > TEXTS_MAX:
        raise too_many(names)
    return {name if name == "" else name_of_text(name): text_of("text", text) for name, text in value.items()}


def too_many(names: Iterable[str]) -> InvalidArgument:
    """Return the error for more names of texts than a bucket may have."""
    listed = ", ".join(sorted(map(str, names)))
    return InvalidArgument(f"the fields of texts would be {listed}; allowed are {TEXTS_MAX} in a bucket")


def weights_of(value: Any) -> Weights:
    """Return the weights of a query by name of the text, read from a text such as `title^5,body`, names, or a mapping.

    Raises:
        InvalidArgument: a name or a weight is not allowed.
    """
    if isinstance(value, str):
        return dict(map(_entry, value.split(",")))
    if not is_iterable(value):
        raise InvalidArgument(f"fields is {shown(value)}; allowed are names of texts, and a mapping of them to weights")
    given = value.items() if isinstance(value, Mapping) else ((name, None) for name in value)
    return {name_of_text(name): _weight(name, weight) for name, weight in given}


def weights_text(value: Any) -> str:
    """Return the weights of a query as text, such as `title^5,body`. Raises InvalidArgument if one is not allowed."""
    weights = weights_of(value)
    if not 0 < len(weights) <= TEXTS_MAX:
        raise InvalidArgument(f"fields names {len(weights)} texts; allowed are 1 to {TEXTS_MAX}")
    return ",".join(name if weight is None else f"{name}^{_decimals(weight)}" for name, weight in weights.items())


def _entry(entry: str) -> tuple[str, float | None]:
    found = re.fullmatch(_ENTRY, entry.strip())
    if found is None:
        raise InvalidArgument(f"fields names {shown(entry.strip())}; allowed is a name, perhaps with a weight: title^5")
    return found[1], None if found[2] is None else _weight(found[1], float(found[2]))


def _weight(name: str, weight: Any) -> float | None:
    if weight is None:
        return None
    weight = plain_scalar(weight)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= WEIGHT_MAX:
        raise InvalidArgument(f"fields gives {name} the weight {shown(weight)}; allowed is 0 to {WEIGHT_MAX:g}")
    return float(weight)


def _decimals(weight: float) -> str:
    return f"{weight:.6f}".rstrip("0").rstrip(".")
