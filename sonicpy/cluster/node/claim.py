"""The claim of a name under which a process writes: only one process at a time has the name.

A batch takes no effect after a batch of a later incarnation of its writer. So an acknowledgement of the brokers may be
answered with OK only while no later incarnation has appended anything. Therefore

- a process takes a name only if no process that has it answers;
- it then announces itself for WAIT_S before it appends anything, unless the name is new: a process that receives a
  later incarnation than its own gives up the name;
- a process receives its own announcements, too. If they are missing for REACHED_S, because it hung or was cut off, it
  checks in the registry that its incarnation is the newest before it treats another acknowledgement as an OK. Most
  brokers have to agree, because one that is cut off still answers with old values;
- a process may be cut off together with its broker, through which it still receives its own announcements. Such a
  broker acknowledges nothing. So after REACHED_S without an OK, a process checks the registry, too, and while it
  writes, it checks as often as it announces itself. During an election of the registry's leader no process can take a
  name, so OKs continue without a check for ELECTION_S;
- a change that a replica of this process has applied had its effect, whatever the registry contains. So a process that
  checks the registry waits for that, too: after a pause, changes need not wait until the registry has a leader.
"""

import asyncio
import contextlib
import logging
import os
import socket
import time

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.registry.registry import Registry
from sonicpy.errors import ConfigError, SonicError, StoreError

logger = logging.getLogger(__name__)

ANSWER_S = 1.0
"""The longest wait in seconds for an answer of the process that has the name, or of the registry."""
ANNOUNCE_S = 0.4
REACHED_S = 1.0
WAIT_S = 1.5
"""The time in seconds of announcements before the first batch: above REACHED_S and the duration of an announcement."""
AGAIN_S = 0.1
ELECTION_S = 9.0
"""The longest time in seconds for which OKs continue without the registry: above the 4 to 8 seconds of an election."""


class NameLost(StoreError):
    """Another process has the name."""


class NameClaim:
    """A name that this process has taken; `take` makes one.

    Attributes:
        incarnation: a number above those of all processes that had the name before.
        loss: the reason why this process must not write any more, as a sentence; None: it may.
    """

    def __init__(self, connection: Client, registry: Registry, name: str) -> None:
        self.name = name
        self.incarnation = 0
        self.loss: str | None = None
        self._connection = connection
        self._registry = registry
        self._reached_s = now_s()
        self._answered_s = now_s()
        self._confirmed_s = float("-inf")
        self._waits_until_s = 0.0
        self._is_sure = True
        self._is_watched = True
        self._asking: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._subscription: Subscription | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def take(cls, connection: Client, registry: Registry, name: str, taken: str) -> "NameClaim":
        """Return the claim of a name.

        Args:
            taken: the first half of the sentence for a name that another process has.

        Raises:
            ConfigError: another process has the name.
            NotReady: no broker answers.
        """
        if holder := await _holder(connection, name):
            raise ConfigError(f"{taken} ({holder}).")
        claim = cls(connection, registry, name)
        claim.incarnation, is_first = await registry.incarnation(name)
        claim._reached_s = now_s()
        claim._waits_until_s = 0.0 if is_first else now_s() + WAIT_S
        claim._subscription = await connection.subscribe(_subject_of(name), cb=claim._hear)
        claim._tasks = [asyncio.create_task(work) for work in (claim._announce(), claim._watch_registry())]
        for task in claim._tasks:
            task.add_done_callback(claim._note_end)
        return claim

    async def may_begin(self) -> None:
        """Wait until every process that had the name before has received an announcement of this process."""
        while (left_s := self._waits_until_s - now_s()) > 0:
            await asyncio.sleep(left_s)

    async def confirm(self, effect: "asyncio.Future[None] | None" = None) -> None:
        """Return once the batch just acknowledged is known to take effect.

        Args:
            effect: resolves once a replica of this process has applied the batch.

        Raises:
            NameLost: another process has the name, so the batch may have no effect.
        """
        self._look(now_s())
        if not self._is_watched or now_s() - self._confirmed_s > REACHED_S:
            self._is_sure = False
        if not self._is_sure and await self._has_effect(effect):
            return  # the effect of this batch proves nothing for the next one
        if self.loss is not None:
            raise NameLost(self.loss)
        self._confirmed_s = now_s()

    async def wait_for_loss(self) -> None:
        """Wait until another process has the name. Raises NameLost then."""
        await self._lost.wait()
        raise NameLost(str(self.loss))

    async def release(self) -> None:
        """Stop announcing, so that another process may take the name."""
        if self._subscription is not None and not self._connection.is_closed:
            await self._subscription.unsubscribe()
        await end([*self._tasks, *([] if self._asking is None else [self._asking])])

    # -- inside --------------------------------------------------------------------------------------------------------

    def _look(self, time_s: float) -> None:
        """Note whether another process may have taken the name between the last own announcement and `time_s`."""
        if time_s - self._reached_s > REACHED_S:
            self._is_sure = False

    async def _has_effect(self, effect: "asyncio.Future[None] | None") -> bool:
        """Wait until the registry has answered or `effect` has resolved; return whether `effect` has.

        Raises the error of asking the registry.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_registry())
        asking = self._asking
        waits: set[asyncio.Future[None]] = {asking} if effect is None else {asking, effect}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if effect is not None and effect.done():
            return True
        asking.result()
        return False

    async def _ask_registry(self) -> None:
        """Check in the registry that this incarnation is the newest; repeat until most brokers answer."""
        while not self._is_sure and self.loss is None:
            asked_s = now_s()
            try:
                await self._look_in_registry()
            except SonicError:
                await asyncio.sleep(AGAIN_S)
                continue
            self._reached_s, self._is_sure = asked_s, True

    async def _look_in_registry(self) -> None:
        """Give up the name if the registry has a later incarnation. Raises NotReady if most brokers do not answer."""
        asking = self._registry.confirm_incarnation(self.name, self.incarnation)
        try:  # what is asked while there is no leader gets no answer
            is_newest = await asyncio.wait_for(asking, ANSWER_S)
        except OSError as error:  # TimeoutError among them
            raise NotReady("the brokers do not answer") from error
        self._answered_s = now_s()
        if not is_newest:
            self._lose()

    async def _watch_registry(self) -> None:
        """Check the registry as often as this process announces itself, while it writes."""
        looked_s = now_s()
        while True:
            await asyncio.sleep(ANNOUNCE_S)
            if self._confirmed_s > looked_s:
                looked_s = now_s()
                try:
                    await self._look_in_registry()
                except SonicError:
                    if now_s() - self._answered_s > ELECTION_S:
                        self._is_sure = False  # `confirm` waits for an answer

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        """Handle the end of a task of the claim: after an unexpected error, `confirm` always checks the registry."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an unexpected error with the name %s", self.name, exc_info=error)
            self._is_watched = False

    async def _announce(self) -> None:
        while True:
            with contextlib.suppress(NatsError, OSError):  # what is not heard counts as not reached
                await self._connection.publish(_subject_of(self.name), b"%d %f" % (self.incarnation, now_s()))
            await asyncio.sleep(ANNOUNCE_S)

    async def _hear(self, message: Msg) -> None:
        if message.reply:
            await self._tell(message)
            return
        incarnation, said_s = message.data.split()
        if int(incarnation) > self.incarnation:
            self._lose()
        elif int(incarnation) == self.incarnation:
            self._look(float(said_s))
            self._reached_s = float(said_s)

    async def _tell(self, message: Msg) -> None:
        if self.loss is not None:
            return
        try:
            await message.respond(f"process {os.getpid()} of the machine {socket.gethostname()}".encode())
        except (NatsError, OSError) as error:
            logger.warning("a question for the holder of a name was not answered: %s", error)

    def _lose(self) -> None:
        if self.loss is None:
            self.loss = f"another process has taken the name {self.name}, so this one ends"
            self._lost.set()


async def _holder(connection: Client, name: str) -> str:
    """Return the process that has the name `name`; an empty string if no process answers."""
    try:
        message = await connection.request(_subject_of(name), b"", timeout=ANSWER_S)
    except (NatsError, OSError):  # no process listens there, or it is silent; the registry decides then
        return ""
    return message.data.decode()


def _subject_of(name: str) -> str:
    return f"sonicpy.name.{name}"


def now_s() -> float:
    """Return the time in seconds by a clock that also runs while the machine sleeps, where there is one."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)
