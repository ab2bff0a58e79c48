"""Limits of the requests of keys: a bucket of tokens for each key (the algorithm of that name), in bounded memory.

A key may send `rate` requests a second in the long run, and as many at once after a second of silence. Each process of
a server counts by itself.
"""

import time
from collections import OrderedDict

from sonicpy.access.grant import Grant, TooOften

KEYS_MAX = 10_000
"""The most keys that are counted; beyond that, the key that has been quiet for longest loses its count."""


class Rates:
    """The requests of keys with a rate."""

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, grant: Grant) -> None:
        """Count a request. Raises TooOften if it exceeds the rate of its key."""
        rate = grant.rate
        if rate is None:
            return
        now, most = time.monotonic(), max(rate, 1.0)
        left, then = self._left.pop(grant.key, (most, now))
        left = min(most, left + (now - then) * rate)
        self._left[grant.key] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > KEYS_MAX:
            self._left.popitem(last=False)
        if left < 1:
            raise TooOften(
                f"the key {grant.key} may ask {rate:g} times a second; it may ask again in {(1 - left) / rate:.2f} s"
            )
