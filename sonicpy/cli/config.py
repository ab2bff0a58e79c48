"""`sonicpy config`: check a settings file, or show the settings that are in force."""

import argparse
import os
import sys
from pathlib import Path

from sonicpy.cli.settings import SOURCES, add_flags, load_settings
from sonicpy.config import Loaded, load, to_toml

CHECK = """\
Read a settings file and the environment as serve would, and list what serve would warn of. Without FILE the file that
serve would read is checked. Exit status: 0 serve would start, 2 a setting is wrong."""
SHOW = f"""\
Print every setting that has an effect as TOML, which -c of any verb reads back. A password is written as a reference
to its environment variable. {SOURCES}"""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `config check` and `config show` to the command line."""
    parser = verbs.add_parser("config", epilog="example: sonicpy config check sonicpy.cfg")
    actions = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    check = actions.add_parser("check", help="find mistakes in a settings file", description=CHECK)
    check.add_argument("file", metavar="FILE", type=Path, nargs="?", help="settings file (TOML)")
    check.set_defaults(run=run_check)
    show = actions.add_parser("show", help="print the settings in force", description=SHOW)
    add_flags(show)
    show.add_argument("--show-password", action="store_true", help="print the password itself")
    show.set_defaults(run=run_show)


def run_check(arguments: argparse.Namespace) -> int:
    """Print a line for each warning and one for the whole, and return 0. Raises ConfigError if a setting is wrong."""
    loaded = load(arguments.file, os.environ, {})
    for remark in loaded.remarks:
        print(remark)
    print(f"{_checked(loaded)} {'works, with these warnings' if loaded.remarks else 'is fine'}.")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print the settings, warnings on stderr, and return 0. Raises ConfigError if a setting is wrong."""
    loaded = load_settings(arguments)
    text = to_toml(loaded.config, with_secrets=arguments.show_password)
    for remark in loaded.remarks:
        print(f"sonicpy: {remark}", file=sys.stderr)
    print(text, end="")
    return 0


def _checked(loaded: Loaded) -> str:
    return "The environment, without a settings file," if loaded.source is None else str(loaded.source)
