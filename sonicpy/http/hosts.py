"""The values of Host that an address without a password accepts.

A foreign site may make its name resolve to this machine once its page is in a browser (DNS rebinding). For the browser,
both have one origin, so the page may send requests and read the answers; but their Host is the foreign name.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address

LOCALHOST = b"localhost"
HOST = re.compile(rb"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(?::[0-9]*)?", re.ASCII)
SHOWN_MAX = 60
"""The most characters of a Host that an error message shows."""


class Hosts:
    """The accepted values of Host: IP addresses, localhost, and the names given; each with any port or none.

    Args:
        names: names in capital or small letters, without a port; a dot at their end is ignored.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {LOCALHOST, *(_plain(name.encode()) for name in names)}

    def allow(self, given: Sequence[bytes]) -> bool:
        """Return whether a request is accepted.

        Args:
            given: the values of its Host headers.
        """
        match = HOST.fullmatch(given[0]) if len(given) == 1 else None
        if match is None:
            return False
        if match["ipv6"] is not None:
            return _is(IPv6Address, match["ipv6"])
        return _plain(match["name"]) in self._names or _is(IPv4Address, match["name"])

    def refusal(self, given: Sequence[bytes]) -> str:
        """Return the reason why a request is not answered."""
        shown = given[0].decode("latin-1")[:SHOWN_MAX] if given else "missing"
        return (
            f"the Host of the request is {shown}; without a password, allowed are IP addresses, localhost and the "
            "names of http.hosts"
        )


def _plain(name: bytes) -> bytes:
    return name.lower().removesuffix(b".")


def _is(kind: type[IPv4Address] | type[IPv6Address], text: bytes) -> bool:
    try:
        kind(text.decode("ascii"))
    except ValueError:
        return False
    return True
