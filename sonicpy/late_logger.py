"""Loggers for modules that every start of the library loads. Python's logging is imported with the first message."""

import sys


class LateLogger:
    """A logger like that of `logging.getLogger`; `logging` is imported only when a message is written.

    Args:
        name: the name of the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, message: str, *values: object) -> None:
        """Write a message that helps to find a fault."""
        self._write("debug", message, values)

    def warning(self, message: str, *values: object) -> None:
        """Write a message about a matter that an operator should look at."""
        self._write("warning", message, values)

    def error(self, message: str, *values: object) -> None:
        """Write a message about a failure."""
        self._write("error", message, values)

    def _write(self, level: str, message: str, values: tuple[object, ...]) -> None:
        try:
            import logging  # noqa: PLC0415  loaded when it is needed
        except OSError:  # no descriptor is left to read it with: written as `logging` does without settings
            sys.stderr.write(message % values + "\n")
            return
        getattr(logging.getLogger(self._name), level)(message, *values, stacklevel=3)
