"""Waiting for brokers that are not ready yet, with a line in the log now and then instead of one for each attempt."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nats.errors import Error as NatsError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.refusals import meaning

Value = TypeVar("Value")

logger = logging.getLogger(__name__)

TELL_S = 30.0
"""The interval of repeated log lines in seconds."""
FIRST_S = 1.0
"""The shortest wait in seconds that is logged."""
AGAIN_S = 0.5


class Patience:
    """One wait.

    Args:
        waiter: the subject of the sentences in the log.
        clock: returns the time in seconds.
    """

    def __init__(self, waiter: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._waiter = waiter
        self._clock = clock
        self._began_s = clock()
        self._tell_s = self._began_s + FIRST_S
        self._is_told = False

    async def wait(self, error: Exception, seconds: float) -> None:
        """Wait for `seconds` before the next attempt, and log the reason if a line is due."""
        if self._clock() >= self._tell_s:
            self._tell_s = self._clock() + TELL_S
            self._is_told = True
            waited_s = self._clock() - self._began_s
            logger.warning("%s has waited for %.0f s, and goes on to wait: %s", self._waiter, waited_s, error)
        await asyncio.sleep(seconds)

    def end(self) -> None:
        """Log the end of the wait, if the wait was logged."""
        if self._is_told:
            waited_s = self._clock() - self._began_s
            logger.warning("%s goes on: the brokers answer after %.0f s", self._waiter, waited_s)


async def at_last(waiter: str, attempt: Callable[[], Awaitable[Value]]) -> Value:
    """Return the result of an attempt, once the brokers are ready.

    Args:
        waiter: the subject of the sentences in the log.
        attempt: called again while it raises NotReady, or an error of nats-py with that meaning.

    Raises:
        SonicError: the attempt raised it, and waiting does not help, as for a ConfigError.
    """
    patience = Patience(waiter)
    while True:
        try:
            result = await attempt()
            patience.end()
            return result
        except NotReady as error:
            await patience.wait(error, AGAIN_S)
        except NatsError as error:
            found = meaning(error)
            if not isinstance(found, NotReady):
                raise found from error
            await patience.wait(found, AGAIN_S)
