"""Kinds of values: an annotated type for each, with the text that follows "allowed is" in error messages.

Every type accepts a value as TOML gives it, and as a string, because environment variables are strings.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator


@dataclass(frozen=True, slots=True)
class Allowed:
    """The end of the sentence "allowed is ..." for a type, and whether error messages must not show the value."""

    text: str
    secret: bool = False


def split_address(text: str) -> tuple[str, int]:
    """Return the (host, port) of "host:port" or "[IPv6]:port".

    Raises:
        ValueError: the text has another shape, or the port is above 65535.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if not colon or not host or bracketed != (":" in host):
        raise ValueError("not host:port")
    if not port.isascii() or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise ValueError("not a port")
    return host, int(port)


HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?\Z",
    re.IGNORECASE | re.ASCII,
)
"""Matches the name of a machine. Its last part begins with a letter, so that a misspelt IPv4 address is no name."""


def _check_inet(inet: str) -> str:
    host = split_address(inet)[0]
    if not HOST_NAME.match(host):
        ip_address(host)
    return inet


def _fold(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _refuse_boolean(value: object) -> object:
    # Pydantic reads true as 1.
    if isinstance(value, bool):
        raise ValueError("not a number")
    return value


def _check_origin(value: str) -> str:
    if ORIGIN.fullmatch(value) is None:
        raise ValueError("not an origin")
    return value


def _check_host(value: str) -> str:
    if HOST_NAME.match(value) is None:
        raise ValueError("not a name of a machine")
    return value


def _check_network(value: str) -> str:
    ip_network(value)
    return value


def _check_unicode(value: str) -> str:
    value.encode()  # environment variables may hold bytes that are not UTF-8; the error is a ValueError
    return value


def _split_words(value: object) -> object:
    if not isinstance(value, str):
        return value
    return [word.strip() for word in value.split(",") if word.strip()]


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


def _refuse_no_path(value: object) -> object:
    if value == "" or (isinstance(value, str) and "\0" in value):
        raise ValueError("not a path")
    return value


def _read_ordered(value: object) -> object:
    folded = _fold(value)
    if folded is True or folded == "true":
        return (EVERY,)
    return () if folded is False or folded == "false" else _split_words(value)


def _read_processes(value: object) -> int | str:
    value = _refuse_boolean(_fold(value))
    if value == AUTO:
        return AUTO
    number = int(value) if isinstance(value, int | str) else -1
    if not 0 <= number <= PROCESSES_MAX:
        raise ValueError("too many processes")
    return number


AUTO = "auto"
EVERY = "*"
"""The name that, in a list of buckets, means all buckets."""
U16_MAX = 0xFFFF
U32_MAX = 0xFFFF_FFFF
PROCESSES_MAX = 256
MAP_SIZE_MB_MAX = 16 * 1024 * 1024
"""The largest map in MB, 16 TiB: with more, a few stores side by side would use up the address space of a 48-bit
processor."""

Limit = Annotated[
    int, Field(ge=0, le=U16_MAX), BeforeValidator(_refuse_boolean), Allowed(f"a whole number from 0 to {U16_MAX}")
]
Number32 = Annotated[
    int, Field(ge=0, le=U32_MAX), BeforeValidator(_refuse_boolean), Allowed(f"a whole number from 0 to {U32_MAX}")
]
ProcessesOrAuto = Annotated[
    int | Literal["auto"],
    PlainValidator(_read_processes),
    Allowed(f'"auto", or a whole number from 0 to {PROCESSES_MAX}'),
]
Seconds = Annotated[
    int,
    Field(ge=0, le=U32_MAX),
    BeforeValidator(_refuse_boolean),
    Allowed(f"a whole number of seconds from 0 to {U32_MAX}"),
]
Megabytes = Annotated[
    int,
    Field(ge=1, le=MAP_SIZE_MB_MAX),
    BeforeValidator(_refuse_boolean),
    Allowed(f"a whole number of MiB from 1 to {MAP_SIZE_MB_MAX}"),
]
WholeNumber = Annotated[int, BeforeValidator(_refuse_boolean), Allowed("a whole number")]
WholeNumberOrNone = Annotated[int | None, BeforeValidator(_refuse_boolean), Allowed("a whole number")]
Share = Annotated[
    float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_refuse_boolean), Allowed("a number from 0 upward")
]
TrueOrFalse = Annotated[bool, Allowed("true or false")]
Text = Annotated[str, AfterValidator(_check_unicode), Allowed("text in quotes, in UTF-8")]
Password = Annotated[Text | None, BeforeValidator(_empty_is_none), Allowed("text in quotes, in UTF-8", secret=True)]
TextOrNone = Annotated[Text | None, BeforeValidator(_empty_is_none), Allowed("text in quotes, in UTF-8")]
FUNCTION = 'module:function, or the absolute path of a file in the place of the module, such as "/srv/model.py:embed"'
FunctionOrNone = Annotated[
    Annotated[str, Field(pattern=r"^(/[^\x00]+|[A-Za-z_][\w.]*):[A-Za-z_]\w*$")] | None,
    BeforeValidator(_empty_is_none),
    Allowed(FUNCTION),
]
Ordered = Annotated[
    tuple[Annotated[str, Field(pattern=r"^(\*|[!-~]+( [!-~]+)?)$")], ...],
    BeforeValidator(_read_ordered),
    Allowed('true, false, or a list of collections, and of buckets such as "messages default"'),
]
Words = Annotated[tuple[Text, ...], BeforeValidator(_split_words), Allowed("a list of words, in UTF-8")]
Folder = Annotated[Path, BeforeValidator(_refuse_no_path), Allowed("the path of a folder")]
FileOrNone = Annotated[
    Path | None, BeforeValidator(_refuse_no_path), BeforeValidator(_empty_is_none), Allowed("the path of a file")
]
INET = 'an address and a port, such as "127.0.0.1:1491", "[::1]:1491" or "localhost:1491"'
Inet = Annotated[str, AfterValidator(_check_inet)]
InetOrNone = Annotated[Inet | None, BeforeValidator(_empty_is_none), Allowed(INET)]
Inets = Annotated[tuple[Inet, ...], BeforeValidator(_split_words), Allowed(f"{INET}, or a list of them")]

ORIGIN = re.compile(r"\*|https?://[^/\s\"]+")
Origin = Annotated[str, AfterValidator(_check_origin)]
Origins = Annotated[
    tuple[Origin, ...],
    BeforeValidator(_split_words),
    Allowed('"*", or a list of origins such as "https://example.com"'),
]

HostNames = Annotated[
    tuple[Annotated[str, AfterValidator(_check_host)], ...],
    BeforeValidator(_split_words),
    Allowed('a list of names without a port, such as "search.example.com"'),
]
Proxies = Annotated[
    tuple[Annotated[str, AfterValidator(_check_network)], ...],
    BeforeValidator(_split_words),
    Allowed('a list of IP addresses and networks, such as "127.0.0.1" or "10.0.0.0/8"'),
]

Compat = Annotated[Literal["none", "sonic"], BeforeValidator(_fold)]
LogLevel = Annotated[Literal["off", "error", "warn", "info", "debug", "trace"], BeforeValidator(_fold)]
UnicodeNormalization = Annotated[Literal["none", "nfc", "nfkc"], BeforeValidator(_fold)]
StopwordsMode = Annotated[Literal["weigh", "drop"], BeforeValidator(_fold)]
Ranking = Annotated[Literal["bm25", "sonic", "newest"], BeforeValidator(_fold)]
Stemming = Annotated[Literal["auto", "off"], BeforeValidator(_fold)]
SuggestOrder = Annotated[Literal["likely", "alphabetical"], BeforeValidator(_fold)]
GroupAccess = Annotated[Literal["none", "read", "write"], BeforeValidator(_fold)]
Durability = Annotated[Literal["interval", "commit"], BeforeValidator(_fold)]
