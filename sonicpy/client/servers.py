"""Servers: the addresses that a client may use, and the one in use; no I/O.

A client of several servers connects to all of them and stays with the first that opens a session: the nearest, or the
least busy. It stays there, because a node of a cluster sees its own changes first. When that server is lost, the client
connects to the others in the same way, and checks every LOOK_S whether the first server is back.
"""

import random
import time
from collections.abc import Callable, Sequence

from sonicpy.client.address import Address
from sonicpy.errors import ClientError, ConnectionLost, TimedOut

HEAD_START_S = 0.5
"""The time in seconds for the preferred servers to answer before the client connects to the others, too."""
SUSPECT_S = 5.0
"""The time in seconds for which a lost server is tried last."""
LOOK_S = 30.0


class Servers:
    """The servers of one client.

    Args:
        addresses: the addresses of the servers, at least one.
        now: returns the time in seconds; tests replace it.
    """

    def __init__(self, addresses: Sequence[Address], now: Callable[[], float] = time.monotonic) -> None:
        self.addresses = tuple(addresses)
        self.current: Address | None = None
        """The server in use; None: not known yet, or lost."""
        self._home: Address | None = None
        self._now = now
        self._lost_at: dict[Address, float] = {}
        self._look_at = 0.0

    def __str__(self) -> str:
        return ", ".join(map(str, self.addresses))

    @property
    def are_several(self) -> bool:
        """Whether there is more than one server."""
        return len(self.addresses) > 1

    def is_current(self, address: Address) -> bool:
        """Return whether a connection to this server may be used again."""
        return not self.are_several or address == self.current

    def is_time_to_look(self) -> bool:
        """Return whether the next connection should be a new one, because the nearest server may be back."""
        return self._is_time_to_look(self.current)

    def groups(self) -> list[list[Address]]:
        """Return the servers to connect to, in groups: all of a group at once, and the next group if none of them
        answers.
        """
        # Read once, because other threads change them meanwhile.
        current, home = self.current, self._home
        suspects = [address for address in self.addresses if self._is_suspect(address)]
        if current is None:
            first = [address for address in self.addresses if address not in suspects]
        elif home is not None and self._is_time_to_look(current):
            self._look_at = self._now() + LOOK_S
            first = [home, current]
        else:
            first = [current]
        others = [address for address in self.addresses if address not in first]
        fresh = [address for address in others if address not in suspects]
        suspect = [address for address in others if address in suspects]
        # A random order, because of servers that are equally near each should get its share of clients.
        return [random.sample(group, len(group)) for group in (first, fresh, suspect) if group]

    def note_open(self, address: Address, groups: Sequence[Sequence[Address]]) -> None:
        """Note the server that opened a session first.

        Args:
            groups: the groups in the order of connecting. Servers of earlier groups had a head start, so they count as
                lost.
        """
        for group in groups:
            if address in group:
                break
            for overtaken in group:
                self.note_lost(overtaken)
        self._home = self._home or address
        if self.current is None or address == self._home:
            self.current = address
            self._look_at = self._now() + LOOK_S
        self._lost_at.pop(address, None)

    def note_lost(self, address: Address) -> None:
        """Note that a server ended a session, or did not answer."""
        self._lost_at[address] = self._now()
        if self.current == address:
            self.current = None

    def _is_time_to_look(self, current: Address | None) -> bool:
        return current is not None and current != self._home and self._now() >= self._look_at

    def _is_suspect(self, address: Address) -> bool:
        return self._now() - self._lost_at.get(address, -SUSPECT_S) < SUSPECT_S


def none_answers(errors: Sequence[ClientError]) -> ClientError:
    """Return the error to raise when no server opened a session, given the error of each."""
    for error in errors:
        if not isinstance(error, ConnectionLost | TimedOut):
            return error  # a wrong password, or no Sonic server: to wait does not help
    return ConnectionLost("no server answers: " + "; ".join(map(str, errors)), was_sent=False)
