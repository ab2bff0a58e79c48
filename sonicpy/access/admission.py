"""Keys: the rights of a secret, looked up in all places where a server keeps its keys."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from sonicpy.access.grant import Grant, NotPermitted
from sonicpy.access.key import Key, is_past, key_name
from sonicpy.access.rates import Rates
from sonicpy.access.tokens import EXPIRED, key_of_token, looks_like_token, narrowed, signing_secret

FRESH_S = 0.5
"""The time in seconds for which the result of looking up a key is used again: a change takes effect within this
time.
"""


class KeySource(Protocol):
    """A source of keys."""

    def get(self, name: str) -> Key | None:
        """Return the key with a name; None: there is none."""


class Held(NamedTuple):
    """A permit, as it is sent to another process of the server."""

    grant: Grant
    key: Key


class Keys:
    """The keys of a server.

    Args:
        sources: the sources of keys, searched in this order.
        secret: the setting `server.secret`; None: tokens are refused.
        takes_filters: whether keys with a filter are allowed, because the index answers queries with a filter.
    """

    def __init__(self, sources: Sequence[KeySource], secret: str | None, *, takes_filters: bool = True) -> None:
        self._sources = list(sources)
        self._secret = secret
        self._takes_filters = takes_filters
        self._is_known_to_all = True  # the processes of the server
        self._rates = Rates()

    def add_source(self, source: KeySource) -> None:
        """Add a source of keys for this process only, which is searched last."""
        self._is_known_to_all = False
        self._sources.append(source)

    def admit(self, given: bytes) -> "Permit | None":
        """Return the permit of a secret or a token; None: no existing key has this secret, or signed this token.

        Raises:
            NotPermitted: such a key exists, but the secret or the token has expired, or is not allowed for another
            reason.
        """
        if looks_like_token(given):
            return self._of_token(given.decode("ascii", "replace"))
        name = key_name(given)
        key = None if name is None else self._get(name)
        if key is None or not key.is_of(given):
            return None
        return self._permit(key.grant(), key)

    def go_on(self, held: Held) -> "Permit":
        """Return the permit that another process has handed over; its first use looks the key up."""
        permit = self._made(held.grant, held.key)
        permit.distrust()
        return permit

    def _of_token(self, token: str) -> "Permit | None":
        name = None if self._secret is None else key_of_token(token)
        key = None if name is None else self._get(name)
        if key is None or self._secret is None:
            return None
        grant = narrowed(token, signing_secret(self._secret, key.name), key.grant())
        return None if grant is None else self._permit(grant, key)

    def _permit(self, grant: Grant, key: Key) -> "Permit":
        _check_time(grant, key)
        if grant.filters and not self._takes_filters:
            raise NotPermitted(f"the key {grant.key} has a fixed filter, which compat mode lacks")
        return self._made(grant, key)

    def _made(self, grant: Grant, key: Key) -> "Permit":
        return Permit(grant, key, self._get, self._rates, goes_on=self._is_known_to_all)

    def _get(self, name: str) -> Key | None:
        return next((key for source in self._sources if (key := source.get(name)) is not None), None)


class Permit:
    """The rights of a client with a secret, as long as its key exists and has not changed.

    Attributes:
        grant: the rights.
        held: the permit for another process that takes the connection over; None: no other process can, because the
            rate of a key is counted in one process.

    Args:
        goes_on: whether the other processes of the server can look the key up.
    """

    __slots__ = ("_fresh_until", "_get", "_is_counted", "_key", "_rates", "grant", "held")

    def __init__(
        self, grant: Grant, key: Key, get: Callable[[str], Key | None], rates: Rates, *, goes_on: bool = False
    ) -> None:
        self.grant = grant
        self._key = key
        self._get = get
        self._rates = rates
        self._is_counted = grant.rate is not None
        self.held = Held(grant, key) if goes_on and not self._is_counted else None
        self._fresh_until = self._next_check(time.monotonic())

    def use(self) -> Grant:
        """Count a request, and return its rights.

        Raises:
            NotPermitted: the key has expired, was revoked or changed, or asks too often.
        """
        grant = self.check()
        if self._is_counted:
            self._rates.count(grant)
        return grant

    def check(self) -> Grant:
        """Return the rights of a request that was counted before.

        Raises:
            NotPermitted: the key has expired, was revoked or changed.
        """
        now = time.monotonic()
        if now >= self._fresh_until:
            self._check(now)
        return self.grant

    def distrust(self) -> None:
        """Look the key up at the next use."""
        self._fresh_until = 0.0

    def _check(self, now: float) -> None:
        if self._get(self.grant.key) != self._key:
            raise NotPermitted(f"the key {self.grant.key} was revoked or changed since this connection began")
        _check_time(self.grant, self._key)
        self._fresh_until = self._next_check(now)

    def _next_check(self, now: float) -> float:
        """Return the time of the next look-up of the key on the monotonic clock, on which it is `now`: no later than
        the time at which the key expires."""
        expires = self.grant.expires
        return now + (FRESH_S if expires is None else min(FRESH_S, expires - time.time()))


def _check_time(grant: Grant, key: Key) -> None:
    """Raise NotPermitted if a key, or the token to which rights of the key belong, has expired."""
    if is_past(key.expires):
        raise NotPermitted(f"the key {key.name} has expired")
    if is_past(grant.expires):
        raise NotPermitted(EXPIRED)
