"""open_nearest: a session with the first server that opens one, with a thread for each server."""

import _thread
import queue
import threading
from collections import deque

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.blocking.connection import BlockingConnection
from sonicpy.client.servers import HEAD_START_S, Servers, none_answers
from sonicpy.errors import ClientError


def open_nearest(servers: Servers, mode: Mode, timeout_s: float) -> BlockingConnection:
    """Return an open session, and note its server.

    Args:
        timeout_s: as in `BlockingConnection`.

    Raises:
        ClientError: no server opened a session.
    """
    if not servers.are_several:
        return BlockingConnection(servers.addresses[0], mode, timeout_s)
    race = _Race(mode, timeout_s)
    groups = servers.groups()
    try:
        connection = race.run(deque(groups), servers)
    finally:
        race.end()
    servers.note_open(connection.address, groups)
    return connection


class _Race:
    """Sessions that are being opened at the same time; the first open one is used."""

    def __init__(self, mode: Mode, timeout_s: float) -> None:
        self._mode = mode
        self._timeout_s = timeout_s
        self._results: queue.SimpleQueue[tuple[Address, BlockingConnection | Exception]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_over = False

    def run(self, groups: deque[list[Address]], servers: Servers) -> BlockingConnection:
        """Connect to group after group; return the first session. Raises ClientError."""
        under_way = 0
        errors: list[ClientError] = []
        while groups or under_way:
            if not under_way:
                under_way += self._start(groups.popleft())
            try:
                address, result = self._results.get(timeout=HEAD_START_S if groups else None)
            except queue.Empty:
                under_way += self._start(groups.popleft())
                continue
            under_way -= 1
            if isinstance(result, BlockingConnection):
                return result
            if not isinstance(result, ClientError):
                raise result
            servers.note_lost(address)
            errors.append(result)
        raise none_answers(errors)

    def end(self) -> None:
        """Close the sessions of slower servers, including those that open later."""
        with self._lock:
            self._is_over = True
        while not self._results.empty():
            _, result = self._results.get()
            if isinstance(result, BlockingConnection):
                result.close()

    def _start(self, group: list[Address]) -> int:
        for address in group:
            # threading.Thread.start waits in Python code, where an interrupt would leave a thread that waits for ever.
            _thread.start_new_thread(self._open, (address,))
        return len(group)

    def _open(self, address: Address) -> None:
        try:
            result: BlockingConnection | Exception = BlockingConnection(address, self._mode, self._timeout_s)
        except Exception as error:  # noqa: BLE001 - the thread that waits raises it
            result = error
        with self._lock:
            if not self._is_over:
                self._results.put((address, result))
                return
        if isinstance(result, BlockingConnection):
            result.close()
