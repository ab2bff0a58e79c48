"""The flags that give settings, and the settings from all sources."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sonicpy.arguments import is_address
from sonicpy.config.defaults import defaults_in
from sonicpy.config.searched_files import ENVIRONMENT_PREFIX, SEARCHED_FILES, find_file
from sonicpy.errors import ConfigError

if TYPE_CHECKING:
    from sonicpy.config import Config, Loaded

SOURCES = f"""\
Settings come from the defaults, the settings file, the environment (SONIC_SEARCH__RANKING=newest sets search.ranking)
and the flags; a later source overrides an earlier one. Without -c, the first of these files that exists is read:
{", ".join(map(str, SEARCHED_FILES))}."""


def add_index_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c and --data, which name the folder of an index."""
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file (TOML)")
    parser.add_argument("--data", metavar="DIR", help="folder of the index (store.kv.path)")
    parser.set_defaults(inet=None, log_level=None)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add -c and the flags that set one key each."""
    add_index_flags(parser)
    parser.add_argument("--inet", metavar="HOST:PORT", help="where to listen; commas separate several (channel.inet)")
    parser.add_argument("--log-level", metavar="L", help="off, error, warn, info, debug or trace (server.log_level)")


def index_settings(arguments: argparse.Namespace) -> "Config":
    """Return the settings of an index, as `load_settings` does; if no source gives any, the defaults, which load four
    times as fast. Raises ConfigError.
    """
    folder = _folder_of(arguments)
    has_more = arguments.config is not None or any(name.upper().startswith(ENVIRONMENT_PREFIX) for name in os.environ)
    if folder and folder.isprintable() and "$" not in folder and not has_more and find_file() is None:
        return defaults_in(Path(folder))
    return load_settings(arguments).config


def load_settings(arguments: argparse.Namespace) -> "Loaded":
    """Return the settings from the arguments and all other sources. Raises ConfigError if one is wrong."""
    from sonicpy.config import load  # noqa: PLC0415  loaded when it is needed

    flags = {
        "channel.inet": arguments.inet,
        "store.kv.path": _folder_of(arguments),
        "server.log_level": arguments.log_level,
    }
    return load(arguments.config, os.environ, flags)


def _folder_of(arguments: argparse.Namespace) -> str | None:
    """Return the folder of --data, or None. Raises ConfigError if it is the address of a server."""
    folder: str | None = arguments.data
    if folder is not None and is_address(folder):
        raise ConfigError("flag --data holds the address of a server; allowed is a folder.")
    return folder
