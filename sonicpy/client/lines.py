"""Lines of commands, without line ends: valid names, texts cut to fit, META arguments."""

from pathlib import Path

from sonicpy.channel.quoting import SMALLEST_ROOM, quoted, quoted_pieces
from sonicpy.client.conversation import ServerInfo
from sonicpy.errors import CommandError, TooLong
from sonicpy.ids import check_bucket, check_collection, check_object


def check_names(collection: str, bucket: str | None = None, object: str | None = None) -> None:
    """Raise CommandError, as the server would, for an invalid name; most could not even be sent."""
    check_collection(collection)
    if bucket is not None:
        check_bucket(bucket)
    if object is not None:
        check_object(object)


def check_push(collection: str, bucket: str, object: str, text: str, lang: str | None) -> None:
    """Raise CommandError for whatever is known to be wrong without asking the server."""
    check_names(collection, bucket, object)
    sendable(text)
    meta(LANG=lang)


def push_lines(server: ServerInfo, collection: str, bucket: str, object: str, text: str, lang: str | None) -> list[str]:
    """Return the lines that push a text. Raises as `text_lines`, and CommandError for `lang`."""
    return text_lines(server, f"PUSH {collection} {bucket} {object} ", text, meta(LANG=lang))


def need_no(object: str | None) -> None:
    """Raise ValueError for an object without its bucket."""
    if object is not None:
        raise ValueError(f"the object {object!r} is given without its bucket")


def text_lines(server: ServerInfo, head: str, text: str, tail: str) -> list[str]:
    """Return the lines that send a text, as many as it needs; each begins with `head` and ends with `tail`.

    Raises:
        CommandError: the text is not Unicode.
        TooLong: the names leave no room for text.
    """
    room_bytes = server.buffer_bytes - len(head) - len(tail)
    if room_bytes < SMALLEST_ROOM:
        raise TooLong(
            f"the server accepts lines of at most {server.buffer_bytes} bytes, and the names leave no room for a text"
        )
    try:
        return [f"{head}{piece}{tail}" for piece in quoted_pieces(text, room_bytes)]
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error


def sendable(text: str) -> str:
    """Return a text quoted for a line. Raises CommandError if it is not Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error
    return quoted(text)


def _not_unicode(error: UnicodeEncodeError) -> CommandError:
    return CommandError("invalid_format", f"the text is not Unicode: character {error.start} is a lone surrogate")


def meta(*, LANG: str | None = None, **numbers: int | None) -> str:
    """Return META arguments, each with a space before it, without those that are None.

    Raises:
        CommandError: LANG is not made of ASCII letters.
    """
    if LANG is not None and not (LANG.isascii() and LANG.isalpha()):
        raise CommandError("invalid_meta_value", f"LANG[{LANG}]")
    given = "".join(f" {key}({value:d})" for key, value in numbers.items() if value is not None)
    return given if LANG is None else f"{given} LANG({LANG})"


def path_word(folder: Path | str) -> str:
    """Return a path as one word of a line. Raises CommandError if it holds white space."""
    path = str(folder)
    if not path or any(character.isspace() for character in path):
        raise CommandError("invalid_format", f'"{path}" cannot be sent: a path must be one word, without white space')
    return path


def one_line(server: ServerInfo, line: str) -> str:
    """Return a line that must not be split. Raises TooLong if it is longer than the server accepts."""
    size_bytes = len(line.encode())
    if size_bytes > server.buffer_bytes:
        raise TooLong(f"the line has {size_bytes} bytes; the server ({server}) accepts at most {server.buffer_bytes}")
    return line
