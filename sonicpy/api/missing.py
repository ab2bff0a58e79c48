"""Missing values: None, NaN, and those of pandas."""

from collections.abc import Iterable
from typing import cast


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN, or a missing value of pandas. An array with a NaN is not."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value) and not hasattr(value, "__len__")
    except (TypeError, ValueError, ArithmeticError, RuntimeError):  # an array, a tensor, or a number without an order
        return False


def joined(texts: Iterable[object]) -> object:
    """Return the texts of several columns joined, without missing ones; or, to be refused, a value that is not a
    text.
    """
    given = list(texts)
    if len(given) == 1 and type(given[0]) is str:
        return given[0]  # as most are
    there = [text for text in given if not is_missing(text)]
    wrong = next((text for text in there if not isinstance(text, str)), None)
    if wrong is not None or not there:
        return wrong
    return "\n".join(cast(list[str], there))
