"""The search processes of a server: their number, and the choice of one for a new connection in mode search.

    server.search_processes = N        N of them; one that dies is replaced
                            = "auto"   one more whenever every loop was busy over BUSY_SHARE for BUSY_S, at most one
                                       less than there are processors; one that was idle for IDLE_S gets no new
                                       connection, hands its connections over, and ends

While one loop is busy, and another one much less, active connections in mode search move to the other between two
turns. Counts that a process did not report before it died are lost.
"""

import asyncio
import logging
import math
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sonicpy.config.kinds import AUTO
from sonicpy.errors import SonicError
from sonicpy.server.connections.descriptors import room_for_connections
from sonicpy.server.process.loop_load import BUSY_SHARE, LoopLoad
from sonicpy.server.searching.handover import CAN_HAND_OVER
from sonicpy.server.searching.search_messages import AskReport, Shed, Stop, Vacate
from sonicpy.server.searching.search_process import SearchProcess

if TYPE_CHECKING:
    from sonicpy.index.index import Index
    from sonicpy.server.connections.serving import Serving
    from sonicpy.server.jobs.committer import Committer

from sonicpy.server.watching.unexpected import Unexpected

logger = logging.getLogger(__name__)

TICK_S = 0.5
BUSY_S = 2.0
IDLE_SHARE = 0.02
IDLE_S = 300.0
VACATED_AT_ONCE = 50
"""The most connections of an ending process that are taken over in a tick."""
REPLACE_S = 1.0
"""The shortest time in seconds from one start of a process to the next, which replaces a process that died."""
RETRY_S = 30.0
"""Replaces REPLACE_S if the last process died before it was ready, or could not be started."""
REPORT_S = 0.5
"""The time in seconds for which INFO and the metrics wait for the figures of a search process."""
SILENCE_S = 12.0
"""The time in seconds without an answer after which a process is killed."""
START_S = 60.0
"""Replaces SILENCE_S for a process that is not ready yet."""
UNEQUAL_SHARE = 0.3
"""Connections move from a loop to another one whose share of busy time is lower by at least this."""
NEW_CONNECTION_LOAD = 0.1
"""The load that a new connection counts for until the next report of its process, as a share of a loop."""


class SearchProcesses:
    """All search processes. Create it while the loop runs, on the loop's thread.

    Args:
        index, committer, serving: those of the main process; see `SearchProcess`.
        setting: `server.search_processes`: "auto", or the number of processes.
    """

    def __init__(self, index: "Index", committer: "Committer", serving: "Serving", setting: int | str) -> None:
        self._index = index
        self._committer = committer
        self._serving = serving
        self._is_auto = setting == AUTO
        self._wanted = 0 if self._is_auto else int(setting)
        self._most = processors() - 1 if self._is_auto else self._wanted
        self._processes: list[SearchProcess] = []
        self._leaving: list[SearchProcess] = []  # asked to end, without connections
        self._is_stopping = False
        self._next_start_s = 0.0
        self._looked_s = time.monotonic()
        self._here = LoopLoad()
        self._all_busy_s = 0.0
        self._has_moved = False  # connections, at the last tick
        self._kept = 0  # connections that stayed here since the last tick
        self._unexpected = Unexpected(logger, "with the search processes")

    # -- for the service ---------------------------------------------------------------------------------------------

    @property
    def connections(self) -> int:
        """The number of open connections that search processes serve."""
        return sum(process.connections for process in self._processes)

    @property
    def open_graphs(self) -> int:
        """The number of word graphs that are open in search processes, by their last reports."""
        return sum(process.open_graphs for process in self._processes)

    @property
    def ready(self) -> int:
        """The number of processes that take connections."""
        return sum(process.is_ready for process in self._processes)

    @property
    def is_there(self) -> bool:
        """Whether a search process exists."""
        return bool(self._processes) and not self._is_stopping

    def choose(self, *, keeps: bool = True) -> SearchProcess | None:
        """Return the process to give a connection to; None: the main process, which counts the connection.

        Args:
            keeps: whether the main process may be chosen.
        """
        least = self._here.busy + NEW_CONNECTION_LOAD * self._kept if keeps else math.inf
        chosen = None
        for process in self._processes:
            load = process.busy + NEW_CONNECTION_LOAD * process.fresh
            takes_it = process.takes_connections and not process.is_full and not self._is_stopping
            if takes_it and load <= least:
                least, chosen = load, process
        if chosen is None and keeps:
            self._kept += 1
        return chosen

    async def refresh(self) -> None:
        """Wait until the statistics include the counts of every process, for at most REPORT_S."""
        asked = [asyncio.ensure_future(process.report()) for process in self._processes if process.is_ready]
        if asked:
            _, late = await asyncio.wait(asked, timeout=REPORT_S)
            for task in late:
                task.cancel()

    # -- for the server ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start and end processes as they are needed, until it is cancelled."""
        self._here.measure()
        while True:
            await self._surviving(self._start_missing)
            await asyncio.sleep(TICK_S)
            await self._surviving(self._look_after)

    async def stop(self, answer_s: float, stop_s: float) -> None:
        """Stop the processes: they answer received commands for at most `answer_s`, and end within `stop_s`."""
        self._is_stopping = True
        for process in self._processes:
            process.send(Stop(answer_s, stop_s))
        deadline = time.monotonic() + stop_s
        while self._processes and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Kill the remaining processes."""
        self._is_stopping = True
        for process in (*self._processes, *self._leaving):
            process.kill()
        self._processes.clear()
        self._leaving.clear()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _look_after(self) -> None:
        """Do the work of one tick: end silent processes, adapt the number of processes, and balance connections."""
        self._here.measure()
        self._kept = 0
        self._end_silent()
        if self._is_auto:
            self._adapt()
        self._balance()

    async def _surviving(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work`; log an unexpected error with its traceback, unless it repeats the last one."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a fault in one tick must not be the end of all
            self._unexpected.log(error)

    @property
    def _lacks_one(self) -> bool:
        return len(self._processes) < self._wanted and not self._is_stopping

    async def _start_missing(self) -> None:
        while self._lacks_one and time.monotonic() >= self._next_start_s:
            process = SearchProcess(self._index, self._committer, self._serving, self.choose, self._ended)
            self._processes.append(process)
            try:
                await process.start()
            except BaseException as error:
                if process in self._processes:
                    self._processes.remove(process)
                process.kill()
                self._next_start_s = time.monotonic() + RETRY_S
                if not isinstance(error, OSError | SonicError):
                    raise
                logger.error("a search process cannot be started: %s", error)

    def _ended(self, process: SearchProcess, *, expected: bool, how: str = "died") -> None:
        """Remove a process that has closed its end of the link, and log the end unless it was `expected`; `how`: the
        verb of the log line."""
        for known in (self._processes, self._leaving):
            if process in known:
                known.remove(process)
        process.kill()
        self._next_start_s = time.monotonic() + (REPLACE_S if process.was_ready else RETRY_S)
        if not expected and not self._is_stopping:
            logger.error(
                "the search process %s %s; its %d connections are closed, and another one takes its place",
                process.pid,
                how,
                process.connections,
            )

    def _end_silent(self) -> None:
        """Kill processes that are stopped or hang, though they were asked for a report; others replace them."""
        now = time.monotonic()
        passed_s = min(now - self._looked_s, 2 * TICK_S)  # a pause of this process is not the silence of the others
        self._looked_s = now
        for process in list(self._processes):
            silence_s = process.silence_s = process.silence_s + passed_s
            if silence_s > (SILENCE_S if process.was_ready else START_S):
                self._ended(process, expected=False, how=f"showed no sign of life for {silence_s:.0f} s and was killed")
            elif process.is_ready and silence_s > SILENCE_S / 2:
                process.send(AskReport())

    def _balance(self) -> None:
        """Move connections from the busiest loop to the idlest: enough to make both equally busy."""
        self._serving.sheds = 0
        active_here = self._serving.count_active() if self._processes and self._here.busy > BUSY_SHARE else 0
        processes = [process for process in self._processes if process.takes_connections]
        busiest = max(processes, key=lambda process: process.busy, default=None)
        if busiest is None or self._is_stopping or self._has_moved:
            self._has_moved = False  # a tick later, the loops show what the move has changed
            return
        here = self._here.busy
        least = min((process.busy for process in processes if not process.is_full), default=math.inf)
        least = min(here, least)
        most, active = max((here, active_here), (busiest.busy, busiest.active))
        moved = round(active * (most - least) / most / 2) if most > BUSY_SHARE else 0
        if not moved or most - least < UNEQUAL_SHARE:
            return
        self._has_moved = True
        if most == here:
            self._serving.sheds = moved
        elif moved := min(moved, room_for_connections()):  # whichever process they go to, they come through this one
            busiest.send(Shed(moved))

    def _adapt(self) -> None:
        """Set the wanted number of processes according to the load of the loops."""
        taking = [process for process in self._processes if process.takes_connections]
        is_busy = self._here.busy > BUSY_SHARE and all(process.busy > BUSY_SHARE for process in taking)
        self._all_busy_s = self._all_busy_s + TICK_S if is_busy else 0.0
        if self._all_busy_s >= BUSY_S:
            self._all_busy_s = 0.0
            self._add_one()
        now = time.monotonic()
        for process in list(self._processes):
            if process.busy > IDLE_SHARE or process.fresh:
                process.idle_since_s = now
            elif now - process.idle_since_s >= IDLE_S:
                process.is_retiring = True
            if not process.is_retiring:
                continue
            if process.connections:
                process.send(Vacate(min(VACATED_AT_ONCE, room_for_connections())))
            else:
                self._wanted -= 1
                process.send(Stop(0.0, 1.0))
                process.is_leaving = True
                self._processes.remove(process)
                self._leaving.append(process)

    def _add_one(self) -> None:
        for process in self._processes:
            if process.is_retiring:
                process.is_retiring = False
                process.idle_since_s = time.monotonic()
                return
        self._wanted = min(self._wanted + 1, self._most)


def processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def search_processes_of(index: "Index", committer: "Committer", serving: "Serving") -> SearchProcesses | None:
    """Return the search processes of a server; None: this system does not support them."""
    setting = serving.config.server.search_processes
    if not CAN_HAND_OVER:
        if setting != AUTO:
            logger.warning("server.search_processes has no effect: this system cannot hand over connections")
        return None
    return SearchProcesses(index, committer, serving, setting)
