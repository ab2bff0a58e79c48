"""The sockets of the server: TCP addresses, with or without TLS, and a Unix socket; all of them or none.

Every socket is bound before the first one listens, so a start that fails has accepted no connection.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from sonicpy.config import ChannelConfig
from sonicpy.errors import ConfigError, SonicError
from sonicpy.server.connections.accepting import ACCEPTED_AT_ONCE, TlsServer, stop_accepting
from sonicpy.server.connections.descriptors import Room

logger = logging.getLogger(__name__)

LACKING = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
"""Errors for an address that this machine does not have, such as ::1 without IPv6."""
IPV4_LOOPBACK = "127.0.0.1"
LOCALHOST = "localhost"
LOOPBACK = (IPV4_LOOPBACK, "::1")
"""The addresses of localhost here, whatever the machine's hosts file says; the client tries both, too."""
ANY_IPV6 = "::"
SOMEWHERE = {"0.0.0.0": IPV4_LOOPBACK, ANY_IPV6: "::1"}
"""Wildcard address -> loopback address by which clients of this machine connect."""
BACKLOG = 1024
"""The number of connections that may wait to be accepted, such as those of clients that reconnect after a restart. The
system drops further ones, which wait for the greeting as if they were connected.
"""
UNIX_SOCKET_MODE = 0o660
"""The mode of a Unix socket: its owner and its group may connect."""

Factory = Callable[[], asyncio.BaseProtocol]


def tls_context(channel: ChannelConfig) -> ssl.SSLContext | None:
    """Return the TLS context for the TCP addresses; None: the settings ask for no TLS.

    Raises:
        ConfigError: the certificate or its key cannot be used.
    """
    if channel.tls_certificate is None or channel.tls_key is None:
        return None
    for name, path in (("tls_certificate", channel.tls_certificate), ("tls_key", channel.tls_key)):
        try:
            path.read_bytes()  # OpenSSL does not say which of the two it could not read
        except OSError as error:
            raise ConfigError(f"channel.{name} names {path}, which cannot be read: {error.strerror}.") from error
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Without a passphrase here, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(channel.tls_certificate, channel.tls_key, password="")
    except ssl.SSLError as error:
        raise ConfigError(
            f"channel.tls_certificate {channel.tls_certificate} and channel.tls_key {channel.tls_key} cannot be used: "
            f"{_tls_reason(error)}; allowed are a PEM certificate and its private key without a passphrase."
        ) from error
    return context


def _tls_reason(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is that of another certificate"
    return f"one of them is not in this form ({(error.reason or 'no PEM').lower().replace('_', ' ')})"


class Listeners:
    """The sockets that clients connect to.

    Args:
        tls: the TLS context for the TCP addresses; the Unix socket has no TLS.
        room: decides whether a connection with TLS may stay; the protocols of other connections check this themselves.
    """

    def __init__(self, channel: ChannelConfig, tls: ssl.SSLContext | None, room: Room) -> None:
        self._channel = channel
        self._tls = tls
        self._room = room
        self._servers: list[asyncio.Server | TlsServer] = []
        self._unix_path = channel.unix_socket
        self._unix_inode: tuple[int, int] | None = None
        self.names: list[str] = []
        """Every address as host:port or path; for port 0, with the port that the system chose."""
        self.url = ""
        """The first address as the URL that a client of this machine connects to; empty before the start."""

    async def start(self, factory: Factory) -> None:
        """Accept connections, each with a protocol that `factory` makes.

        Raises:
            SonicError: an address cannot be used; the server listens on none.
        """
        bound = self._bind()
        self.url = url_of(bound[0], is_tls=self._tls is not None)
        try:
            for each in bound:
                self.names.append(name_of(each))
                with explaining(self.names[-1], "channel.inet"):
                    self._servers.append(await self._serve(each, factory))
        except BaseException:
            await self.close()
            for each in bound:
                each.close()
            raise

    async def close(self) -> None:
        """Stop accepting connections; open ones stay open."""
        await stop_accepting(each for server in self._servers for each in server.sockets)
        for server in self._servers:
            server.close()
        if self._unix_path is not None and self._unix_inode is not None:
            with contextlib.suppress(OSError):  # another process deleted it
                if _inode(self._unix_path) == self._unix_inode:
                    self._unix_path.unlink()

    async def _serve(self, bound: socket.socket, factory: Factory) -> asyncio.Server | TlsServer:
        loop = asyncio.get_running_loop()
        if bound.family != socket.AF_UNIX and self._tls is not None:
            tls = TlsServer(bound, factory, self._tls, self._room)
            tls.start(BACKLOG)
            return tls
        create = loop.create_unix_server if bound.family == socket.AF_UNIX else loop.create_server
        server = await create(factory, sock=bound, backlog=ACCEPTED_AT_ONCE)
        bound.listen(BACKLOG)  # asyncio accepts as many in a pass as it lets wait
        return server

    def _bind(self) -> list[socket.socket]:
        bound: list[socket.socket] = []
        try:
            self._bind_tcp(bound)
            if self._unix_path is not None:
                with explaining(str(self._unix_path), "channel.unix_socket"):
                    bound.append(bind_unix(self._unix_path))
                    self._unix_inode = _inode(self._unix_path)
        except SonicError:
            for each in bound:
                each.close()
            raise
        return bound

    def _bind_tcp(self, bound: list[socket.socket]) -> None:
        name, port = "", 0
        for name, (host, port) in zip(self._channel.inet, self._channel.addresses, strict=True):
            with explaining(name, "channel.inet"):
                self._bind_host(host, port, bound)
        if not bound and self._channel.inet_is_default:
            logger.warning("this machine has no IPv6: listening on %s instead of %s", IPV4_LOOPBACK, name)
            with explaining(f"{IPV4_LOOPBACK}:{port}", "channel.inet"):
                bound.append(bind_tcp(IPV4_LOOPBACK, port))

    def _bind_host(self, host: str, port: int, bound: list[socket.socket]) -> None:
        """Bind each address of a host that this machine has to one port. Raises OSError."""
        takes_ipv4 = host == ANY_IPV6 and not any(
            ":" not in other and port == its_port for other, its_port in self._channel.addresses
        )
        addresses = addresses_of(host)
        lacking: OSError | None = None
        before = len(bound)
        for address in addresses:
            if (address, port) in (each.getsockname()[:2] for each in bound):
                continue  # another entry of the list is the same address, as localhost and 127.0.0.1 are
            try:
                bound.append(bind_tcp(address, port, takes_ipv4=takes_ipv4))
            except OSError as error:
                if error.errno not in LACKING:
                    raise
                lacking = error
            else:
                port = bound[-1].getsockname()[1]  # what the system chose for port 0
        if lacking is not None and len(bound) == before and not self._channel.inet_is_default:
            raise lacking


def check_channel(channel: ChannelConfig) -> None:
    """Check the addresses of the channel without listening.

    Raises:
        SonicError: a name in channel.inet is not known, or the folder of channel.unix_socket is missing.
    """
    for name, (host, _) in zip(channel.inet, channel.addresses, strict=True):
        with explaining(name, "channel.inet"):
            addresses_of(host)
    if channel.unix_socket is not None:
        with explaining(str(channel.unix_socket), "channel.unix_socket"):
            channel.unix_socket.parent.stat()


def addresses_of(host: str) -> list[str]:
    """Return the IP addresses of a host name or address. Raises OSError if the name is not known."""
    if host.lower() == LOCALHOST:
        return list(LOOPBACK)
    if ":" in host:
        return [host]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def bind_tcp(host: str, port: int, *, takes_ipv4: bool = False) -> socket.socket:
    """Return a TCP socket bound to a port of an IP address. Raises OSError.

    Args:
        takes_ipv4: whether a socket bound to an IPv6 address accepts IPv4 connections, too.
    """
    numeric = socket.AI_NUMERICHOST | socket.AI_PASSIVE
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=numeric)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of an earlier server may linger
        # Accepted connections inherit this. Without it and a time-out, a peer whose machine died stays for ever.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not takes_ipv4)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def bind_unix(path: Path) -> socket.socket:
    """Return a Unix socket bound to `path`; it replaces a socket that no process listens on. Raises OSError."""
    _make_way(path)
    bound = socket.socket(socket.AF_UNIX)
    try:
        bound.bind(str(path))
        try:
            path.chmod(UNIX_SOCKET_MODE)  # before `listen`, so that no client connects earlier
        except OSError:
            path.unlink()
            raise
    except OSError:
        bound.close()
        raise
    return bound


def _make_way(path: Path) -> None:
    """Delete the socket that a server left behind when it died. Raises OSError if `path` is anything else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)  # connecting would block if the other server's queue is full
        code = probe.connect_ex(str(path))
    if code in (0, errno.EAGAIN):
        raise OSError(errno.EADDRINUSE, "another process listens there")
    if code != errno.ECONNREFUSED:
        raise OSError(code, os.strerror(code))
    path.unlink(missing_ok=True)


def _inode(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def name_of(bound: socket.socket) -> str:
    """Return the address of a socket: host:port, [host]:port or a path."""
    address = bound.getsockname()
    if bound.family == socket.AF_UNIX:
        return str(address)
    return f"[{address[0]}]:{address[1]}" if bound.family == socket.AF_INET6 else f"{address[0]}:{address[1]}"


def url_of(bound: socket.socket, *, is_tls: bool) -> str:
    """Return the URL with which a client of this machine connects to a socket, with TLS if `is_tls`."""
    if bound.family == socket.AF_UNIX:
        return f"sonic+unix://{quote(os.path.abspath(name_of(bound)))}"
    host, port = bound.getsockname()[:2]
    host = SOMEWHERE.get(host, host)
    return f"{'sonics' if is_tls else 'sonic'}://{f'[{host}]' if ':' in host else host}:{port}"


@contextlib.contextmanager
def explaining(name: str, key: str) -> Iterator[None]:
    """Turn an OSError inside a `with` block into a SonicError with the address and the setting to change."""
    try:
        yield
    except OSError as error:
        advice = "or --inet to a free address" if key == "channel.inet" else "to another one"
        raise SonicError(f"cannot listen on {name}: {error.strerror or error}; set {key} {advice}") from error
