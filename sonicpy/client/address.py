"""Addresses of servers, read from URLs.

    sonic://host[:port]       TCP; without a host, this machine
    sonics://host[:port]      TCP with TLS; ?ca=FILE trusts that certificate, not the system's
    sonic+unix:///path        a Unix socket

For several servers, give hosts separated by commas, `sonic://:password@host1:port,host2:port`, or URLs separated by
commas.

A URL gives the password as `//:password@host` or as ?password=; characters that URLs reserve are percent-encoded.
"""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from sonicpy.errors import ConfigError

DEFAULT_PORT = 1491
LOOPBACK = ("::1", "127.0.0.1")
FORMS = "sonic://:password@host:1491, sonics://:password@host:1491 or sonic+unix:///path?password=secret"
_BETWEEN_URLS = re.compile(r",(?=sonics?://|sonic\+unix://)")
_HOSTS = re.compile(r"(?P<head>sonics?://(?:[^/?#]*@)?)(?P<hosts>[^/?#@]*)(?P<tail>.*)", re.DOTALL)
_KEYS = {"sonic": {"password"}, "sonics": {"password", "ca"}, "sonic+unix": {"password"}}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server: a TCP host and port, or a Unix socket."""

    host: str = "localhost"
    port: int = DEFAULT_PORT
    unix: Path | None = None
    """The path of a Unix socket, instead of host and port."""
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts to try in order; for localhost both loopback addresses, whatever the machine's hosts file says.

        By default a server listens on both; in compat mode on the first, or on the second if there is no IPv6.
        """
        return LOOPBACK if self.host == "localhost" else (self.host,)

    def __str__(self) -> str:
        if self.unix is not None:
            return str(self.unix)
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_urls(
    urls: str | Sequence[str], *, password: str | None = None, tls: ssl.SSLContext | None = None
) -> list[Address]:
    """Return the addresses in one or several texts with URLs, each once, in order.

    Arguments and errors as in `read_url`; also raises ConfigError if there is no address.
    """
    texts = [urls] if isinstance(urls, str) or not isinstance(urls, Sequence) else urls
    found = [read_url(url, password=password, tls=tls) for text in texts for url in split_urls(text)]
    if not found:
        raise ConfigError(f"there is no address of a server; allowed is {FORMS}.")
    return list(dict.fromkeys(found))


def split_urls(text: str) -> list[str]:
    """Return one URL for each server in a text: `sonic://:p@a,b` becomes `sonic://:p@a` and `sonic://:p@b`. Raises
    ConfigError if a host is empty.
    """
    _check_text("address", text)
    urls = []
    for url in _BETWEEN_URLS.split(text):
        parts = _HOSTS.fullmatch(url)
        hosts = [] if parts is None else parts["hosts"].split(",")
        if parts is None or len(hosts) == 1:
            urls.append(url)
            continue
        if "" in hosts:
            where = "" if "@" in parts["tail"] else f' in "{parts["hosts"]}"'  # else they are a part of a password
            raise ConfigError(f"the address of the server has no host beside a comma{where}.")
        urls += [parts["head"] + host + parts["tail"] for host in hosts]
    return urls


def read_url(url: str, *, password: str | None = None, tls: ssl.SSLContext | None = None) -> Address:
    """Return the address that `url` names.

    Args:
        password: replaces the one in the URL.
        tls: the TLS context; None: the URL decides.

    Raises:
        ConfigError: the URL has no known form, or its password cannot be sent. The message holds no password.
    """
    _check_text("address", url)
    _check_text("password", password or "")
    try:
        parts = urlsplit(url)
    except ValueError:  # the message may hold a part of a password, as that of a port may
        raise ConfigError(f"the address of the server cannot be read: its host is wrong; allowed is {FORMS}.") from None
    if not parts.scheme:
        raise ConfigError(f"the address of the server does not begin with sonic:// or the like; allowed is {FORMS}.")
    if parts.scheme not in _KEYS:
        raise ConfigError(f'the address of the server begins with "{parts.scheme}:"; allowed is {FORMS}.')
    try:
        port = parts.port
    except ValueError:
        raise ConfigError(
            "the address of the server cannot be read: its port is no number from 0 to 65535, or its password has a /, "
            f"? or # that is not percent-encoded; allowed is {FORMS}."
        ) from None
    if parts.scheme != "sonic+unix" and any("@" in part for part in (parts.path, parts.fragment)):
        raise ConfigError(
            "the address of the server has an @ after the port; allowed is a password before the host, with /, ? and # "
            f"percent-encoded: {FORMS}."
        )
    options = _options(parts)
    if password is None:
        password = options.get("password") if parts.password is None else _decoded(parts.password)
    if password is not None:
        password = _checked(password)
    if parts.scheme == "sonic+unix":
        if parts.hostname or not parts.path.strip("/"):
            raise ConfigError("sonic+unix needs a path after three slashes, as in sonic+unix:///run/sonicpy.sock.")
        return Address(unix=Path(_decoded(parts.path)), password=password)
    if parts.path.strip("/"):
        raise ConfigError(f'the address of the server has "{parts.path}" after the port; allowed is {FORMS}.')
    if parts.scheme == "sonics" and tls is None:
        tls = tls_context(options.get("ca"), "ca={} in the address of the server")
    return Address(parts.hostname or "localhost", port or DEFAULT_PORT, password=password, tls=tls)


def _check_text(what: str, given: object) -> None:
    if not isinstance(given, str):
        raise ConfigError(f"the {what} of the server is of type {type(given).__name__}; allowed is a str: {FORMS}.")


def _options(parts: SplitResult) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape"))
    allowed = _KEYS[parts.scheme]
    for key in options:
        if key not in allowed:
            names = ", ".join(sorted(allowed))
            shown = "" if "@" in parts.query else f' "{key}"'  # else it may be a part of a password
            raise ConfigError(f"the address of the server has an unknown option{shown}; allowed: {names}.")
    return options


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape")


def _checked(password: str) -> str | None:
    if any(character.isspace() for character in password):
        raise ConfigError("the password of the server holds white space, which Sonic Channel cannot send.")
    return password or None


def tls_context(certificate: str | Path | None, where: str) -> ssl.SSLContext:
    """Return the TLS context of a client.

    Args:
        certificate: the PEM file to trust; None: the certificates of the system.
        where: the beginning of the error message, with {} for the name of the file.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError as error:
        reason = "is not a PEM certificate" if isinstance(error, ssl.SSLError) else f"cannot be read: {error.strerror}"
        raise ConfigError(f"{where.format(certificate)} {reason}.") from error
