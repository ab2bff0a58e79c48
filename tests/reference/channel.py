"""Lines, quoted texts and replies of the channel, spelled out: the reference implementation of the native parsers and
encoders.
"""

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
"""The characters with Unicode's property White_Space; str.split() would also split at U+001C to U+001F."""

_RUN = re.compile("[" + "".join(map(chr, WHITE_SPACE)) + "]+")


def words_of(line: str) -> list[str]:
    """Return the words between runs of white space."""
    return [word for word in _RUN.split(line) if word]


def quoted_text(parts: list[str]) -> tuple[str | None, list[str]]:
    """Return the quoted text at the start of `parts`, or None if it is malformed or empty, and the parts after it."""
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
    r"""Return `text` with \n and \" replaced and \r removed, from left to right; other backslash pairs stay."""
    replacements = {r"\n": "\n", r"\"": '"', r"\r": ""}
    return re.sub(r"\\.", lambda pair: replacements.get(pair[0], pair[0]), text, flags=re.DOTALL)


class SlowLines:
    """A line reader that keeps all bytes that it has ever received."""

    def __init__(self, longest: int) -> None:
        self.overflowed = False
        self._longest = longest
        self._arrived = b""

    def feed(self, data: bytes) -> None:
        """Append bytes."""
        self._arrived += data

    @property
    def is_empty(self) -> bool:
        """Whether every received byte was taken."""
        return not self._arrived

    def take_line(self) -> bytes | None:
        """Return the next whole line, or None if there is none or it is too long."""
        line, end, rest = self._arrived.partition(b"\n")
        if self.overflowed or len(line.removesuffix(b"\r")) > self._longest:
            self.overflowed = True
            return None
        if not end:
            return None
        self._arrived = rest
        return line


def is_name(name: object) -> bool:
    """Return whether an object is a valid name."""
    return (
        isinstance(name, str) and re.fullmatch(r"[^ \t\n\v\f\r]{1,128}", name, re.ASCII) is not None and name.isascii()
    )


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def marker(bits: int) -> str:
    """Return one letter for each of eight bytes, the lowest byte first."""
    return "".join(LETTERS[byte % 62] for byte in bits.to_bytes(8, "little"))


def event(kind: str, items: list[str], bits: int) -> bytes:
    """Return PENDING and its EVENT."""
    return f"PENDING {marker(bits)}\r\nEVENT {kind} {marker(bits)} {' '.join(items)}\r\n".encode()
