"""Lines of commands, without line ends: valid names, texts cut to fit, META arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonicpy.arguments import is_unicode, language_of, not_unicode, path_of, text_of
from sonicpy.channel.pieces import PIECES_MAX_BYTES
from sonicpy.channel.quoting import SMALLEST_ROOM, pieces_to_join, quoted, quoted_pieces
from sonicpy.client.conversation import ServerInfo
from sonicpy.errors import InvalidArgument, TooLong
from sonicpy.ids import check_bucket, check_collection, check_object, object_name, plain_str, shown
from sonicpy.options import OPTIONS, TAGS, VALUES, written
from sonicpy.search import FacetSearch, Search

NO_WORDS = quoted("\n")
"""The quoted text for a text without words; servers refuse an empty one."""
OPTIONS_BYTES = 64
"""The bytes that a line of PUSH or POP leaves free for options, such as LANG."""


def check_names(collection: Any, bucket: Any = None) -> None:
    """Raise InvalidArgument, with the sentence of a server, if a name of a collection, or of a bucket unless it is
    None, is not valid. Most invalid names could not even be sent."""
    check_collection(collection)
    if bucket is not None:
        check_bucket(bucket)


def object_word(object: Any, *, new: bool = False) -> str:
    """Return the name of an object as one word of a line.

    Args:
        new: whether a text will be added to the object.

    Raises:
        InvalidArgument: the name is not allowed. A server in compat mode, and Sonic, may refuse further names.
    """
    name = object_name(object)
    check_object(name, new=new)
    return name


def check_push(collection: Any, bucket: Any, object: Any, text: Any, lang: Any) -> None:
    """Raise InvalidArgument for an argument that is wrong without any doubt, so that the server need not be asked."""
    check_scope(collection, bucket)
    object_word(object, new=True)
    sendable("text", text)
    language_of(lang)


def check_scope(collection: Any, bucket: Any) -> None:
    """Raise InvalidArgument unless both are names."""
    check_collection(collection)
    check_bucket(bucket)


def scope_words(collection: Any, bucket: Any) -> str:
    """Return the names of a bucket as two words of a line; of a kind of str its letters. Raises InvalidArgument unless
    both are names.
    """
    check_scope(collection, bucket)
    return f"{plain_str(collection)} {plain_str(bucket)}"


def tagging(tags: Any, values: Any) -> dict[str, Any]:
    """Return the options of PUSH and TAG that give an object tags and values. Raises InvalidArgument."""
    return {option.name: option.kind.check(option.name, value) for option, value in ((TAGS, tags), (VALUES, values))}


def push_lines(
    server: ServerInfo,
    collection: str,
    bucket: str,
    object: str,
    text: str | Mapping[str, str],
    options: Mapping[str, Any],
) -> list[str]:
    """Return the lines that push a text, or named texts. A text of only white space gets a line, which creates the
    object.

    Args:
        options: the options of PUSH by name, which each line gets.

    Raises as `text_lines`.
    """
    head, lines = f"PUSH {plain_str(collection)} {plain_str(bucket)} {object} ", []
    for field, part in _by_field(text, options):
        tail = meta("PUSH", field)
        lines += text_lines(server, head, part, tail) or [f"{head}{NO_WORDS}{tail}"]
    return lines


def upsert_lines(
    server: ServerInfo,
    collection: str,
    bucket: str,
    object: str,
    text: str | Mapping[str, str],
    options: Mapping[str, Any],
) -> list[str]:
    """Return the lines that replace the text of an object; all but the last one have the option MORE.

    Args:
        options: the options of UPSERT by name, which each line gets.

    Raises:
        InvalidArgument: the text is not Unicode.
        TooLong: the text is longer than a server keeps, or the names leave no room for it.
    """
    texts = _by_field(text, options)
    try:
        size_bytes = sum(len(part.encode()) for _, part in texts)
    except UnicodeEncodeError as error:
        raise not_unicode("text", error) from error
    if size_bytes > PIECES_MAX_BYTES:
        raise TooLong(f"the text has {size_bytes} bytes; a server keeps {PIECES_MAX_BYTES} bytes of a text at most")
    head = f"UPSERT {plain_str(collection)} {plain_str(bucket)} {object} "
    lines: list[tuple[str, int]] = []
    for field, part in texts:
        tail = meta("UPSERT", field)
        room_bytes = _room(server, head, f"{tail}{meta('UPSERT', {'more': 2})}")
        pieces = [*pieces_to_join(part, room_bytes)] or [(NO_WORDS, False)]
        lines += [(f"{head}{piece}{tail}", 1 if is_blank else 2) for piece, is_blank in pieces]
    mores = [*(more for _, more in lines[:-1]), 0]
    return [f"{line}{meta('UPSERT', {'more': more})}" for (line, _), more in zip(lines, mores, strict=True)]


def _by_field(text: str | Mapping[str, str], options: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """Return each text with the options of its lines, which name its field."""
    if not isinstance(text, Mapping):
        return [(options, text)]
    return [({**options, "field": name} if name else options, part) for name, part in text.items()] or [(options, "")]


def _room(server: ServerInfo, head: str, tail: str) -> int:
    """Return the number of bytes that a line has left for its text between `head` and `tail`. Raises TooLong if they
    are too few."""
    room_bytes = server.buffer_bytes - len(head.encode()) - len(tail.encode())
    if room_bytes < SMALLEST_ROOM:
        raise TooLong(
            f"the server accepts lines of at most {server.buffer_bytes} bytes, and the names leave no room for a text"
        )
    return room_bytes


def text_lines(server: ServerInfo, head: str, text: str, tail: str) -> list[str]:
    """Return the lines that send a text, as many as it needs; each begins with `head` and ends with `tail`. A text is
    cut at the same places for POP as for PUSH with options of at most OPTIONS_BYTES.

    Raises:
        InvalidArgument: the text is not Unicode.
        TooLong: the names leave no room for text.
    """
    room_bytes = _room(server, head, tail)
    spare_bytes = len("PUSH") - len(head.partition(" ")[0]) + max(OPTIONS_BYTES - len(tail.encode()), 0)
    if 2 * (room_bytes - spare_bytes) > server.buffer_bytes:  # else the lines are so short that options fill them
        room_bytes -= spare_bytes
    try:
        return [f"{head}{piece}{tail}" for piece in quoted_pieces(text, room_bytes)]
    except UnicodeEncodeError as error:
        raise not_unicode("text", error) from error


def sendable(argument: str, text: Any) -> str:
    """Return a text quoted for a line. Raises InvalidArgument if it is no str, or not Unicode."""
    given = text_of(argument, text)
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise not_unicode(argument, error) from error
    return quoted(given)


def sendable_query(text: Any) -> str:
    """Return the text of a query quoted for a line. A blank at its end, which ends the last word, becomes a line break,
    because servers drop other white space there. Raises as `sendable`.
    """
    given = sendable("text", text)
    return f'{given[:-1].rstrip()}\\n"' if given[-2].isspace() else given


def meta(verb: str, values: Mapping[str, Any] | Search | FacetSearch, *, is_sonic: bool = False) -> str:
    """Return the META arguments of a command, each with a space before it: LIMIT, and those whose value is not the
    default.

    Args:
        verb: the command, a key of OPTIONS.
        values: option -> value, or a Search, or a FacetSearch.
        is_sonic: whether the server is Sonic, or answers as Sonic does: options without a meaning there are left out.

    Raises:
        InvalidArgument: a value is not Unicode.
    """
    given = values._asdict() if isinstance(values, Search | FacetSearch) else values
    return "".join(
        written(option, given[option.name])
        for option in OPTIONS[verb]
        if option.name in given
        and (option.name == "limit" or given[option.name] != option.default)
        and not (is_sonic and option.is_dropped)
    )


def path_word(folder: Path | str) -> str:
    """Return a path as one word of a line. Raises InvalidArgument if it holds white space."""
    path = path_of("folder", folder)
    if any(character.isspace() for character in path) or not is_unicode(path):
        reason = f"{shown(path)} cannot be sent: a path must be one word of Unicode, without white space"
        raise InvalidArgument(reason, "invalid_format", reason)
    return path


def one_line(server: ServerInfo, line: str) -> str:
    """Return a line that must not be split. Raises TooLong if it is longer than the server accepts."""
    size_bytes = len(line.encode())
    if size_bytes > server.buffer_bytes:
        raise TooLong(f"the line has {size_bytes} bytes; the server ({server}) accepts at most {server.buffer_bytes}")
    return line
