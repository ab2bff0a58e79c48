"""The elements of a JSON array, one after the other, without the objects of a whole file in memory.

json.loads takes only whole texts. Its decoder reports the end of a value, so this module buffers text that is not
decoded yet, and reads on while the next value is incomplete. An array on one line is one text in memory.
"""

import json
from collections.abc import Iterator

_DECODE = json.JSONDecoder().raw_decode
_BLANK = " \t\r\n"


def elements(parts: Iterator[str]) -> Iterator[object]:
    """Yield the elements of an array, from the parts of a text; the first part begins with "[" or white space.

    Raises:
        ValueError: the text is not one JSON array; the elements before that place have been yielded.
        RecursionError: an element is nested too deeply.
    """
    text = _Text(parts)
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
    else:
        yield text.value()
        while text.peek() == ",":
            text.expect(",")
            yield text.value()
        text.expect("]")
    if text.peek():
        raise ValueError(f"{text.peek()!r} follows the array")


class _Text:
    """The part of the text that was read, and a place in it."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts = parts
        self._read = ""
        self._place = 0

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            while self._place < len(self._read) and self._read[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._read):
                return self._read[self._place]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Pass over a character. Raises ValueError if the next character is another one."""
        found = self.peek()
        if found != character:
            raise ValueError(f"found {found!r} instead of {character!r}" if found else f"it ends before {character!r}")
        self._place += 1

    def value(self) -> object:
        """Return the next value, and pass over it. Raises ValueError if it is not JSON."""
        self.peek()
        wanted = 1
        while True:
            try:
                value, end = _DECODE(self._read, self._place)
            except ValueError:
                # An element of many lines: read twice as many before the next attempt, which begins at its start.
                if not sum(self._more() for _ in range(wanted)):
                    raise
                wanted *= 2
                continue
            self._place = end
            return value

    def _more(self) -> bool:
        part = next(self._parts, "")
        self._read = self._read[self._place :] + part
        self._place = 0
        return bool(part)
