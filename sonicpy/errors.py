"""The exceptions that callers of sonicpy handle, with the party that must act. Other modules define subclasses of them,
and exceptions that do not leave sonicpy.

SonicError
  ConfigError        the operator: a setting is wrong (exit status 2)
  CommandError       the client: one command is refused, `ERR <code>`; the session goes on
    InvalidArgument  the program: an argument has a type or a value that is not allowed; also ValueError and TypeError
  SessionEnded       the client: the connection closes, `ENDED <reason>`
  ShuttingDown       the client: come back later, `ERR shutting_down`
  GraphError         the operator: a word graph cannot be built or read; it will be rebuilt from the store
  StoreError         the operator: the store cannot be opened, read or written
    StoreLocked      another process writes this folder
    StoreDamaged     bytes on disk are damaged
    StoreFull        no room to write; reads go on
    ReadOnly         the program: a change of an index that was opened for reading
    IndexClosed      the program: an Index is used after it was closed, or in a forked process
  EvaluationError    the operator: nothing to evaluate, or a file of judgements cannot be read
  LoadError          the operator: a test set cannot be read, or the runner of a load cannot listen
  WorkerError        the operator: worker processes cannot do their job; it is tried again later
  ClientError        the program that calls a server: no answer, or the server does not offer the call
    ConnectionLost   no connection, or it ended before the answer came
    TimedOut         no answer in time
    WrongPassword    the password is missing or wrong
    NotOffered       this server does not have the command or option
    NotSonic         the program at that address does not speak Sonic Channel, or its certificate is not trusted
    TooLong          a query or a word is longer than the lines that the server accepts
"""

import re

_NO_SENTENCE = r"[A-Z]+\[|\S*\Z"
"""Matches the beginning of a detail that is no sentence, such as `LIMIT[x]` or `InvalidBucket`."""
SENTENCES = frozenset({"invalid_argument", "invalid_meta_value", "not_permitted"})
"""Codes whose details are sentences, unless they are one word."""
FAILED = "internal_error"
"""The code of a command with which the server failed, such as a push that a full disk does not take."""


class SonicError(Exception):
    """Base of all errors of this package."""


class ConfigError(SonicError):
    """A setting is wrong. The message is one sentence: place, key, value found, values allowed."""


class CommandError(SonicError):
    """A command is refused.

    Args:
        code: the wire code, for example `invalid_format`.
        detail: the text in brackets behind the code, or None for a bare code.
    """

    def __init__(self, code: str, detail: str | None = None) -> None:
        super().__init__(code if detail is None else f"{code}({detail})")
        self.code = code
        self.detail = detail

    def __reduce__(self) -> tuple[type["CommandError"], tuple[str, str | None]]:
        return type(self), (self.code, self.detail)


def sentence_of(error: SonicError) -> str:
    """Return the sentence of an error, without the code that a server puts around it on the channel."""
    if isinstance(error, CommandError) and str(error).startswith(f"{error.code}("):
        detail = error.detail or ""
        if error.code in SENTENCES and not re.match(_NO_SENTENCE, detail):
            return detail
    return str(error)


class InvalidArgument(CommandError, ValueError, TypeError):
    """A wrong type or value of an argument. The message names the argument, its value, and allowed values.

    It is a ValueError and a TypeError too, so that code which expects either catches it.

    Args:
        message: the sentence for the user.
        code, detail: the server's reply to such an argument.
    """

    def __init__(self, message: str, code: str = "invalid_argument", detail: str | None = None) -> None:
        super().__init__(code, detail)
        self.args = (message,)

    def __reduce__(self) -> tuple[type["InvalidArgument"], tuple[str, str, str | None]]:  # type: ignore[override]
        return type(self), (str(self), self.code, self.detail)


class SessionEnded(SonicError):
    """The connection closes with `ENDED <reason>`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ShuttingDown(SonicError):
    """The server is stopping and takes no further command."""


class GraphError(SonicError):
    """A word graph cannot be built or read. Its content is also in the store, so that it can be rebuilt."""


class StoreError(SonicError):
    """The store cannot be opened, read or written; the message contains advice."""


class StoreLocked(StoreError):
    """Another process has this store open for writing."""


class StoreDamaged(StoreError):
    """Bytes on disk differ from the written ones."""


class StoreFull(StoreError):
    """There is no room left to write. Reads go on; writes are refused until a commit succeeds."""


class ReadOnly(StoreError):
    """A change is refused: the index was opened for reading only."""


class IndexClosed(StoreError):
    """An Index is used after it was closed, or in a process that did not open it."""


class LoadError(SonicError):
    """A test set cannot be read, or runner and agents cannot talk to each other."""


class WorkerError(SonicError):
    """Worker processes died on a job."""


class EvaluationError(SonicError):
    """The input of an evaluation cannot be read, or the package that evaluates it is missing."""


class ClientError(SonicError):
    """A server gave no answer, or does not offer the call; a refusal by the server is a CommandError."""


class ConnectionLost(ClientError, ConnectionError):
    """There is no connection, or it ended before the answer came.

    Args:
        message: the event, and the server.
        was_sent: whether the command may have reached the server, so that it is unknown whether it was carried out.
    """

    def __init__(self, message: str, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent

    def __reduce__(self) -> tuple[type["ConnectionLost"], tuple[str, bool]]:
        return type(self), (str(self), self.was_sent)


class TimedOut(ClientError, TimeoutError):
    """The server did not answer in time; whether the command was carried out is not known."""


class WrongPassword(ClientError):
    """The password that the server requires is missing or wrong."""


class NotOffered(ClientError):
    """This server does not have the command or option; another kind or version of server may.

    Args:
        what: the command, or the option with its command.
        server: the name and version in the server's greeting.
        why: a possible reason, for the message.
    """

    def __init__(self, what: str, server: str, why: str = "") -> None:
        super().__init__(f"{what} is not offered by this server ({server}){why and ': '}{why}")
        self.what = what
        self.server = server
        self._why = why

    def __reduce__(self) -> tuple[type["NotOffered"], tuple[str, str, str]]:
        return type(self), (self.what, self.server, self._why)


class NotSonic(ClientError):
    """The program at that address does not speak Sonic Channel, or its certificate is not trusted."""


class TooLong(ClientError):
    """A query or a word is longer than the lines that the server accepts; only texts can be split into lines."""
