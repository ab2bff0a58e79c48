"""Every exception sonicpy raises, sorted by who must act.

    SonicError
      ConfigError        the operator: a setting is wrong (exit status 2)
      CommandError       the client: one command is refused, `ERR <code>`; the session goes on
      SessionEnded       the client: the connection closes, `ENDED <reason>`
      ShuttingDown       the client: come back later, `ERR shutting_down`
      GraphError         the operator: a word graph cannot be built or read; it is rebuilt from the store
      StoreError         the operator: the store cannot be opened, read or written
        StoreLocked      another process writes this folder
        StoreDamaged     bytes on disk are not what was written
        StoreFull        no room to write; reads go on
      EvaluationError    the operator: nothing to evaluate, or a file of judgements cannot be read
      WorkerError        the operator: worker processes cannot do their job; it is tried again later
"""


class SonicError(Exception):
    """Base of all errors of this package."""


class ConfigError(SonicError):
    """A setting is wrong. The message is one sentence: where, which key, what was found, what is allowed."""


class CommandError(SonicError):
    """A command is refused.

    Args:
        code: the wire code, for example `invalid_format`.
        detail: what stands in brackets behind the code, or None for a bare code.
    """

    def __init__(self, code: str, detail: str | None = None) -> None:
        super().__init__(code if detail is None else f"{code}({detail})")
        self.code = code
        self.detail = detail

    def __reduce__(self) -> tuple[type["CommandError"], tuple[str, str | None]]:
        return type(self), (self.code, self.detail)


class SessionEnded(SonicError):
    """The connection closes with `ENDED <reason>`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ShuttingDown(SonicError):
    """The server is stopping and takes no further command."""


class GraphError(SonicError):
    """A word graph cannot be built, or its file cannot be read; it holds nothing that the store does not."""


class StoreError(SonicError):
    """The store cannot be opened, read or written; the message says what to do."""


class StoreLocked(StoreError):
    """Another process has this store open for writing."""


class StoreDamaged(StoreError):
    """Bytes on disk are not what was written."""


class StoreFull(StoreError):
    """There is no room left to write; reads go on, writes are refused until a commit passes."""


class WorkerError(SonicError):
    """Worker processes died on a job."""


class EvaluationError(SonicError):
    """What is to be evaluated cannot be read, or the package that judges it is missing."""
