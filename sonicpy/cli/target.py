"""Which index a verb works on: a folder (`--data DIR`, `-c FILE`) or a server (`--server URL`), with the same methods.

    --data or -c          that folder, or the one of these settings
    --server URL          that server
    neither               the server of the variable SONICPY_SERVER; without it the folder of the settings that serve
                          would use

The password of a server stands in its URL, or in the variable SONICPY_PASSWORD, which no list of processes shows.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from sonicpy.cli.settings import add_index_flags, load_settings
from sonicpy.client.address import read_url
from sonicpy.client.blocking.client import Client
from sonicpy.client.blocking.connect import RETRY_S, TIMEOUT_S, connect
from sonicpy.config import Config
from sonicpy.errors import ConfigError, StoreError, StoreLocked
from sonicpy.index.index import Index
from sonicpy.index.maintenance.verify import holds_store
from sonicpy.index.read_only import ReadOnlyIndex

SERVER_VARIABLE = "SONICPY_SERVER"
PASSWORD_VARIABLE = "SONICPY_PASSWORD"
"""Not SONIC_..., which are settings."""

WHERE = f"""\
The index is the folder --data, or the server --server; without either the server in the variable {SERVER_VARIABLE},
else the folder of the settings."""

Target = Index | Client


class Purpose(Enum):
    """What a verb does with an index."""

    READ = "read"
    """Works while a server has the folder open."""
    COPY = "copy"
    """As READ, but what a killed process left in the log must not be missing: it is folded in first."""
    WRITE = "write"
    """Of an index that is there."""
    CREATE = "create"
    """The folder is made where it is missing."""


def add_target_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c, --data, --server and --json."""
    add_index_flags(parser)
    parser.add_argument(
        "--server", metavar="URL", help=f"a server, sonic://:password@host:1491 (default: {SERVER_VARIABLE})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one value a line")


def server_url(arguments: argparse.Namespace) -> str | None:
    """Return the URL of the server that is meant, or None for a folder.

    Raises:
        ConfigError: a folder and a server are named.
    """
    is_local = arguments.data is not None or arguments.config is not None
    if arguments.server is not None and is_local:
        raise ConfigError("flag --server names a server, --data and -c name a folder; allowed is one of both.")
    url: str | None = arguments.server
    return url if url is not None or is_local else os.environ.get(SERVER_VARIABLE) or None


@contextmanager
def open_target(arguments: argparse.Namespace, purpose: Purpose = Purpose.READ) -> Iterator[Target]:
    """The index that the arguments mean, for the length of a `with` block.

    Args:
        purpose: READ opens a folder beside the server that writes it.

    Raises:
        ConfigError: the settings or the URL are wrong.
        SonicError: there is no such index, it cannot be opened, or the server does not answer.
    """
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            yield client
    else:
        with open_folder(load_settings(arguments).config, purpose) as index:
            yield index


def open_server(url: str, *, timeout_s: float = TIMEOUT_S, retry_s: float = RETRY_S) -> Client:
    """Return a client of a server, with the password of its URL or of the variable. Raises like `open_target`."""
    password = None if read_url(url).password else os.environ.get(PASSWORD_VARIABLE) or None
    return connect(url, password=password, timeout_s=timeout_s, retry_s=retry_s)


@contextmanager
def open_folder(config: Config, purpose: Purpose) -> Iterator[Index]:
    """The index in the folder of the settings, for the length of a `with` block. Raises like `open_target`."""
    folder = config.store.kv.path
    if purpose is not Purpose.CREATE:
        expect_index(folder)
    with _opened(folder, config, purpose) as index:
        yield index


def _opened(folder: Path, config: Config, purpose: Purpose) -> Index:
    if purpose is Purpose.COPY and os.access(folder, os.W_OK):
        with suppress(StoreLocked):  # then its writer does that
            Index(folder, config).close()
    if purpose in (Purpose.READ, Purpose.COPY):
        return ReadOnlyIndex(folder, config)
    try:
        return Index(folder, config)
    except StoreLocked as locked:
        raise StoreLocked(f"{locked}; or change it through the server, with --server URL") from locked


def expect_index(folder: Path) -> None:
    """Raise StoreError unless there is an index in a folder, and this process may look into it."""
    if not holds_store(folder):
        raise StoreError(f"there is no index in {folder}")
