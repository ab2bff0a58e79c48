"""The kinds of values that options take, each with its form on the wire and as an argument of a program."""

import re
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple, Protocol

from sonicpy.arguments import NUMBER_MAX, choice_of, decimals_of, language_of, number_of, switch_of, text_of
from sonicpy.bucket_names import buckets_of, read_buckets
from sonicpy.langcodes import LANG_CODES, NO_LANGUAGE, language_code
from sonicpy.vectors import bits_of, numbers_of, read_bits, read_numbers

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
"""Characters of a quoted value -> their escapes."""
_CODES = LANG_CODES | {NO_LANGUAGE}
_ESCAPED = str.maketrans(ESCAPES)

_DECIMAL = r"(?=[.0-9])[0-9]{0,4}(?:\.[0-9]{0,6})?"


class Languages(NamedTuple):
    """The values that LANG accepts besides `none`.

    Attributes:
        codes: the accepted codes, in lower case.
        has_tags: whether any other BCP 47 tag that names a language is accepted, too.
    """

    codes: frozenset[str]
    has_tags: bool = False


class Kind(Protocol):
    """A kind of values: reads them from the wire, writes them, and checks those of a program."""

    @property
    def is_text(self) -> bool:
        """Whether values may be in quotes on the wire."""

    def read(self, value: str, languages: Languages) -> Any:
        """Return the value that a text on the wire means. Raises ValueError if it is not allowed."""

    def write(self, value: Any) -> str:
        """Return the form of a value between brackets on the wire."""

    def check(self, name: str, value: Any) -> Any:
        """Return a value that a program gave, in its internal form. Raises InvalidArgument if it is not allowed."""


Unchecked = Callable[[], tuple[type, Container[Any]]]
"""Returns a class, and values of exactly this class that `check` returns as they are. A kind may have it: it saves the
call of `check`.
"""


class Number(NamedTuple):
    """A whole number from 0 to a ceiling.

    Attributes:
        is_capped: whether a larger number of a program means the ceiling; otherwise a server refuses it, and the
            library takes it.
    """

    ceiling: int
    is_text: bool = False
    is_capped: bool = False

    def read(self, value: str, languages: Languages) -> int:
        """Return the number that the digits mean; a plus sign may come before them. Raises ValueError if the text has
        another form.
        """
        digits = value.removeprefix("+")
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(value)
        significant = digits.lstrip("0") or "0"
        if len(significant) > len(str(self.ceiling)) or int(significant) > self.ceiling:  # int() refuses thousands
            raise ValueError(value)
        return int(significant)

    def write(self, value: int) -> str:
        """Return the decimal digits of the number."""
        return str(value)

    def check(self, name: str, value: Any) -> int:
        """Return the number. Raises InvalidArgument unless it is a whole number from 0 on."""
        number = number_of(name, value)
        return min(number, self.ceiling) if self.is_capped else number

    def unchecked(self) -> tuple[type, Container[int]]:
        """Return int, the type of the values, and the numbers that `check` returns as they are."""
        return int, range(1 + (self.ceiling if self.is_capped else NUMBER_MAX))


class Switch:
    """Yes or no: 1 or 0 on the wire."""

    is_text = False

    def read(self, value: str, languages: Languages) -> bool:
        """Return whether the switch is on. Raises ValueError unless the text is 1 or 0."""
        return Number(1).read(value, languages) == 1

    def write(self, value: bool) -> str:
        """Return 1 or 0."""
        return "1" if value else "0"

    def check(self, name: str, value: Any) -> bool:
        """Return the switch. Raises InvalidArgument unless it is True or False."""
        return switch_of(name, value)


class LanguageCode:
    """The language of a text: an ISO 639-3 code in lower case, `none`, or None to guess."""

    is_text = False

    def read(self, value: str, languages: Languages) -> str:
        """Return the code of a language, or `none`. Raises ValueError if the language is not accepted."""
        if value == NO_LANGUAGE:
            return value
        code: str | None = value.lower()
        if code not in languages.codes:
            code = language_code(value) if languages.has_tags else None
        if code is None:
            raise ValueError(value)
        return code

    def write(self, value: str) -> str:
        """Return the code as it is."""
        return value

    def check(self, name: str, value: Any) -> str | None:
        """Return the code of a language, `none`, or None. Raises InvalidArgument if it is no known language."""
        return language_of(value)

    def unchecked(self) -> tuple[type, Container[str]]:
        """Return str, the type of the values, and the codes that `check` returns as they are."""
        return str, _CODES


class Name:
    """A text of at least one character, such as a name or the beginning of one."""

    is_text = True

    def read(self, value: str, languages: Languages) -> str:
        """Return the text. Raises ValueError if it is empty."""
        if not value:
            raise ValueError(value)
        return value

    def write(self, value: str) -> str:
        """Return the text: in quotes if it holds white space, or begins with a quote."""
        is_bare = value[0] != '"' and not any(map(str.isspace, value))
        return value if is_bare else f'"{value.translate(_ESCAPED)}"'

    def check(self, name: str, value: Any) -> str:
        """Return the text as a plain str. Raises InvalidArgument if it is no str."""
        return text_of(name, value)


class Choice(NamedTuple):
    """One of a few words. A program may give a number instead of a word of digits."""

    words: tuple[str, ...]
    is_text: bool = False

    def read(self, value: str, languages: Languages) -> str:
        """Return the word. Raises ValueError if it is not one of them."""
        if value not in self.words:
            raise ValueError(value)
        return value

    def write(self, value: str) -> str:
        """Return the word as it is."""
        return value

    def check(self, name: str, value: Any) -> str:
        """Return the word. Raises InvalidArgument if it is not one of them."""
        return choice_of(name, value, self.words)


class Decimals(NamedTuple):
    """A number from 0 to a ceiling, with decimals."""

    ceiling: float
    is_text: bool = False

    def read(self, value: str, languages: Languages) -> float:
        """Return the number. Raises ValueError unless it is a number from 0 to the ceiling."""
        number = float(value) if re.fullmatch(_DECIMAL, value) else -1.0
        if not 0 <= number <= self.ceiling:
            raise ValueError(value)
        return number

    def write(self, value: float) -> str:
        """Return the number in decimal digits."""
        return f"{value:.6f}".rstrip("0").rstrip(".")

    def check(self, name: str, value: Any) -> float:
        """Return a number from 0 to the ceiling, rounded to six decimals. Raises InvalidArgument if it is anything
        else."""
        return decimals_of(name, value, self.ceiling)


class VectorBits:
    """The vectors of an object, in the form of `sonicpy.vectors`."""

    is_text = False

    def read(self, value: str, languages: Languages) -> str:
        """Return the vectors. Raises ValueError if the text has another form."""
        read_bits(value)
        return value

    def write(self, value: str) -> str:
        """Return the vectors as they are."""
        return value

    def check(self, name: str, value: Any) -> str | None:
        """Return vectors that a program gave, in the form for PUSH; None: none. Raises the errors of `bits_of`."""
        return bits_of(name, value)


class VectorNumbers:
    """The vector of a query, in the form of `sonicpy.vectors`."""

    is_text = False

    def read(self, value: str, languages: Languages) -> str:
        """Return the vector. Raises ValueError if the text has another form."""
        read_numbers(value)
        return value

    def write(self, value: str) -> str:
        """Return the vector as it is."""
        return value

    def check(self, name: str, value: Any) -> str | None:
        """Return a vector that a program gave, in the form for QUERY; None: none. Raises the errors of `numbers_of`."""
        return numbers_of(name, value)


class Spec(NamedTuple):
    """A text with a grammar of its own: a filter, an order, facets.

    Attributes:
        check_text: a function that returns the text of a value that a program gave, or raises InvalidArgument.
        unchecked: see `Unchecked`.
    """

    check_text: Callable[[Any], str]
    is_text: bool = True
    unchecked: Unchecked | None = None

    def read(self, value: str, languages: Languages) -> str:
        """Return the text. Raises InvalidArgument, which is a ValueError, with the reason."""
        return self.check_text(value)

    def write(self, value: Any) -> str:
        """Return the text in quotes."""
        return f'"{self.check_text(value).translate(_ESCAPED)}"'

    def check(self, name: str, value: Any) -> str | None:
        """Return the text, or None for none. Raises the errors of `check_text`."""
        return None if value is None else self.check_text(value)


class BucketNames:
    """Elements of `sonicpy.bucket_names`: names of buckets, and beginnings of names with a star."""

    is_text = True
    keeps_quotes = True

    def read(self, value: str, languages: Languages) -> tuple[str, ...]:
        """Return the elements of a list on the wire."""
        return read_buckets(value)

    def write(self, value: Sequence[str]) -> str:
        """Return the elements, separated by commas."""
        return ",".join(value)

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        """Return the elements that a program gave, each in its canonical form. Raises InvalidArgument if one is not
        allowed."""
        return buckets_of(name, value)
