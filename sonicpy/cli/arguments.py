"""Arguments that several verbs take: names, languages, numbers, texts; and how verbs read the standard input."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias

from sonicpy.errors import CommandError, ConfigError, SonicError
from sonicpy.ids import check_bucket, check_collection, check_object, shown
from sonicpy.langcodes import language_code
from sonicpy.option_kinds import Choice, Decimals, LanguageCode, Number, Switch, VectorNumbers
from sonicpy.options import ARGUMENTS, Option

STDIN = "-"
LANGUAGES = "a code or tag such as en, eng or en-GB, and none"
"""The allowed values of --lang and of a column of languages, for messages."""

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The table of verbs, which `add_verbs` of each module extends; a string, because the class has no subscript at
run time."""


DIGITS_MAX = 100
"""The digits from which on numbers are so large that they mean the same."""
SECONDS_MAX = 1e9
"""The longest time of a flag, about thirty years: sockets and timers take no more."""


class Named(argparse.Action):
    """Collects pairs of a name and a value from a flag that may be given several times, but once for a name."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        """Add a pair. Raises ArgumentError if its name has a value already."""
        pairs = getattr(namespace, self.dest) or []
        if values[0] in dict(pairs):
            raise argparse.ArgumentError(self, f"{values[0]} is named twice; allowed is once")
        setattr(namespace, self.dest, [*pairs, values])


def collection_name(text: str) -> str:
    """Return the name of a collection. Raises ArgumentTypeError if it is invalid."""
    return _name(text, check_collection)


def bucket_name(text: str) -> str:
    """Return the name of a bucket. Raises ArgumentTypeError if it is invalid."""
    return _name(text, check_bucket)


def object_name(text: str) -> str:
    """Return the name of an object. Raises ArgumentTypeError if it is invalid."""
    return _name(text, check_object)


def language(text: str) -> str:
    """Return the ISO 639-3 code of a language, or "none". Raises ArgumentTypeError for an unknown language."""
    code = language_code(text)
    if code is None:
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not a language; allowed are {LANGUAGES}")
    return code


def number(text: str) -> int:
    """Return a number from 0 on. Raises ArgumentTypeError for any other text."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number from 0 on")
    return int(text) if len(text) < DIGITS_MAX else 10**DIGITS_MAX  # int() takes no text of many digits


def decimals(text: str) -> float:
    """Return a number. Raises ArgumentTypeError for any other text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number") from None


def seconds(text: str) -> float:
    """Return a time in seconds. Raises ArgumentTypeError for any other text, and for a time outside its range."""
    try:
        time_s = float(text)
    except ValueError:
        time_s = 0.0
    if not 0 < time_s <= SECONDS_MAX:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is not a number of seconds above 0 and up to {SECONDS_MAX:.0f}"
        )
    return time_s


def vector(text: str) -> Any:
    """Return a vector: numbers with commas between, also as a JSON list; a JSON object of such lists by column; or base
    64 as on the wire.

    Raises ArgumentTypeError for JSON that cannot be read.
    """
    is_json = text.startswith(("[", "{"))
    if not is_json and ("," not in text or ":" in text):
        return text
    try:
        return json.loads(text if is_json else f"[{text}]")
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{shown(text)} holds no numbers: {error}") from error


def add_names(parser: argparse.ArgumentParser) -> None:
    """Add the arguments COLLECTION, BUCKET and OBJECT; the last two may be left out."""
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name)
    parser.add_argument("bucket", metavar="BUCKET", type=bucket_name, nargs="?")
    parser.add_argument("object", metavar="OBJECT", type=object_name, nargs="?")


def add_lang(parser: argparse.ArgumentParser) -> None:
    """Add --lang."""
    parser.add_argument(
        "--lang", metavar="CODE", type=language, help="language, such as en, eng or en-GB, or none (default: guess)"
    )


def add_options(parser: argparse.ArgumentParser, verb: str, *, without: Sequence[str] = ()) -> None:
    """Add a flag for each option of a command of the channel.

    Args:
        without: names of options that the verb of the command line does not offer.
    """
    for option in ARGUMENTS[verb].values():
        if option.name not in without:
            _add_option(parser, option)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    said = option.sentence.replace("`", "")
    kind = option.kind
    match kind:
        case Switch() if option.default:
            parser.add_argument(
                f"--no-{option.name}", dest=option.name, action="store_false", help=f"switch off: {said}"
            )
        case Switch():
            parser.add_argument(f"--{option.name}", action="store_true", help=said)
        case Number():
            said += f" (default: {option.default})"
            parser.add_argument(f"--{option.name}", metavar="N", type=number, default=option.default, help=said)
        case Choice():
            words = kind.words
            choices = f"{{{','.join(words)}}}"
            said += f" (default: {option.default})"
            parser.add_argument(f"--{option.name}", metavar=choices, choices=words, default=option.default, help=said)
        case Decimals():
            said += f" (default: {option.default:g})"
            parser.add_argument(f"--{option.name}", metavar="N", type=decimals, default=option.default, help=said)
        case VectorNumbers():
            parser.add_argument(f"--{option.name}", metavar="NUMBERS", type=vector, default=option.default, help=said)
        case LanguageCode():
            parser.add_argument(f"--{option.name}", metavar="CODE", type=language, default=option.default, help=said)
        case _:
            parser.add_argument(f"--{option.name}", metavar="TEXT", default=option.default, help=said)


def options_given(arguments: argparse.Namespace, verb: str) -> dict[str, Any]:
    """Return the options of a command of the channel by name, as the flags gave them."""
    return {name: getattr(arguments, name) for name in ARGUMENTS[verb] if hasattr(arguments, name)}


def text_given(text: str) -> str:
    """Return the text of an argument, or of the standard input if it is -.

    Raises:
        ConfigError: an argument is not UTF-8.
        SonicError: the standard input is not UTF-8.
    """
    return read_text() if text == STDIN else checked(text)


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit, and so may hold words."""
    return any(map(str.isalnum, text))


def checked(text: str) -> str:
    """Return an argument unchanged. Raises ConfigError if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"the argument {ascii(text)} is not UTF-8.") from error
    return text


def standard_input() -> BinaryIO:
    """Return the standard input. Raises SonicError if the caller closed it."""
    if sys.stdin is None:
        raise SonicError("the standard input is closed")
    return sys.stdin.buffer


def read_text() -> str:
    """Return the standard input as one text. Raises SonicError if it is closed, or not UTF-8."""
    try:
        return standard_input().read().decode()
    except UnicodeDecodeError as error:
        raise SonicError(f"the standard input is not UTF-8: byte {error.start}") from error


def read_lines() -> Iterator[str]:
    """Yield the lines of the standard input that are not blank. Raises SonicError if it is closed or not UTF-8."""
    for line_number, line in enumerate(standard_input(), 1):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            raise SonicError(f"line {line_number} of the standard input is not UTF-8") from error
        if text:
            yield text


def _name(text: str, check: Callable[[str], None]) -> str:
    try:
        check(text)
    except CommandError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
