"""The arguments that give settings, and the settings they lead to; shared by all verbs that use some."""

import argparse
import os
from pathlib import Path

from sonicpy.config import SEARCHED_FILES, Loaded, load

SOURCES = f"""\
Settings come from the defaults, the settings file, the environment (SONIC_SEARCH__RANKING=newest sets search.ranking)
and the flags; the later one wins. Without a named file the first of these is read, if there is one:
{", ".join(map(str, SEARCHED_FILES))}."""


def add_index_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c and the flag that says which index is meant."""
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file (TOML)")
    parser.add_argument("--data", metavar="DIR", help="folder of the index (store.kv.path)")
    parser.set_defaults(inet=None, log_level=None)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c and the flags that set one key."""
    add_index_flags(parser)
    parser.add_argument("--inet", metavar="HOST:PORT", help="where to listen; several with commas (channel.inet)")
    parser.add_argument("--log-level", metavar="L", help="off, error, warn, info, debug or trace (server.log_level)")


def load_settings(arguments: argparse.Namespace) -> Loaded:
    """Return the settings that the arguments lead to. Raises ConfigError if one is wrong."""
    flags = {
        "channel.inet": arguments.inet,
        "store.kv.path": arguments.data,
        "server.log_level": arguments.log_level,
    }
    return load(arguments.config, os.environ, flags)
