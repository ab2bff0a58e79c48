"""How a protocol line is cut, spelled out on strings: the judge of sonicpy._native.channel."""

import re

WHITE_SPACE = (
    *range(0x09, 0x0E),
    0x20,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)
"""Unicode's White_Space, one by one: str.split() would also cut at U+001C to U+001F."""

_RUN = re.compile("[" + "".join(map(chr, WHITE_SPACE)) + "]+")


def words_of(line: str) -> list[str]:
    """Return the words between runs of white space."""
    return [word for word in _RUN.split(line) if word]


def quoted_text(parts: list[str]) -> tuple[str | None, list[str]]:
    """Return the text that `parts` begin with, or None if it is malformed or empty; and the parts behind it."""
    taken = 0
    while taken < len(parts):
        taken += 1
        last = parts[taken - 1]
        if last.endswith('"') and len(" ".join(parts[:taken])) > 1 and _backslashes_before_last(last) % 2 == 0:
            break
    raw = " ".join(parts[:taken])
    if len(raw) < 2 or not raw.startswith('"') or not raw.endswith('"'):
        return None, parts[taken:]
    return unescape(raw[1:-1].strip(" ")) or None, parts[taken:]


def _backslashes_before_last(part: str) -> int:
    before = part[:-1]
    return len(before) - len(before.rstrip("\\"))


def unescape(text: str) -> str:
    r"""Return `text` with \n and \" replaced and \r dropped, left to right; any other backslash pair stays."""
    replacements = {r"\n": "\n", r"\"": '"', r"\r": ""}
    return re.sub(r"\\.", lambda pair: replacements.get(pair[0], pair[0]), text, flags=re.DOTALL)
