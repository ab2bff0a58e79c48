"""The log: one line on stderr per event, in logfmt.

    2026-03-01T09:15:02.120Z level=warn logger=store.store msg="..." verb=QUERY ms=120.4

A line may quote bytes of clients: unprintable characters are escaped, so that no client can begin a line. At most
SAME_LINES equal lines are written in SAME_S: otherwise a server that refuses changes because its disk is full would
fill the rest of the disk.
"""

import json
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG,
}
"""Value of server.log_level -> level of Python's logging."""

LEVEL_NAMES = {logging.WARNING: "warn"}
LAYERS_OF_PARTS = frozenset({"cluster", "server", "store"})
FIELDS = "fields"
"""The attribute of a record with further fields: `logger.warning("slow", extra={FIELDS: {"ms": 3}})`."""

SAME_LINES = 10
SAME_S = 10.0
KEPT_LINES = 100
"""The number of different lines that are remembered; after more, all are forgotten."""

BARE = re.compile(r"[\w.:/@%+\-\[\]]+", re.ASCII)
"""Values that are written without quotes."""


def set_up(level: str) -> None:
    """Write the log of this process from this level on to stderr from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Logfmt())
    handler.addFilter(Repeats())
    logging.basicConfig(level=LEVELS[level], handlers=[handler], force=True)


@dataclass(slots=True)
class _Written:
    since_s: float
    lines: int = 0
    left_out: int = 0


class Repeats(logging.Filter):
    """Suppresses repeated lines, and adds the number of suppressed ones to the next line that is written.

    Lines with further fields or a traceback are never suppressed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[tuple[str, str], _Written] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line of a record is written."""
        if hasattr(record, FIELDS) or record.exc_info:
            return True
        line = record.name, record.getMessage()
        written = self._written.get(line)
        if written is None:
            if len(self._written) >= KEPT_LINES:
                self._written.clear()
            written = self._written[line] = _Written(record.created)
        elif not 0 <= record.created - written.since_s < SAME_S:  # below 0: the clock was set back
            if written.left_out:
                setattr(record, FIELDS, {"left_out": written.left_out})
            written.since_s, written.lines, written.left_out = record.created, 0, 0
        if written.lines == SAME_LINES:
            written.left_out += 1
            return False
        written.lines += 1
        return True


class Logfmt(logging.Formatter):
    """Formats a record as one line of logfmt."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        fields: dict[str, object] = {
            "level": LEVEL_NAMES.get(record.levelno, record.levelname.lower()),
            "logger": shown_name(record.name),
            "msg": record.getMessage(),
        }
        own = getattr(record, FIELDS, None)
        if isinstance(own, Mapping):
            fields |= own
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return " ".join([stamp, *(f"{key}={written(value)}" for key, value in fields.items())])


def written(value: object) -> str:
    """Return a value as text, in quotes where it needs them."""
    text = str(value)
    if BARE.fullmatch(text):
        return text
    return '"' + "".join([_escaped(character) for character in text]) + '"'


def _escaped(character: str) -> str:
    return character if character.isprintable() and character not in '"\\' else json.dumps(character)[1:-1]


def shown_name(logger: str) -> str:
    """Return the name of a logger for a line: the layer and the module, without the folder between."""
    layer, *parts = logger.removeprefix("sonicpy.").split(".")
    return ".".join((layer, *(parts[-1:] if layer in LAYERS_OF_PARTS else parts)))
