"""Session: the state machine of one connection, from the banner to the last line. Bytes go in, replies come out.

    before START --START accepted--> in its mode --QUIT, overflow, end of input--> ended
         |                                                                           ^
         '------START refused or not in time, overflow, end of input-----------------'

Each call of `next` reads one line, in order; the session buffers the rest. It executes nothing: if the line alone is
not enough for an answer, `next` returns a Command, and the caller writes the reply before it asks for the next line.
"""

import hmac
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

from sonicpy._native.plain import PlainReader
from sonicpy._native.quoting import split_head, take_words
from sonicpy.channel import replies
from sonicpy.channel.commands import Actions, Command, Help, Mode, Ping, Quit, SessionCommand, Upsert
from sonicpy.channel.line_buffer import LineBuffer
from sonicpy.channel.pieces import Pieces, RoomForPieces
from sonicpy.channel.syntax import (
    ACTIONS,
    COMMANDS_OF_MODE,
    SONIC_COMMANDS_OF_MODE,
    Limits,
    LineRules,
    Syntax,
    additions,
    parse,
    plain_reader,
)
from sonicpy.errors import CommandError, SessionEnded, ShuttingDown
from sonicpy.langcodes import LANG_CODES, SONIC_LANG_CODES
from sonicpy.option_kinds import Languages

MANUAL = "commands"
"""The only manual that the reply to `HELP` names, because clients compare that line."""
ADDITIONS = "additions"
"""The name of the manual of commands and options that Sonic lacks, in the default mode."""
WRONG_PASSWORD = "authentication_failed"
Admit = Callable[[bytes], Any]
"""A function that returns the permit of a secret that is not the password, or None. Raises SessionEnded."""
CheckPiece = Callable[[Upsert], object]
"""A function that raises CommandError if a piece of a text is not allowed."""
NOTHING_PLAIN = PlainReader([])
"""The reader before START, when no line is plain."""


class Session:
    """The state of one connection.

    Args:
        version: the server's version, for the banner.
        password: the password that START must have; None: no password is needed.
        limits: the defaults and maxima of LIMIT.
        compat: accept only the commands, and only the values of LANG, that Sonic has.
        admit: accepts secrets other than the password; None: there are none.
        room: the room for pieces of texts, which sessions share; None: the session has its own.
    """

    __slots__ = (
        "_admit_secret",
        "_commands",
        "_lines",
        "_password",
        "_pieces",
        "_plain",
        "_room",
        "_rules",
        "_syntaxes",
        "_version",
        "check_piece",
        "ended",
        "feed",
        "is_drained",
        "lines_handled",
        "mode",
        "permit",
        "shutting_down",
        "wrong_password",
    )

    def __init__(
        self,
        version: str,
        password: str | None,
        limits: Limits,
        compat: bool,
        admit: Admit | None = None,
        room: RoomForPieces | None = None,
    ) -> None:
        self.ended = False
        """Whether the connection must close once all replies have been sent."""
        self.mode: Mode | None = None
        """The mode of the session; None: before START."""
        self.lines_handled = 0
        """The number of lines since START, including blank and refused ones, but not INFO."""
        self.shutting_down = False
        """Whether the server stops, which sets this; the session then refuses every line except QUIT."""
        self.permit: Any = None
        """The permit of the secret that START had; None: everything is allowed."""
        self.check_piece: CheckPiece | None = None
        """The check of each piece of a text before the last one, because the caller never gets it as a command; None:
        every piece is allowed."""
        self.wrong_password = False
        """Whether START had a wrong password, which ended the session."""
        self._version = version
        self._admit_secret = admit
        self._password = None if password is None else password.encode(errors="surrogateescape")
        languages = Languages(SONIC_LANG_CODES if compat else LANG_CODES, has_tags=not compat)
        self._rules = LineRules(limits, languages)
        self._commands = SONIC_COMMANDS_OF_MODE if compat else COMMANDS_OF_MODE
        self._lines = LineBuffer()
        self._room = room
        self._pieces: Pieces | None = None
        self._plain = NOTHING_PLAIN
        self._syntaxes: Mapping[str, Syntax] = {}
        # Attributes, not methods that call them: one around `feed` adds 3 % to the instructions of reading a line.
        self.feed = self._lines.feed
        """`LineBuffer.feed`: appends bytes that arrived; after the end they are dropped."""
        self.is_drained = self._lines.is_drained
        """`LineBuffer.is_drained`: returns whether `next` has read everything that arrived."""

    def greeting(self) -> bytes:
        """Return the banner, to be sent before reading anything."""
        return replies.connected(self._version)

    def next(self) -> bytes | Command | None:
        """Read one line.

        Returns:
            None: there is no whole line, or the session has ended.
            bytes: the reply; a blank line has an empty one.
            Command: the command, which the caller has to execute and answer.
        """
        step: bytes | Command | None = self._lines.take_command(self._plain)
        if step is None:
            return self._read_line()
        self.lines_handled += 1
        return _REFUSED_AT_SHUTDOWN if self.shutting_down else step

    def _read_line(self) -> bytes | Command | None:
        """Read a line that is not plain, and may break a rule; return the command, a reply, or None if no whole line
        has arrived.
        """
        line = self._lines.take_line()
        if line is None:
            return self._overflow() if self._lines.overflowed and not self.ended else None
        try:
            return self._start(line) if self.mode is None else self._handle(line)
        except SessionEnded as end:
            self._end()
            return replies.error(end)
        except (CommandError, ShuttingDown) as refusal:
            return replies.error(refusal)

    def take_rest(self) -> bytes | None:
        """Remove and return the bytes that `next` has not read; None: a line is too long, and some bytes are lost."""
        return self._lines.take_rest()

    def resume(self, mode: Mode, rest: bytes) -> None:
        """Continue where the session of another process stopped right after START.

        Args:
            mode: the argument of START.
            rest: the result of `take_rest` of that session.
        """
        self._enter(mode)
        self.feed(rest)

    def end_of_input(self) -> bytes:
        """End the session because the client sends no more; return the last line to send.

        Call it after `next` has returned None, so that every whole line has its reply. An unfinished line is dropped.
        """
        farewell = self._before_start("closed")
        self._end()
        return farewell

    def start_timed_out(self) -> bytes:
        """End the session if START has not arrived; return the last line for the client."""
        farewell = self._before_start("unknown")
        if farewell:
            self._end()
        return farewell

    def _overflow(self) -> bytes:
        farewell = self._before_start("not_recognized")
        self._end()
        return farewell

    def _before_start(self, reason: str) -> bytes:
        # After START the end has no line: the client would take it for the reply to its last command.
        return b"" if self.ended or self.mode is not None else replies.ended(reason)

    def _end(self) -> None:
        self.ended = True
        self._lines.close()
        self.drop_pieces()

    def _start(self, line: bytes) -> bytes:
        mode = self._admit(line)
        self._enter(mode)
        return replies.started(mode)

    def _enter(self, mode: Mode) -> None:
        self.mode = mode
        self._syntaxes = self._commands[mode]
        self._plain = self._own_plain()

    def _admit(self, line: bytes) -> Mode:
        try:
            word, offset = split_head(line)
        except UnicodeDecodeError:
            raise SessionEnded("not_recognized") from None
        if word.upper() != "START":
            raise SessionEnded("not_recognized")
        words, _ = take_words(line, offset, 2)
        if not words or words[0] not in COMMANDS_OF_MODE:
            raise SessionEnded("invalid_mode")
        if len(words) == 1:
            if self._password is not None:
                raise SessionEnded("authentication_required")
        elif self._password is None or not hmac.compare_digest(words[1].encode(), self._password):
            self.permit = None if self._admit_secret is None else self._admit_secret(words[1].encode())
            if self.permit is None and self._password is not None:
                self.wrong_password = True
                raise SessionEnded(WRONG_PASSWORD)
        return Mode(words[0])

    def _handle(self, line: bytes) -> bytes | Command:
        self.lines_handled += 1
        if self.shutting_down:
            raise SessionEnded("quit") if line.strip().upper() == b"QUIT" else ShuttingDown
        try:
            word, offset = split_head(line)
        except UnicodeDecodeError:
            raise CommandError("invalid_format", "line is not UTF-8") from None
        syntax = self._syntaxes.get(word)
        if syntax is None:
            if not word:
                return replies.NO_REPLY
            syntax = self._syntaxes.get(word.upper())
            if syntax is None:
                raise CommandError("unknown_command")
        command = self._parse(syntax, line, offset)
        answer = _ANSWERS.get(type(command))
        return cast(Command, command) if answer is None else answer(self, command)

    def _parse(self, syntax: Syntax, line: bytes, offset: int) -> Command | SessionCommand:
        try:
            return parse(syntax, line, offset, self._rules)
        except (CommandError, UnicodeDecodeError):
            if self._pieces is not None and syntax.name == "UPSERT":
                self._pieces.refuse()
            raise

    def _own_plain(self) -> PlainReader:
        assert self.mode is not None
        return _plain_reader(self.mode, self._rules, self._commands is SONIC_COMMANDS_OF_MODE)

    def _upsert(self, command: Upsert) -> bytes | Command:
        """Keep a piece of a text, or return the command with its whole text."""
        if self._pieces is None:
            if not command.more:
                return command
            self._pieces = Pieces(RoomForPieces() if self._room is None else self._room)
        try:
            if command.more:
                self._check_piece(self._pieces, command)
            whole = self._pieces.take(command)
        finally:
            # Plain lines pass by this method, so none is plain while pieces wait.
            self._plain = NOTHING_PLAIN if self._pieces.waits else self._own_plain()
        return replies.OK if whole is None else whole

    def _check_piece(self, pieces: Pieces, command: Upsert) -> None:
        if self.check_piece is None:
            return
        try:
            self.check_piece(command)
        except CommandError:
            pieces.refuse_piece(command)
            raise

    def drop_pieces(self) -> None:
        """Drop the pieces of a text, because the connection is lost."""
        if self._pieces is not None:
            self._pieces.close()

    def expire(self) -> None:
        """Drop the pieces of a text that have waited for too long; call this now and then."""
        if self._pieces is not None:
            self._pieces.expire()

    def _pong(self, command: Ping) -> bytes:
        return replies.PONG

    def _quit(self, command: Quit) -> bytes:
        raise SessionEnded("quit")

    def _help(self, command: Help) -> bytes:
        assert self.mode is not None
        if command.manual is None:
            return replies.listing("manuals", [MANUAL])
        if command.manual == MANUAL:
            return replies.listing(MANUAL, SONIC_COMMANDS_OF_MODE[self.mode])
        if command.manual == ADDITIONS and self._commands is COMMANDS_OF_MODE:
            return replies.listing(ADDITIONS, additions(self.mode))
        raise CommandError("not_found")

    def _actions(self, command: Actions) -> bytes:
        return replies.listing("actions", ACTIONS)


_REFUSED_AT_SHUTDOWN = replies.error(ShuttingDown())


@lru_cache(maxsize=16)
def _plain_reader(mode: Mode, rules: LineRules, compat: bool) -> PlainReader:
    # All connections of a server in a mode share one.
    rows = (SONIC_COMMANDS_OF_MODE if compat else COMMANDS_OF_MODE)[mode]
    return plain_reader(rows.values(), rules, {"PING": replies.PONG})


# One look-up by type: a match statement would test each of these before a PUSH passes (0.2 us).
_ANSWERS: dict[type, Callable[[Session, Any], bytes | Command]] = {
    Ping: Session._pong,
    Quit: Session._quit,
    Help: Session._help,
    Actions: Session._actions,
    Upsert: Session._upsert,
}
