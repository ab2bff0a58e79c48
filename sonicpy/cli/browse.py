"""`sonicpy browse`: the page over a folder or a server, on this machine alone, read-only."""

import argparse
import asyncio
import importlib
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.target import expect_index
from sonicpy.client.aio.connect import connect_async
from sonicpy.errors import ConfigError
from sonicpy.index.read_only import ReadOnlyIndex

HOST = "127.0.0.1"
DESCRIPTION = """\
Look into an index with a browser: search as you type, why objects are found or not, what the index holds. WHERE is the
folder of an index, or the URL of a server. The page is served on this machine alone, and changes nothing. It needs the
extra: pip install 'sonicpy-search[http]'."""


def add_verbs(verbs: Verbs) -> None:
    """Add `browse` and its arguments to the command line."""
    parser = verbs.add_parser("browse", description=DESCRIPTION, epilog="example: sonicpy browse ./data/store")
    parser.add_argument("where", metavar="WHERE", help="a folder, or sonic://:password@host:1491")
    parser.add_argument("--port", metavar="N", type=int, default=0, help="port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not start a browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until the process is interrupted.

    Raises:
        ConfigError: the extra is not installed.
        SonicError: there is no such index, or the server does not answer.
    """
    try:
        make_app = importlib.import_module("sonicpy.http").app
        guard = importlib.import_module("starlette.middleware.trustedhost").TrustedHostMiddleware
        uvicorn = importlib.import_module("uvicorn")
    except ModuleNotFoundError as error:
        raise ConfigError(f"browse needs the package {error.name}: run pip install 'sonicpy-search[http]'.") from error
    # A foreign page may give this machine's address a name of its own, to be of the same origin.
    asyncio.run(_serve(arguments, lambda source: guard(make_app(source, read_only=True), [HOST, "localhost"]), uvicorn))
    return 0


async def _serve(arguments: argparse.Namespace, make_app: Any, uvicorn: Any) -> None:
    async with _source(arguments.where) as source:
        config = uvicorn.Config(
            make_app(source), host=HOST, port=arguments.port, lifespan="off", log_level="error",
            access_log=False, server_header=False, ws="none",
        )  # fmt: skip
        server = uvicorn.Server(config)
        announced = asyncio.create_task(_announce(server, arguments))
        await server.serve()
        announced.cancel()


@asynccontextmanager
async def _source(where: str) -> AsyncIterator[Any]:
    """Yield a client of the server, or the index in the folder, for the length of a `with` block."""
    if "://" in where:
        async with await connect_async(where) as client:
            yield client
        return
    expect_index(Path(where))
    with ReadOnlyIndex(Path(where)) as index:
        yield index


async def _announce(server: Any, arguments: argparse.Namespace) -> None:
    """Print the address once the server listens, and open a browser."""
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://{HOST}:{port}/"
    print(f"{arguments.where} is shown on {url} (Ctrl-C ends)", flush=True)
    if not arguments.no_open:
        await asyncio.to_thread(webbrowser.open, url)
