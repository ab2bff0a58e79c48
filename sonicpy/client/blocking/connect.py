"""connect: from a URL to a client with one open connection."""

import ssl
from collections.abc import Sequence

from sonicpy.client.address import read_urls
from sonicpy.client.blocking.client import Client
from sonicpy.client.client_settings import POOL_SIZE, RETRY_S, TIMEOUT_S, ClientSettings
from sonicpy.client.servers import Servers


def connect(
    url: str | Sequence[str] = "sonic://",
    *,
    password: str | None = None,
    timeout_s: float = TIMEOUT_S,
    retry_s: float = RETRY_S,
    retry_changes: bool = False,
    pool_size: int = POOL_SIZE,
    tls: ssl.SSLContext | None = None,
) -> Client:
    """Connect to a server that speaks Sonic Channel: sonicpy's or Sonic's own.

    It opens one connection at once, so a wrong address or password raises here. Of several servers, such as the nodes
    of a cluster, it uses the one that answers first, and continues with another one when that one is lost.

    Args:
        url: `sonic://:password@host:1491`, `sonics://...` for TLS (`?ca=FILE`: the certificate to trust),
            `sonic+unix:///path?password=...` for a Unix socket. Characters that URLs reserve are percent-encoded.
            Several servers: `sonic://:password@host1:1491,host2:1491`, or several URLs, in a list or with commas.
        password: replaces those in the URLs.
        timeout_s: the longest time in seconds for connecting, and for each answer.
        retry_s: the time in seconds for which reads and PUSH are retried, from the moment when the connection breaks;
            0: one retry, at once.
        retry_changes: retry POP, FLUSH and restore too; the number returned may then be too low.
        pool_size: the most connections in each of the modes search, ingest and control.
        tls: the TLS context for a `sonics` server, instead of the one by the URL.

    Raises:
        ConfigError: the URL has no known form.
        InvalidArgument: a time is negative, or pool_size below 1.
        ClientError: the server cannot be reached, does not speak Sonic Channel, or requires another password.
    """
    servers = Servers(read_urls(url, password=password, tls=tls))
    return Client.open(servers, ClientSettings(timeout_s, retry_s, retry_changes, pool_size))
