"""`sonicpy serve`: load the settings and run the server until a signal stops it."""

import argparse

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.settings import SOURCES, add_flags, load_settings
from sonicpy.server import server

DESCRIPTION = f"Run the server, which speaks the Sonic Channel protocol. {SOURCES}"


def add_verbs(verbs: Verbs) -> None:
    """Add `serve` and its arguments to the command line."""
    parser = verbs.add_parser(
        "serve", description=DESCRIPTION, epilog="example: sonicpy serve --data ./data/store --inet 127.0.0.1:1491"
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the server and return its exit status.

    Raises:
        SonicError: the settings are wrong, or the server cannot start.
    """
    loaded = load_settings(arguments)
    quiet = loaded.config.server.log_level in ("off", "error")
    return server.serve(loaded, _announce_nothing if quiet else _announce)


def _announce(line: str) -> None:
    print(line, flush=True)


def _announce_nothing(line: str) -> None:
    """Announce nothing: at log levels `off` and `error` the server is silent."""
