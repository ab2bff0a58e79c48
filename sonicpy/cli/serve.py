"""`sonicpy serve`: load the settings and run the server until it is told to stop."""

import argparse

from sonicpy.cli.settings import SOURCES, add_flags, load_settings
from sonicpy.server import server

DESCRIPTION = f"Answer the Sonic Channel protocol. {SOURCES}"


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
    return server.serve(loaded, _say_nothing if quiet else _say)


def _say(line: str) -> None:
    print(line, flush=True)


def _say_nothing(line: str) -> None:
    """Announce nothing: at log levels `off` and `error` the server is silent."""
