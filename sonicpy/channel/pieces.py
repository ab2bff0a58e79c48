"""The pieces of a text that is longer than a line: pieces from UPSERT with MORE(1) wait here for the last one.

After a piece was refused or dropped, the rest of the text is refused, too, even if another text comes in between: an
object never holds only a part of its text.
"""

import time

from sonicpy.channel.commands import Upsert
from sonicpy.errors import CommandError
from sonicpy.text_names import TEXTS_MAX

PIECES_MAX_BYTES = 16 << 20
"""The most bytes of the pieces that wait in a connection."""
ALL_PIECES_MAX_BYTES = 64 << 20
"""The most bytes of the pieces that wait in all connections of a process."""
IDLE_S = 60.0
"""The longest time in seconds for which pieces wait for the next one."""
REFUSED_MAX = 256
"""The most texts of a connection whose rest is to be refused; beyond it, the oldest one is forgotten."""


class RoomForPieces:
    """The room for the pieces of all connections of a process."""

    def __init__(self) -> None:
        self._bytes = 0

    def take(self, count: int) -> bool:
        """Return whether there is room for `count` more bytes, which is then taken."""
        if self._bytes + count > ALL_PIECES_MAX_BYTES:
            return False
        self._bytes += count
        return True

    def release(self, count: int) -> None:
        """Make room for `count` bytes that were taken before."""
        self._bytes -= count


class Pieces:
    """The pieces of one text that wait in a connection, and the texts whose rest is to be refused."""

    __slots__ = ("_bytes", "_names", "_refused", "_room", "_since", "_texts")

    def __init__(self, room: RoomForPieces) -> None:
        self._room = room
        self._names: tuple[str, ...] = ()
        self._texts: dict[str, bytearray] = {}  # by name, or "": a str for each piece would take ten times a short one
        self._bytes = 0
        self._since = 0.0
        self._refused: dict[tuple[str, ...], str] = {}  # the names of each refused text, and the reason

    @property
    def waits(self) -> bool:
        """Whether pieces wait, or the rest of a text is to be refused."""
        return bool(self._texts or self._refused)

    def take(self, command: Upsert) -> Upsert | None:
        """Return the command with its whole text; None: more pieces of the text have to come.

        Raises:
            CommandError: the text is too long, or a piece of it is lost; pieces of another text wait; or the pieces of
                all connections take too much memory.
        """
        self.expire()
        names = command[:3]
        refused = self._refused.get(names)
        if refused is not None:
            if not command.more:
                del self._refused[names]
            raise _refusal(refused)
        if names != self._names:
            if self._texts:
                if command.more:
                    self._refuse_rest(names, f"a piece of the text of {names[2]} was refused")
                raise _refusal(f"pieces of the text of {self._names[2]} wait for the last one, before {names[2]}")
            if not command.more:
                return command
            self._names = names
        assert not isinstance(command.field, dict)
        name, piece = command.field or "", command.text.encode() + (b" " if command.more == 1 else b"")
        if self._bytes + len(piece) > PIECES_MAX_BYTES:
            self._drop(f"the pieces of the text of {names[2]} have more than {PIECES_MAX_BYTES >> 20} MB")
            return self.take(command)
        if not self._room.take(len(piece)):
            self._drop(f"the pieces of all connections have more than {ALL_PIECES_MAX_BYTES >> 20} MB")
            return self.take(command)
        self._bytes += len(piece)
        text = self._texts.setdefault(name, bytearray())
        if len(self._texts.keys() - {""}) > TEXTS_MAX:
            self._drop(f"the pieces of the text of {names[2]} have more than {TEXTS_MAX} fields")
            return self.take(command)
        text += piece
        self._since = time.monotonic()
        if command.more:
            return None
        texts = {name: some.decode() for name, some in self._texts.items()}
        self._end()
        if texts.keys() == {""}:
            return command._replace(text=texts[""])
        return command._replace(text="", field=texts)

    def refuse(self) -> None:
        """Note that a line with a piece could not be read, so that the rest of its text is refused."""
        if self._texts:
            self._drop(f"a piece of the text of {self._names[2]} was refused")

    def refuse_piece(self, command: Upsert) -> None:
        """Note that a piece before the last one is not allowed, so that the rest of its text is refused."""
        names = command[:3]
        why = f"a piece of the text of {names[2]} was refused"
        if names == self._names:
            self._drop(why)
        else:
            self._refuse_rest(names, why)

    def close(self) -> None:
        """Drop the pieces, because the connection ends."""
        self._end()

    def expire(self) -> None:
        """Drop pieces that have waited for too long."""
        if self._texts and time.monotonic() - self._since > IDLE_S:
            self._drop(f"the pieces of the text of {self._names[2]} have waited for more than {IDLE_S:.0f} seconds")

    def _drop(self, why: str) -> None:
        self._refuse_rest(self._names, why)
        self._end()

    def _refuse_rest(self, names: tuple[str, ...], why: str) -> None:
        if names not in self._refused and len(self._refused) >= REFUSED_MAX:
            del self._refused[next(iter(self._refused))]
        self._refused[names] = f"{why}: send all of it again"

    def _end(self) -> None:
        self._room.release(self._bytes)
        self._names, self._texts, self._bytes = (), {}, 0


def _refusal(sentence: str) -> CommandError:
    return CommandError("policy_reject", sentence)
