"""`sonicpy serve`: load the settings and run the server until it is told to stop."""

import argparse
import os
from pathlib import Path

from sonicpy.config import SEARCHED_FILES, load
from sonicpy.server import server

DESCRIPTION = f"""\
Answer the Sonic Channel protocol. Settings come from the defaults, the settings file, the environment
(SONIC_SEARCH__RANKING=newest sets search.ranking) and these flags; the later one wins. Without -c the first of these
files is read, if there is one: {", ".join(map(str, SEARCHED_FILES))}."""


def add_verb(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `serve` and its arguments to the command line."""
    parser = verbs.add_parser("serve", help="run the server", description=DESCRIPTION)
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file (TOML)")
    parser.add_argument("--inet", metavar="HOST:PORT", help="where to listen; several with commas (channel.inet)")
    parser.add_argument("--data", metavar="DIR", help="folder of the index (store.kv.path)")
    parser.add_argument("--log-level", metavar="L", help="off, error, warn, info, debug or trace (server.log_level)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the server and return its exit status.

    Raises:
        SonicError: the settings are wrong, or the server cannot start.
    """
    flags = {
        "channel.inet": arguments.inet,
        "store.kv.path": arguments.data,
        "server.log_level": arguments.log_level,
    }
    loaded = load(arguments.config, os.environ, flags)
    quiet = loaded.config.server.log_level in ("off", "error")
    return server.serve(loaded, _say_nothing if quiet else _say)


def _say(line: str) -> None:
    print(line, flush=True)


def _say_nothing(line: str) -> None:
    """A server that is to be silent is started by something that reads nothing."""
