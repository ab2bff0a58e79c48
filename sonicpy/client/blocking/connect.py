"""connect: from a URL to a client that has spoken with its server."""

import ssl

from sonicpy.client.address import read_url
from sonicpy.client.blocking.client import Client
from sonicpy.client.blocking.pool import Settings

TIMEOUT_S = 10.0
RETRY_S = 10.0
POOL_SIZE = 8


def connect(
    url: str = "sonic://",
    *,
    password: str | None = None,
    timeout_s: float = TIMEOUT_S,
    retry_s: float = RETRY_S,
    retry_changes: bool = False,
    pool_size: int = POOL_SIZE,
    tls: ssl.SSLContext | None = None,
) -> Client:
    """Connect to a server that speaks Sonic Channel: sonicpy's or Sonic's own.

    One connection is opened at once, so that a wrong address or password shows here.

    Args:
        url: `sonic://:password@host:1491`, `sonics://...` for TLS (`?ca=FILE` names a certificate to trust),
            `sonic+unix:///path?password=...` for a Unix socket. What has a meaning in URLs is percent-encoded.
        password: in the place of one in the URL.
        timeout_s: longest time to connect, and to wait for an answer.
        retry_s: for how long reads and PUSH are tried again when the connection breaks; 0: only once, at once.
        retry_changes: try POP, FLUSH and restore again too: what they return may then be too low.
        pool_size: at most so many connections in each of the modes search, ingest and control.
        tls: what the certificate of a `sonics` server is checked with, in the place of what the URL says.

    Raises:
        ConfigError: the URL cannot be read.
        ValueError: a time is negative, or pool_size below 1.
        ClientError: the server cannot be reached, is none, or wants another password.
    """
    address = read_url(url, password=password, tls=tls)
    return Client.open(address, Settings(timeout_s, retry_s, retry_changes, pool_size))
