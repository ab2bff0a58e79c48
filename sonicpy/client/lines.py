"""Lines of commands: names that are valid, texts that fit, META arguments; without their ends."""

from pathlib import Path

from sonicpy.channel.quoting import SMALLEST_ROOM, quoted, quoted_pieces
from sonicpy.client.conversation import ServerInfo
from sonicpy.errors import CommandError, TooLong
from sonicpy.ids import check_bucket, check_collection, check_object


def check_names(collection: str, bucket: str | None = None, object: str | None = None) -> None:
    """Raise CommandError as the server would; a name that is not valid could not even be sent."""
    check_collection(collection)
    if bucket is not None:
        check_bucket(bucket)
    if object is not None:
        check_object(object)


def check_push(collection: str, bucket: str, object: str, text: str, lang: str | None) -> None:
    """Raise CommandError for whatever can be refused without asking the server."""
    check_names(collection, bucket, object)
    sendable(text)
    meta(LANG=lang)


def push_lines(facts: ServerInfo, collection: str, bucket: str, object: str, text: str, lang: str | None) -> list[str]:
    """Return the lines that push a text. Raises CommandError: the text is not Unicode."""
    return text_lines(facts, f"PUSH {collection} {bucket} {object} ", text, meta(LANG=lang))


def need_no(object: str | None) -> None:
    """Raise ValueError for an object that is given without its bucket."""
    if object is not None:
        raise ValueError(f"the object {object!r} is given without its bucket")


def text_lines(facts: ServerInfo, head: str, text: str, tail: str) -> list[str]:
    """Return as many lines as a text needs, all with the same words before and behind it.

    Raises:
        CommandError: the text is not Unicode.
        TooLong: the names leave no room.
    """
    room_bytes = facts.buffer_bytes - len(head) - len(tail)
    if room_bytes < SMALLEST_ROOM:
        raise TooLong(f"the server takes lines of {facts.buffer_bytes} bytes, in which there is no room for a text")
    try:
        return [f"{head}{piece}{tail}" for piece in quoted_pieces(text, room_bytes)]
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error


def sendable(text: str) -> str:
    """Return a text in quotes, of one line. Raises CommandError: it is not Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error
    return quoted(text)


def _not_unicode(error: UnicodeEncodeError) -> CommandError:
    return CommandError("invalid_format", f"the text is not Unicode: character {error.start} is a lone surrogate")


def meta(*, LANG: str | None = None, **numbers: int | None) -> str:
    """Return META arguments, each with a blank before it; None: not this one. Raises CommandError for a language."""
    if LANG is not None and not (LANG.isascii() and LANG.isalpha()):
        raise CommandError("invalid_meta_value", f"LANG[{LANG}]")
    given = "".join(f" {key}({value:d})" for key, value in numbers.items() if value is not None)
    return given if LANG is None else f"{given} LANG({LANG})"


def path_word(folder: Path | str) -> str:
    """Return a path as a word of a line. Raises CommandError: it has white space."""
    path = str(folder)
    if not path or any(character.isspace() for character in path):
        raise CommandError("invalid_format", f'"{path}" cannot be sent: a path must be one word, without white space')
    return path


def one_line(facts: ServerInfo, line: str) -> str:
    """Return a line that cannot be cut. Raises TooLong: the server does not take it."""
    size_bytes = len(line.encode())
    if size_bytes > facts.buffer_bytes:
        raise TooLong(f"the line has {size_bytes} bytes; the server ({facts}) takes {facts.buffer_bytes}")
    return line
