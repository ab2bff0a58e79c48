"""Checks the arguments of the library and the clients in one place, so that both raise the same errors.

Every check returns the value in its internal form, or raises InvalidArgument. Names are checked in sonicpy.ids.
"""

import operator
import os
from collections.abc import Sequence
from typing import Any, SupportsIndex

from sonicpy.errors import InvalidArgument
from sonicpy.ids import index_of, is_object_name, plain_str, shown
from sonicpy.langcodes import LANG_CODES, language_code

NUMBER_MAX = 2**32 - 1
"""The largest number of objects or words that a bucket can hold. Larger limits and offsets are reduced to it."""

OWNER_MAX = 1_000
"""The most characters of the name of the source of a mirror."""

LANGUAGES = (
    "a language of sonicpy.langcodes as ISO 639-1, ISO 639-3 or BCP 47 (en, eng, en-GB), none for no language, and "
    "None to guess"
)

SCHEMES = ("sonic", "sonics", "sonic+unix", "http", "https")
"""The schemes of addresses of servers."""
NO_WORD = "word holds no word, or more than one with search.suggest_order = alphabetical; allowed is a word"
"""The message for a word that a server has refused without a reason."""


def plain_scalar(value: Any) -> Any:
    """Return a scalar of numpy, or an array without dimensions, as a number of Python; anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def number_of(argument: str, value: Any) -> int:
    """Return a limit or an offset: a whole number from 0 on. Raises InvalidArgument, which names `argument`, if it is
    anything else."""
    if type(value) is int and 0 <= value <= NUMBER_MAX:
        return value
    whole = None if isinstance(value, bool) or not isinstance(value, SupportsIndex) else index_of(value)
    if whole is None or whole < 0:
        raise InvalidArgument(f"{argument} is {shown(value)}; allowed is a whole number from 0 on")
    return min(whole, NUMBER_MAX)


def decimals_of(argument: str, value: Any, ceiling: float) -> float:
    """Return a number from 0 to a ceiling, rounded to six decimals. Raises InvalidArgument, which names `argument`, if
    it is anything else."""
    value = plain_scalar(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= ceiling:
        return round(float(value), 6) + 0.0  # no -0.0, which the channel does not take
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed is a number from 0 to {ceiling:g}")


def nothing_behind(bucket: str, object: str, *, is_one: bool = True) -> InvalidArgument:
    """Return the error for a page that follows an object that does not exist.

    Args:
        is_one: True: one bucket is read. False: several; `object` is then the name of its bucket, a slash, and its
            name.
    """
    place = f"the bucket {bucket!r}" if is_one else "the buckets"
    form = "" if is_one else ", as <bucket>/<object> or as a hit of these buckets"
    return InvalidArgument(
        f"after is {str(object)!r}, which is no object of {place} (any more); allowed is an object that exists{form}, "
        "or None to begin again",
        "not_found",
    )


def bucket_of_filter(bucket: str | None, object: object) -> str:
    """Return the bucket of which the objects that pass a filter are to be erased. Raises InvalidArgument if there is
    none, or an object is given, too."""
    if bucket is None or object is not None:
        raise InvalidArgument("filter is given; allowed is it with a bucket and without an object")
    return bucket


def no_word(*, has_several: bool | None = None) -> InvalidArgument:
    """Return the error for a suggestion of a text without a word, or with several in alphabetical order.

    Args:
        has_several: whether the text has several words; None: a server has refused the text without a reason.
    """
    if has_several is None:
        return InvalidArgument(NO_WORD, "query_error")
    reason = "more than one word, and search.suggest_order is alphabetical" if has_several else "no word"
    return InvalidArgument(f"word holds {reason}; allowed is a word", "query_error")


def nothing_to_tag() -> InvalidArgument:
    """Return the error for a change of tags and values that contains neither tags nor values."""
    reason = "tags is missing, and so is values; allowed are one of them, or both"
    return InvalidArgument(reason, "invalid_argument", reason)


def text_of(argument: str, value: Any) -> str:
    """Return `value` as a plain str. Raises InvalidArgument, with the name of the argument, if it is no str."""
    if isinstance(value, str):
        return plain_str(value)
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed is a str", "invalid_format")


def language_of(lang: Any) -> str | None:
    """Return the ISO 639-3 code of a language, "none" for no language, or None for one that is to be guessed. Raises
    InvalidArgument if it is no known language.
    """
    if lang is None:
        return None
    if isinstance(lang, str) and lang in LANG_CODES:
        return plain_str(lang)
    code = language_code(lang) if isinstance(lang, str) else None
    if code is None:
        told = plain_str(lang) if isinstance(lang, str) else shown(lang)
        raise InvalidArgument(f"lang is {shown(lang)}; allowed are {LANGUAGES}", "invalid_meta_value", f"LANG[{told}]")
    return code


def whole_number(argument: str, value: Any) -> int:
    """Return a value as a whole number. Raises TypeError, which names `argument`, for anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument} is a whole number, not {type(value).__name__}")
    return operator.index(value)


def switch_of(argument: str, value: Any) -> bool:
    """Return a switch as True or False. Raises InvalidArgument, which names `argument`, if it is anything else."""
    given = plain_scalar(value)
    if isinstance(given, int) and given in (0, 1):
        return bool(given)
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed are True and False")


def choice_of(argument: str, value: Any, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words; a whole number is read as its digits. Raises InvalidArgument if
    it is not.
    """
    given = plain_scalar(value)
    word = str(given) if type(given) is int else given
    if isinstance(word, str) and word in allowed:
        return plain_str(word)
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed are {', '.join(allowed)}")


def call_of(argument: str, value: Any) -> Any:
    """Return `value` if it is a function or None. Raises InvalidArgument, which names `argument`, if it is anything
    else."""
    if value is None or callable(value):
        return value
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed are a function, and None")


def path_of(argument: str, value: Any) -> str:
    """Return the path of a folder as a str. Raises InvalidArgument, which names `argument`, if it is no path, or the
    address of a server."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if isinstance(path, str) and path and "\0" not in path and _is_encodable(path):
        if is_address(path):  # not shown: an address may hold a password
            raise InvalidArgument(
                f"{argument} is the address of a server: use sonicpy.connect; allowed is the path of a folder"
            )
        return plain_str(path)
    raise InvalidArgument(f"{argument} is {shown(value)}; allowed is the path of a folder")


def is_address(path: str) -> bool:
    """Return whether a text that should be a path is the address of a server. A Path has one slash for the two."""
    scheme, separator, _ = path.partition(":/")
    return bool(separator) and scheme.lower() in SCHEMES


def _is_encodable(path: str) -> bool:
    """Return whether the system can take a path: a lone surrogate may mean a byte that is no UTF-8, but not
    every one does.
    """
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can encode a text: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_unicode(argument: str, error: UnicodeEncodeError) -> InvalidArgument:
    """Return the error for a text, the argument `argument`, that UTF-8 cannot encode."""
    reason = f"{argument} is not Unicode: character {error.start} is a lone surrogate"
    return InvalidArgument(reason, "invalid_format", f"the {reason}")


def check_source(owner: Any, prefix: Any) -> None:
    """Raise InvalidArgument unless a mirror may have this owner and this beginning of names."""
    if not isinstance(owner, str) or not 0 < len(owner) <= OWNER_MAX or owner.isspace() or not owner.isprintable():
        raise InvalidArgument(f"owner is {shown(owner)}; allowed are 1 to {OWNER_MAX} printable characters")
    if text_of("prefix", prefix) and not is_object_name(prefix):
        raise InvalidArgument(f"prefix is {shown(prefix)}; allowed is the beginning of a name, such as 'shop:'")
