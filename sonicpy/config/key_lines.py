"""Finds the line of each key in a settings file, which tomllib does not return.

The text must be valid TOML, which tomllib has checked before. So this file only walks from key to key; it skips values,
and looks neither into strings nor into comments.
"""

import re
import tomllib

KeyPath = tuple[str, ...]

QUOTED = r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'"
PART = rf"(?:[A-Za-z0-9_-]+|{QUOTED})"
KEY = rf"{PART}(?:[ \t]*\.[ \t]*{PART})*"
# A string in three quotes may end with one or two more quotes, which belong to it.
TEXT = r'"""(?:\\[\s\S]|[^\\])*?"{3,5}|' rf"'''[\s\S]*?'{{3,5}}|{QUOTED}"

BLANKS = re.compile(r"(?:\s|#[^\n]*)*")
HEADER = re.compile(rf"\[{{1,2}}[ \t]*({KEY})[ \t]*\]{{1,2}}")
PAIR = re.compile(rf"({KEY})[ \t]*=[ \t]*")
SINGLE = re.compile(rf"{TEXT}|[^,\]}}#\n]+")


def lines_of(text: str) -> dict[KeyPath, int]:
    """Return the line of every key and section header of a valid TOML text, except keys inside arrays."""
    offsets: dict[KeyPath, int] = {}
    section: KeyPath = ()
    position = _skip_blanks(text, 0)
    while position < len(text):
        if header := HEADER.match(text, position):
            section = _path(header[1])
            # Of several [[section]], the first gives the line.
            offsets.setdefault(section, position)
            position = header.end()
        else:
            position = _take_pair(text, position, section, offsets)
        position = _skip_blanks(text, position)
    return {path: text.count("\n", 0, offset) + 1 for path, offset in offsets.items()}


def _take_pair(text: str, position: int, section: KeyPath, offsets: dict[KeyPath, int]) -> int:
    pair = PAIR.match(text, position)
    assert pair is not None, f"no key at offset {position} of a text that tomllib accepted"
    path = section + _path(pair[1])
    offsets.setdefault(path, position)
    return _skip_value(text, pair.end(), path, offsets)


def _skip_value(text: str, position: int, path: KeyPath, offsets: dict[KeyPath, int]) -> int:
    if text[position] not in "{[":
        single = SINGLE.match(text, position)
        assert single is not None, f"no value at offset {position} of a text that tomllib accepted"
        return single.end()
    is_table = text[position] == "{"
    position = _skip_blanks(text, position + 1)
    while text[position] not in "}]":
        position = _take_pair(text, position, path, offsets) if is_table else _skip_value(text, position, path, {})
        position = _skip_blanks(text, position)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
    return position + 1


def _skip_blanks(text: str, position: int) -> int:
    blanks = BLANKS.match(text, position)
    return position if blanks is None else blanks.end()


def _path(key: str) -> KeyPath:
    path = []
    table: object = tomllib.loads(f"{key} = 0")
    while isinstance(table, dict):
        ((name, table),) = table.items()
        path.append(name)
    return tuple(path)
