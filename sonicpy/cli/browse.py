"""`sonicpy browse`: the page over a folder or a server, on this machine alone, read-only."""

import argparse
import asyncio
import importlib
import os
import socket
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sonicpy.cli.arguments import Verbs, number
from sonicpy.cli.target import expect_index, password_beside
from sonicpy.client.address import read_urls
from sonicpy.client.aio.connect import connect_async
from sonicpy.errors import ConfigError, SonicError
from sonicpy.index.read_only_index import ReadOnlyIndex

HOST = "127.0.0.1"
PORT_MAX = 65535
DESCRIPTION = """\
Look into an index with a browser: search as you type, why objects are found or not, what the index holds. WHERE is the
folder of an index, or the URL of a server. The page is served on this machine alone, and changes nothing."""


def add_verbs(verbs: Verbs) -> None:
    """Add `browse` and its arguments to the command line."""
    parser = verbs.add_parser("browse", description=DESCRIPTION, epilog="example: sonicpy browse ./data/store")
    parser.add_argument("where", metavar="WHERE", help="a folder, or sonic://host:1491")
    parser.add_argument("--port", metavar="N", type=_port, default=0, help="port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not start a browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until the process is interrupted; return the exit status.

    Raises:
        ConfigError: the extra is not installed.
        SonicError: there is no such index, the server does not answer, or the port is not free.
    """
    try:
        make_app = importlib.import_module("sonicpy.http").app
        uvicorn = importlib.import_module("uvicorn")
    except ModuleNotFoundError as error:
        raise ConfigError(f"browse needs the package {error.name}: run pip install 'sonicpy-search[http]'.") from error
    asyncio.run(_serve(arguments, lambda source: make_app(source, read_only=True, hosts=()), uvicorn))
    return 0


async def _serve(arguments: argparse.Namespace, make_app: Any, uvicorn: Any) -> None:
    async with _source(arguments.where) as source:
        listening = _listening(arguments.port)
        config = uvicorn.Config(
            make_app(source), lifespan="off", log_level="error", access_log=False, server_header=False, ws="none",
            proxy_headers=False,
        )  # fmt: skip
        server = uvicorn.Server(config)
        announced = asyncio.create_task(_announce(server, arguments))
        await server.serve([listening])
        announced.cancel()


def _port(text: str) -> int:
    port = number(text)
    if port > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text} is no port; allowed are numbers up to {PORT_MAX}")
    return port


def _listening(port: int) -> socket.socket:
    """Return a socket that listens. Raises SonicError if the port is not free."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        why = os.strerror(error.errno or 0)  # that of the error holds the address once more
        raise SonicError(f"cannot listen on {HOST}:{port}: {why}; set --port to a free one") from error


@asynccontextmanager
async def _source(where: str) -> AsyncIterator[Any]:
    """Yield a client of the server, or the index in the folder, for the length of a `with` block.

    Args:
        where: the URL of a server, or the path of a folder.
    """
    if "://" in where:
        async with await connect_async(where, password=password_beside(where)) as client:
            yield client
        return
    expect_index(Path(where))
    with ReadOnlyIndex(Path(where)) as index:
        yield index


def _shown(where: str) -> str:
    """Return `where`, a folder or a URL, for messages, without a password."""
    return ", ".join(map(str, read_urls(where))) if "://" in where else where


async def _announce(server: Any, arguments: argparse.Namespace) -> None:
    """Print the address once the server listens, and open a browser."""
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://{HOST}:{port}/"
    print(f"{_shown(arguments.where)} is shown on {url} (Ctrl-C ends)", flush=True)
    if not arguments.no_open:
        await asyncio.to_thread(webbrowser.open, url)
