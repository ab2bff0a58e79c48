"""Unexpected errors that periodic work survives."""

import logging


class Unexpected:
    """Logs such errors, without the traceback if an error repeats the last one.

    Args:
        where: the work, as the end of "an unexpected error".
    """

    def __init__(self, logger: logging.Logger, where: str) -> None:
        self._logger = logger
        self._where = where
        self._last = ""

    def log(self, error: Exception) -> None:
        """Log an error."""
        is_new, self._last = repr(error) != self._last, repr(error)
        self._logger.error("an unexpected error %s: %r", self._where, error, exc_info=error if is_new else None)
