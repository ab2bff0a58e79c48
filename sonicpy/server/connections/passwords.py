"""Delays of the refusal of wrong passwords: they grow with the number of wrong passwords from a network.

Only refusals are delayed. A client with the right password is accepted at once, from every address.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

FREE = 4
"""The number of wrong passwords from one network that are refused at once: a person may mistype."""
FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 4.0
FORGOTTEN_AFTER_S = 60.0
"""The time in seconds without a wrong password after which the count of a network begins anew."""
NETWORKS_MAX = 4096
"""The most networks that are counted; beyond that, the one that has been quiet for longest is dropped."""
WAITING_MAX = 16
"""The most refusals that wait for one network at a time."""
WAITING_IN_ALL_MAX = 512


class Attempts:
    """The count of wrong passwords from one network."""

    __slots__ = ("last_s", "waiting", "wrong")

    def __init__(self) -> None:
        self.wrong = 0
        self.last_s = -math.inf
        self.waiting = 0


class WrongPasswords:
    """Counts wrong passwords by network, in bounded memory."""

    def __init__(self) -> None:
        self._attempts: OrderedDict[str, Attempts] = OrderedDict()  # the network quiet for longest is the first
        self._waiting = 0

    def __len__(self) -> int:
        return len(self._attempts)

    def delay_s(self, network: str, now_s: float) -> float | None:
        """Count a wrong password of a network; return the delay of its refusal in seconds, or None if too many refusals
        wait already.

        Args:
            now_s: the time in seconds on any clock that does not go back.
        """
        attempts = self._attempts.setdefault(network, Attempts())
        self._attempts.move_to_end(network)
        if now_s - attempts.last_s > FORGOTTEN_AFTER_S:
            attempts.wrong = 0
        attempts.wrong += 1
        attempts.last_s = now_s
        if len(self._attempts) > NETWORKS_MAX:
            self._attempts.popitem(last=False)
        if attempts.wrong <= FREE:
            return 0.0
        if attempts.waiting >= WAITING_MAX or self._waiting >= WAITING_IN_ALL_MAX:
            return None
        doublings = min(attempts.wrong - FREE - 1, 10)  # beyond that, 2**doublings would grow without need
        return float(min(FIRST_DELAY_S * 2**doublings, LONGEST_DELAY_S))

    def begin_wait(self, network: str) -> None:
        """Count a refusal that begins to wait."""
        self._waiting += 1
        if network in self._attempts:
            self._attempts[network].waiting += 1

    def end_wait(self, network: str) -> None:
        """Count a refusal that no longer waits."""
        self._waiting -= 1
        attempts = self._attempts.get(network)
        if attempts is not None and attempts.waiting:  # dropped and counted anew meanwhile, it has none
            attempts.waiting -= 1


class DelayedRefusal:
    """The refusal of one connection's password while it waits.

    Args:
        refuse: called after `delay_s`, unless `end` is called before.
    """

    def __init__(self, passwords: WrongPasswords, network: str, delay_s: float, refuse: Callable[[], None]) -> None:
        self._passwords = passwords
        self._network = network
        self._timer = asyncio.get_running_loop().call_later(delay_s, refuse)
        passwords.begin_wait(network)

    def end(self) -> None:
        """Stop waiting. Call it once, also from `refuse`."""
        self._timer.cancel()
        self._passwords.end_wait(self._network)


def network_of(peername: object) -> str:
    """Return the range of addresses from which one client may choose its address: an IPv4 address, or 64 bits of
    IPv6; "local" for a Unix socket.
    """
    if not isinstance(peername, tuple) or not peername:
        return "local"
    address = ip_address(str(peername[0]).partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> 64:x}::/64"
