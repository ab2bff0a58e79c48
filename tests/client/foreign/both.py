"""Sonic and compat mode side by side, for clients that can use both."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.processes import HOST, Server
from tests.support.server_process import SonicProcess, find_sonic

OURS, SONIC = "ours", "Sonic"


class Address(NamedTuple):
    """The address of a server, and the password that clients send with START."""

    host: str
    port: int
    password: str


@contextmanager
def both_servers(folder: Path, password: str, *, only: str | None = None) -> Iterator[dict[str, Address]]:
    """Start both servers, or one of them; yield their addresses.

    The test is skipped if it needs Sonic, which is not installed.
    """
    sonic = find_sonic()
    if sonic is None and only != OURS:
        pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")
    with ExitStack() as stack:
        addresses = {}
        if only != OURS:
            assert sonic is not None
            process = stack.enter_context(SonicProcess(SONIC, folder / "sonic", sonic, password))
            addresses[SONIC] = Address(HOST, process.port, password)
        if only != SONIC:
            server = stack.enter_context(Server(folder / "ours", {"server.compat": "sonic"}, password=password))
            addresses[OURS] = Address(server.host, server.port, password)
        yield addresses
