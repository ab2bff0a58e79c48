"""ClientSettings: time limits, retries and the size of the pool, for both clients."""

from dataclasses import dataclass

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown

TIMEOUT_S = 20.0
"""The default time limit in seconds: above the 16 seconds within which a node of a cluster answers a change or reports
its failure.
"""
RETRY_S = 10.0
POOL_SIZE = 8
SECONDS_MAX = 1e9
"""The longest time, about thirty years: sockets and timers take no more, and infinity means it, too."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The time limits, retries and connections of a client.

    Raises:
        InvalidArgument: a value has another type, or is outside its range.
    """

    timeout_s: float = TIMEOUT_S
    """The longest time in seconds for connecting, and for each answer."""
    retry_s: float = RETRY_S
    """The time in seconds for which exchanges that may be executed twice are retried on new connections."""
    retry_changes: bool = False
    """Whether POP, FLUSH and restore may be executed twice."""
    pool_size: int = POOL_SIZE
    """The most connections of the pool in each mode."""

    def __post_init__(self) -> None:
        if not (_is_number(self.timeout_s) and self.timeout_s > 0):
            raise InvalidArgument(f"timeout_s is {shown(self.timeout_s)}; allowed is any number of seconds above 0")
        if not (_is_number(self.retry_s) and self.retry_s >= 0):
            raise InvalidArgument(f"retry_s is {shown(self.retry_s)}; allowed is any number of seconds from 0 on")
        if type(self.pool_size) is not int or self.pool_size < 1:
            raise InvalidArgument(f"pool_size is {shown(self.pool_size)}; allowed is any number from 1 on")
        object.__setattr__(self, "timeout_s", min(self.timeout_s, SECONDS_MAX))
        object.__setattr__(self, "retry_s", min(self.retry_s, SECONDS_MAX))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
