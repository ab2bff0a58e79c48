"""The options of commands: each one is declared here, and nowhere else.

An option has one name: it is a parameter of the library, of the clients and of HTTP, a field of the command, and a flag
of the command line; in capital letters it is the key of a META argument on the wire. OPTIONS lists the options of each
command. The parser of the channel, the lines of the clients, the HTTP models, the flags and the tables of the
documentation are made from it; `tests/test_options.py` compares the rest with it.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from sonicpy.arguments import language_of, number_of, switch_of, text_of
from sonicpy.bucket_names import buckets_of, read_buckets
from sonicpy.errors import InvalidArgument
from sonicpy.langcodes import NO_LANGUAGE, language_code

LIMIT_CEILING = 2**16 - 1
OFFSET_CEILING = 2**32 - 1
POSITION_CEILING = 2**53 - 1
"""The largest whole number that every reader of JSON takes: positions occur in JSON."""

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
"""The escapes of characters in a quoted value."""
_ESCAPED = str.maketrans(ESCAPES)

Method = TypeVar("Method", bound=Callable[..., Any])


class Languages(NamedTuple):
    """The values of LANG beside `none`.

    Attributes:
        codes: in lower case.
        has_tags: every other tag that names a language is allowed, too (BCP 47).
    """

    codes: frozenset[str]
    has_tags: bool = False


class Kind(Protocol):
    """The values that an option takes."""

    @property
    def is_text(self) -> bool:
        """Whether values may be in quotes on the wire."""

    def read(self, value: str, languages: Languages) -> Any:
        """Return a value from the wire. Raises ValueError if it is not allowed."""

    def write(self, value: Any) -> str:
        """Return a value as written in brackets on the wire."""

    def check(self, name: str, value: Any) -> Any:
        """Return a value that a program gave. Raises InvalidArgument if it is not allowed."""


class Number(NamedTuple):
    """A whole number from 0 to a ceiling of the wire; programs may give more, which means the same."""

    ceiling: int
    is_text: bool = False

    def read(self, value: str, languages: Languages) -> int:
        """Return the number that digits give, perhaps behind a plus sign."""
        digits = value.removeprefix("+")
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(value)
        significant = digits.lstrip("0") or "0"
        if len(significant) > len(str(self.ceiling)) or int(significant) > self.ceiling:  # int() refuses thousands
            raise ValueError(value)
        return int(significant)

    def write(self, value: int) -> str:
        """Return the digits."""
        return str(value)

    def check(self, name: str, value: Any) -> int:
        """Return a whole number from 0 on."""
        return number_of(name, value)


class Switch(NamedTuple):
    """Yes or no: 1 or 0 on the wire."""

    is_text: bool = False

    def read(self, value: str, languages: Languages) -> bool:
        """Return whether it is on."""
        return Number(1).read(value, languages) == 1

    def write(self, value: bool) -> str:
        """Return 1 or 0."""
        return "1" if value else "0"

    def check(self, name: str, value: Any) -> bool:
        """Return True or False."""
        return switch_of(name, value)


class LanguageCode(NamedTuple):
    """The language of a text: an ISO 639-3 code in lower case, `none`, or None to guess."""

    is_text: bool = False

    def read(self, value: str, languages: Languages) -> str:
        """Return the code of a language, or `none`."""
        if value == NO_LANGUAGE:
            return value
        code: str | None = value.lower()
        if code not in languages.codes:
            code = language_code(value) if languages.has_tags else None
        if code is None:
            raise ValueError(value)
        return code

    def write(self, value: str) -> str:
        """Return the code."""
        return value

    def check(self, name: str, value: Any) -> str | None:
        """Return the code of a language, `none`, or None."""
        return language_of(value)


class Name(NamedTuple):
    """A text of at least one character, such as a name or the beginning of one."""

    is_text: bool = True

    def read(self, value: str, languages: Languages) -> str:
        """Return the text."""
        if not value:
            raise ValueError(value)
        return value

    def write(self, value: str) -> str:
        """Return the text: in quotes if it holds white space, or begins with a quote."""
        is_bare = value[0] != '"' and not any(map(str.isspace, value))
        return value if is_bare else f'"{value.translate(_ESCAPED)}"'

    def check(self, name: str, value: Any) -> str:
        """Return a text."""
        return text_of(name, value)


class BucketNames(NamedTuple):
    """Elements of `sonicpy.bucket_names`: names of buckets, and beginnings of names with a star."""

    is_text: bool = True
    keeps_quotes: bool = True

    def read(self, value: str, languages: Languages) -> tuple[str, ...]:
        """Return the elements."""
        return read_buckets(value)

    def write(self, value: Sequence[str]) -> str:
        """Return the elements, with commas between."""
        return ",".join(value)

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        """Return the elements of a list."""
        return buckets_of(name, value)


class Option(NamedTuple):
    """An option of a command.

    Attributes:
        name: in lower case; the key on the wire is `name` in capital letters.
        kind: the values that it takes.
        default: the value of a program that gives none. The default of LIMIT on the wire is a setting of the server.
        usage: the META argument in usage texts.
        sentence: a description for the documentation and for help texts.
        is_ours: Sonic lacks it: compat mode refuses it, and usage texts of Sonic's commands do not name it.
        is_argument: methods of the library and the clients take it.
        is_dropped: a client leaves it out where a server lacks it: such a server answers as if it were given.
    """

    name: str
    kind: Kind
    default: Any
    usage: str
    sentence: str
    is_ours: bool = False
    is_argument: bool = True
    is_dropped: bool = False

    @property
    def key(self) -> str:
        """The key of the META argument."""
        return self.name.upper()


LIMIT = Option("limit", Number(LIMIT_CEILING), 10, "LIMIT(<count>)", "at most this many results")
OFFSET = Option("offset", Number(OFFSET_CEILING), 0, "OFFSET(<count>)", "skip this many of the first results")
LANG = Option(
    "lang", LanguageCode(), None, "LANG(<locale>)",
    "language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`), or `none` (default: guessed)",
)  # fmt: skip
SCORES = Option(
    "scores", Switch(), False, "SCORES(1)", "return the score of each object, too", is_ours=True, is_argument=False
)
STEM = Option(
    "stem", Switch(), True, "STEM(0)",
    "words also match their other forms, where `search.stemming` allows it", is_ours=True, is_dropped=True,
)  # fmt: skip
TOTAL = Option("total", Switch(), False, "TOTAL(1)", "also return the number of all objects that answer", is_ours=True)
WHOLE = Option(
    "whole", Switch(), False, "WHOLE(1)", "with TOTAL(1), also return how many of these objects hold whole words",
    is_ours=True, is_argument=False,
)  # fmt: skip
COMPLETE = Option(
    "complete", Switch(), True, "COMPLETE(0)",
    "the last word also stands for the words that begin so, unless a blank follows it", is_ours=True, is_dropped=True,
)  # fmt: skip
PREFIX = Option("prefix", Name(), "", "PREFIX(<letters>)", "only those that begin with it", is_ours=True)
AFTER = Option(
    "after", Name(), None, "AFTER(<name>)", "only those behind this one, such as the last of the page before",
    is_ours=True,
)  # fmt: skip
POSITION = Option(
    "position", Number(POSITION_CEILING), None, "POSITION(<number>)", "where the page before ended; replaces `after`",
    is_ours=True, is_argument=False,
)  # fmt: skip

BUCKETS = Option(
    "buckets", BucketNames(), (), "BUCKETS(<bucket>,<letters>*)",
    "also these buckets of the collection, as one with all objects; with * behind them all that begin so", is_ours=True,
    is_argument=False,
)  # fmt: skip

PAGE = LIMIT._replace(default=100)

OPTIONS: dict[str, tuple[Option, ...]] = {
    "QUERY": (LIMIT, OFFSET, LANG, SCORES, STEM, TOTAL, COMPLETE, WHOLE, BUCKETS),
    "EXPLAIN": (LIMIT, LANG, STEM, COMPLETE, BUCKETS),
    "SUGGEST": (LIMIT._replace(default=5), BUCKETS),
    "LIST": (PAGE, OFFSET, PREFIX, AFTER._replace(usage="AFTER(<word>)"), BUCKETS),
    "COLLECTIONS": (PAGE, AFTER._replace(usage="AFTER(<collection>)")),
    "BUCKETS": (PAGE, AFTER._replace(usage="AFTER(<bucket>)")),
    "OBJECTS": (PAGE, PREFIX, AFTER._replace(usage="AFTER(<object>)"), POSITION),
    "PUSH": (LANG,),
    "COUNT": (BUCKETS,),
    "COUNTB": (BUCKETS,),
    "SIMILAR": (LIMIT, OFFSET, SCORES),
}
"""The options of each command, in the order of its fields."""

ARGUMENTS: dict[str, dict[str, Option]] = {
    verb: {option.name: option for option in options if option.is_argument} for verb, options in OPTIONS.items()
}
"""The options that methods of the library and the clients take, by command and name."""
_DEFAULTS = {verb: {name: option.default for name, option in taken.items()} for verb, taken in ARGUMENTS.items()}


def checked(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every option that a method takes, from those that a program gave.

    Args:
        verb: the command, a key of OPTIONS.

    Raises:
        TypeError: the method takes no such option.
        InvalidArgument: a value is not allowed.
    """
    values = _DEFAULTS[verb].copy()
    for name, value in given.items():
        option = ARGUMENTS[verb].get(name)
        if option is None:
            raise TypeError(f"{verb.lower()}() got an unexpected keyword argument {name!r}")
        values[name] = option.kind.check(name, value)
    return values


def written(option: Option, value: Any) -> str:
    """Return the META argument of an option, with a space before it.

    Raises:
        InvalidArgument: the value is not Unicode.
    """
    try:
        text = option.kind.write(value)
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{option.name} is {ascii(value)}; allowed is Unicode", "invalid_format") from error
    return f" {option.key}({text})"


def with_options(verb: str) -> Callable[[Method], Method]:
    """Return a decorator for a method with `**options`: its signature shows the options of a command instead."""

    def decorate(method: Method) -> Method:
        shown = inspect.signature(method)
        own = [one for one in shown.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = [
            inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
            for option in ARGUMENTS[verb].values()
        ]
        method.__signature__ = shown.replace(parameters=[*own, *taken])  # type: ignore[attr-defined]
        return method

    return decorate
