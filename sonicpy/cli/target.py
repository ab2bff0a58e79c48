"""The index that a verb works on: in a folder or on a server, with the same methods.

    --data DIR, -c FILE   the folder DIR, or the folder in the settings of FILE
    --server URL          that server
    neither               the server in the variable SONICPY_SERVER; without it, the folder that serve would use

The password of a server comes from its URL, else from the sources in `passwords.py`.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sonicpy.cli.output import add_json
from sonicpy.cli.passwords import password_given
from sonicpy.cli.settings import add_index_flags, index_settings
from sonicpy.client.client_settings import RETRY_S, TIMEOUT_S
from sonicpy.errors import ConfigError, StoreError, StoreLocked
from sonicpy.index.index import Index
from sonicpy.index.maintenance.verify import holds_store
from sonicpy.index.read_only_index import ReadOnlyIndex

if TYPE_CHECKING:
    from sonicpy.client.blocking.client import Client
    from sonicpy.config import Config

SERVER_VARIABLE = "SONICPY_SERVER"
"""The name of the variable; it does not begin with SONIC_, unlike those of settings."""

WHERE = f"""\
The index is the folder --data or the server --server; without either, the server in the variable {SERVER_VARIABLE},
else the folder of the settings."""

Target: TypeAlias = "Index | Client"


class Purpose(Enum):
    """The ways in which verbs open a folder."""

    READ = "read"
    """Opens read-only, so it works while a server has the folder open."""
    COPY = "copy"
    """Opens as READ does, after recovery, because a copy must include changes that a killed process left only in the
    log.
    """
    WRITE = "write"
    """Opens an existing index for writing."""
    CREATE = "create"
    """Opens for writing, and creates the folder if it is missing."""


def add_target_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c, --data, --server and --json."""
    add_index_flags(parser)
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"a server, sonic://host:1491, or several, host1,host2 (default: {SERVER_VARIABLE})",
    )
    add_json(parser)


def server_url(arguments: argparse.Namespace) -> str | None:
    """Return the URL of the server that the arguments name, or None for a folder.

    Raises:
        ConfigError: the arguments name both a folder and a server.
    """
    is_local = arguments.data is not None or arguments.config is not None
    if arguments.server is not None and is_local:
        raise ConfigError("flag --server names a server, --data and -c name a folder; allowed is one of the two.")
    url: str | None = arguments.server
    return url if url is not None or is_local else os.environ.get(SERVER_VARIABLE) or None


@contextmanager
def open_target(arguments: argparse.Namespace, purpose: Purpose = Purpose.READ) -> Iterator[Target]:
    """Open the index that the arguments name, for the length of a `with` block.

    Args:
        purpose: the way in which a folder is opened.

    Raises:
        ConfigError: the settings or the URL are wrong.
        SonicError: there is no such index, it cannot be opened, or the server gives no answer.
    """
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            yield client
    else:
        with open_folder(index_settings(arguments), purpose) as index:
            yield index


def open_server(url: str, *, timeout_s: float = TIMEOUT_S, retry_s: float = RETRY_S) -> "Client":
    """Return a client of one or several servers, with the password of the URL, the variable or the file.

    Raises:
        as `open_target`.
    """
    from sonicpy.client.blocking.connect import connect  # noqa: PLC0415  a folder needs no client

    return connect(url, password=password_beside(url), timeout_s=timeout_s, retry_s=retry_s)


def password_beside(url: str) -> str | None:
    """Return the password to use with a URL that has none; None for other URLs. Raises ConfigError for a wrong URL, or
    as `password_given`.
    """
    from sonicpy.client.address import read_urls  # noqa: PLC0415  a folder needs no client

    has_password = any(address.password for address in read_urls(url))
    return None if has_password else password_given()


@contextmanager
def open_folder(config: "Config", purpose: Purpose) -> Iterator[Index]:
    """Open the index in the folder of the settings for the length of a `with` block. Raises as `open_target`."""
    folder = config.store.kv.path
    if purpose is not Purpose.CREATE:
        expect_index(folder)
    with _opened(folder, config, purpose) as index:
        yield index


def _opened(folder: Path, config: "Config", purpose: Purpose) -> Index:
    if purpose is Purpose.COPY and os.access(folder, os.W_OK):
        with suppress(StoreLocked):  # the process that has it open has recovered it
            Index(folder, config).close()
    if purpose in (Purpose.READ, Purpose.COPY):
        return ReadOnlyIndex(folder, config)
    return Index(folder, config)


def expect_index(folder: Path) -> None:
    """Raise StoreError unless a folder holds an index that this process may read."""
    if not holds_store(folder):
        raise StoreError(f"there is no index in {folder}")
