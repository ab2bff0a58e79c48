"""Queries with phrases for which many objects are checked: first within a turn, then in steps between the turns of
others.

All steps check the objects of one snapshot. Each pass of the loop takes one step of one query, so other connections
wait for at most one step.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sonicpy.channel.commands import CountFacets, Explain, Query
from sonicpy.index.pinned import pinned
from sonicpy.index.search.phrases import CheckedTooMany, PhraseChecks
from sonicpy.server.connections.dispatch import Postponed

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.index import Index

KINDS = (Query, CountFacets, Explain)
METHODS = ("query", "facets", "explain")
"""Methods of Index that may look for phrases."""
AT_ONCE = 2_000
"""The most objects that a query checks within a turn: some milliseconds."""

STEP_S = 0.001
"""The time in seconds after which a step ends, once it has checked its present window of 4,096 objects."""

Told = TypeVar("Told")


def keeps_orders(config: "Config") -> bool:
    """Return whether some bucket may keep the order of words."""
    return bool(config.store.order)


def may_check(command: Any) -> bool:
    """Return whether a command may look for phrases."""
    return isinstance(command, KINDS) and (command.phrase is not None or command.syntax == "web")


def within_a_turn(call: Callable[[Any, Any], bytes]) -> Callable[[Any, Any], bytes]:
    """Return a call that leaves a command to `execute` if too many objects have to be checked for its phrases."""

    def call_unless_long(target: Any, command: Any) -> bytes:
        if command.phrase is None and command.syntax != "web":
            return call(target, command)
        try:
            with PhraseChecks(AT_ONCE).trying():
                return call(target, command)
        except CheckedTooMany:
            raise Postponed from None

    return call_unless_long


class PhraseTurns:
    """Answers queries with phrases in steps. Create it while the loop runs."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()

    async def ask(self, index: "Index", call: Callable[[Any], Told]) -> Told:
        """Return the result of `call` for an index: at once, or in steps, if many objects have to be checked for its
        phrases.
        """
        try:
            with PhraseChecks(AT_ONCE).trying():
                return call(index)
        except CheckedTooMany:
            return await self.answer(index, call)

    async def answer(self, index: "Index", ask: Callable[[Any], Told]) -> Told:
        """Return the result of `ask` for one snapshot of an index.

        Args:
            ask: gets an object with the answering methods of the index; it is called again after each check of more
                objects. At first none is checked: `ask` has just checked too many in another snapshot.
        """
        checks, at_once = PhraseChecks(AT_ONCE), 0
        with pinned(index) as answers:
            while True:
                await self._turn()
                try:
                    with checks.trying(at_once):
                        return ask(answers)
                except CheckedTooMany:
                    await self._look(checks)
                    at_once = AT_ONCE

    async def _look(self, checks: PhraseChecks) -> None:
        """Check the objects with phrases that the query has reached."""
        until = 0.0
        for _ in checks.steps():
            if time.perf_counter() > until:
                await self._turn()
                until = time.perf_counter() + STEP_S

    async def _turn(self) -> None:
        """Wait for the next pass of the loop, in which other work runs; one query continues in each pass."""
        async with self._one:
            await asyncio.sleep(0)
