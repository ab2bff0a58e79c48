"""The elements of a JSON array, one after the other, without the text or the objects of a whole file in memory.

json.loads takes only whole texts. Its decoder reports the end of a value, so this module buffers text that is not
decoded yet, and reads on while the next value may be cut off. An error that more text cannot mend ends the array.
"""

import json
import re
from collections.abc import Iterator

from sonicpy.cli.importing.csv_records import RECORD_CHARACTERS_MAX
from sonicpy.cli.importing.json_reasons import reason_of

ELEMENT_CHARACTERS_MAX = RECORD_CHARACTERS_MAX
"""The most characters of an element. Without it, a bracket that is not closed would take the rest of the file into
memory."""

_DECODE = json.JSONDecoder().raw_decode
_BLANK = " \t\r\n"
_TOKEN_MAX = len("-Infinity")
"""The most characters of a token that is refused at its beginning while its end is missing; the others are shorter:
`null`, an escape such as `\\u00e9`."""
_UNTERMINATED = "Unterminated string"
"""The beginning of the message of the decoder if a text ends inside a string."""
_CUT_NUMBER = re.compile(r"(?:\.|[eE][+-]?)?\Z")
"""The rest of a text behind the digits of a number that may go on."""
_CUT_DIGITS = re.compile(rf"[0-9]{_CUT_NUMBER.pattern}")


class BrokenArray(ValueError):
    """The text is not one JSON array; the message is the reason, as half a sentence, with its place."""


def elements(parts: Iterator[str]) -> Iterator[object]:
    """Yield the elements of an array, from the parts of a text, which may be cut anywhere.

    Raises:
        BrokenArray: the text is not one JSON array, or an element is nested too deeply or too long; the elements before
            that place have been yielded.
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
        raise text.broken(f"{text.peek()!r} follows the array")


class _Text:
    """The part of the text that was read, and a place in it."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts = parts
        self._read = ""
        self._place = 0
        self._is_whole = False
        """Whether no part is left."""
        self._rows = 0
        """How many values were begun."""
        self._lines = self._column = 0
        """How many lines end before the text that is held, and how many characters of its first line come before it."""

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            while self._place < len(self._read) and self._read[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._read):
                return self._read[self._place]
            if self._is_whole:
                return ""
            self._read_on(1)

    def expect(self, character: str) -> None:
        """Pass over a character. Raises BrokenArray if the next character is another one."""
        found = self.peek()
        if found != character:
            raise self.broken(f"found {found!r} instead of {character!r}" if found else f"it ends before {character!r}")
        self._place += 1

    def value(self) -> object:
        """Return the next value, and pass over it. Raises BrokenArray if it is not JSON, or too long."""
        self._rows += 1
        self.peek()
        while True:
            try:
                value, end = _DECODE(self._read, self._place)
            except (ValueError, RecursionError) as error:
                if self._is_whole or not _may_be_cut(error, self._read):
                    raise self._refusal(error) from error
            else:
                if self._is_whole or type(value) not in (int, float) or not _CUT_NUMBER.match(self._read, end):
                    self._check_size(end - self._place)
                    self._place = end
                    return value
            held = len(self._read) - self._place
            self._check_size(held)
            # The next attempt begins at the start of the value, so it has twice as much text.
            self._read_on(min(held, ELEMENT_CHARACTERS_MAX + 1 - held))

    def broken(self, reason: str, place: int | None = None) -> BrokenArray:
        """Return an error with its line and column in the whole text.

        Args:
            reason: the reason, as half a sentence.
            place: the place in the text that is held; None: the present one.
        """
        at = self._place if place is None else place
        ends = self._read.count("\n", 0, at)
        column = at - self._read.rfind("\n", 0, at) if ends else self._column + at + 1
        return BrokenArray(f"{reason}: line {self._lines + ends + 1} column {column}")

    def _refusal(self, error: ValueError | RecursionError) -> BrokenArray:
        if isinstance(error, json.JSONDecodeError):
            return self._of_row(error.msg, error.pos)
        return self._of_row(reason_of(error))

    def _of_row(self, reason: str, place: int | None = None) -> BrokenArray:
        return BrokenArray(f"{self.broken(reason, place)} (row {self._rows})")

    def _check_size(self, characters: int) -> None:
        if characters > ELEMENT_CHARACTERS_MAX:
            raise self._of_row(f"it has more than {ELEMENT_CHARACTERS_MAX} characters")

    def _read_on(self, characters: int) -> None:
        """Read at least `characters` more, fewer only at the end, and let go of those before the place."""
        passed = self._read[: self._place]
        self._column = self._column + len(passed) if "\n" not in passed else len(passed) - passed.rfind("\n") - 1
        self._lines += passed.count("\n")
        parts = [self._read[self._place :]]
        for part in self._parts:
            parts.append(part)
            characters -= len(part)
            if characters <= 0:
                break
        else:
            self._is_whole = True
        self._read = "".join(parts)
        self._place = 0


def _may_be_cut(error: ValueError | RecursionError, text: str) -> bool:
    """Return whether the decoder may have refused a value only because its text ends too early."""
    if isinstance(error, json.JSONDecodeError):
        return len(text) - error.pos < _TOKEN_MAX or error.msg.startswith(_UNTERMINATED)
    # A whole number of too many digits may be the beginning of another one.
    return isinstance(error, ValueError) and _CUT_DIGITS.search(text, max(len(text) - 3, 0)) is not None
