"""How long a wrong password waits for its answer: the more of them came from an address, the longer.

Only the refusal waits. Who knows the password is let in at once, from whatever address.
"""

import math
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address

FREE = 4
"""Wrong passwords from one network that are answered at once: a person may mistype."""
FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 4.0
FORGOTTEN_AFTER_S = 60.0
"""Without another wrong password a network starts anew."""
NETWORKS_MAX = 4096
"""Networks remembered; beyond that the one that has been quiet for longest is forgotten."""
WAITING_MAX = 16
"""Refusals that may wait for one network at a time."""
WAITING_IN_ALL_MAX = 512


class Attempts:
    """What is known of one network."""

    __slots__ = ("last_s", "waiting", "wrong")

    def __init__(self) -> None:
        self.wrong = 0
        self.last_s = -math.inf
        self.waiting = 0


class WrongPasswords:
    """Counts wrong passwords by network, in bounded memory."""

    def __init__(self) -> None:
        self._attempts: OrderedDict[str, Attempts] = OrderedDict()  # those quiet for longest first
        self._waiting = 0

    def __len__(self) -> int:
        return len(self._attempts)

    def delay_s(self, network: str, now_s: float) -> float | None:
        """Note a wrong password; return how long its refusal waits, None if too many wait already."""
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
        doublings = min(attempts.wrong - FREE - 1, 10)  # far beyond the longest delay
        return float(min(FIRST_DELAY_S * 2**doublings, LONGEST_DELAY_S))

    def waits(self, network: str) -> None:
        """Note that a refusal begins to wait."""
        self._waiting += 1
        if network in self._attempts:
            self._attempts[network].waiting += 1

    def waited(self, network: str) -> None:
        """Note that a refusal has ended to wait."""
        self._waiting -= 1
        attempts = self._attempts.get(network)
        if attempts is not None and attempts.waiting:  # it may have been forgotten and come back meanwhile
            attempts.waiting -= 1


def network_of(peername: object) -> str:
    """Return what stands for all addresses that one client can choose from: an IPv4 address, or 64 bits of IPv6."""
    if not isinstance(peername, tuple) or not peername:
        return "local"
    address = ip_address(str(peername[0]).partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> 64:x}::/64"
