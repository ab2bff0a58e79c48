"""Writes text between the quotes of a line, and cuts a text that is too long for one line into pieces that fit.

A quoted text keeps its words, but is not always read as the same text: runs of white space become one blank,
and since Sonic 1.9 a doubled backslash stays doubled.
"""

import unicodedata
from collections.abc import Iterator

from sonicpy._native.digest import normal_text

_JOINER = "\u200d"
"""The character that joins two others, as in emoji of several people."""

SMALLEST_ROOM = 64
"""The number of bytes that suffice for any character, escaped and between quotes."""


def quoted(text: str) -> str:
    """Return `text` in quotes, escaped; a blank text becomes a line feed, because servers refuse an empty one."""
    return f'"{escaped(text)}"' if text and not text.isspace() else '"\\n"'


def escaped(text: str) -> str:
    """Return `text` without raw line breaks, quotes and single backslashes."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n")


def as_meant(text: str) -> str:
    """Return a text, in which servers left each escaped backslash doubled, with single ones."""
    return text.replace("\\\\", "\\") if "\\" in text else text


def quoted_pieces(text: str, room_bytes: int) -> Iterator[str]:
    """Yield `text` in pieces, each escaped and in quotes, of at most `room_bytes` bytes in UTF-8.

    A piece ends at white space; without white space, after punctuation; without either, between two characters.

    Raises:
        UnicodeEncodeError: the text holds a lone surrogate.
    """
    inner_bytes = room_bytes - 2
    if _size(text, 0, len(text)) <= inner_bytes:
        yield quoted(text)
        return
    for piece in _cut(text, inner_bytes):
        if not piece.isspace():
            yield quoted(piece)


def pieces_to_join(text: str, room_bytes: int) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text, with one blank for each run of white space, and whether a blank follows each.

    Arguments and errors as in `quoted_pieces`.
    """
    start, text = 0, normal_text(text)
    for piece in _cut(text, room_bytes - 2):
        start += len(piece)
        yield quoted(piece), piece.endswith(" ") or text[start : start + 1] == " "


def cut(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of at most `most` characters, which end as those of `quoted_pieces`."""
    start = 0
    while len(text) - start > most:
        end = _border(text, start, start + most)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut(text: str, inner_bytes: int) -> Iterator[str]:
    """Yield a text in pieces that take at most `inner_bytes` bytes in UTF-8 once escaped."""
    start = 0
    while start < len(text):
        end = _fitting(text, start, inner_bytes)
        if end < len(text):
            end = _border(text, start, end)
        yield text[start:end]
        start = end


def _size(text: str, start: int, end: int) -> int:
    return len(escaped(text[start:end]).encode())


def _fitting(text: str, start: int, inner_bytes: int) -> int:
    """Return the last place where a piece from `start` on of at most `inner_bytes` bytes, escaped, may end; it has at
    least one character."""
    fits, too_far = start + 1, min(len(text), start + inner_bytes) + 1
    while too_far - fits > 1:
        middle = (fits + too_far) // 2
        if _size(text, start, middle) <= inner_bytes:
            fits = middle
        else:
            too_far = middle
    return fits


def _border(text: str, start: int, end: int) -> int:
    """Return the best place to end a piece that begins at `start`: `end`, or a place before it, at white space,
    punctuation or between characters."""
    if text[end].isspace():
        return end
    for place in range(end, start, -1):
        if text[place - 1].isspace():
            return place
    for place in range(end, start, -1):
        if unicodedata.category(text[place - 1])[0] == "P":
            return place
    place = end
    while place > start + 1 and _belong_together(text[place - 1], text[place]):
        place -= 1
    return place if place > start + 1 else end


def _belong_together(before: str, after: str) -> bool:
    return unicodedata.category(after)[0] == "M" or _JOINER in (before, after)
