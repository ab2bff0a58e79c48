"""`sonicpy config`: check a settings file, or show the settings in force."""

import argparse
import os
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.output import add_json
from sonicpy.cli.output import show as show_result
from sonicpy.cli.settings import SOURCES, add_flags, load_settings
from sonicpy.config import Loaded, load, to_toml

CHECK = """\
Read a settings file and the environment as serve would, and print the warnings that serve would log. Without FILE,
check the file that serve would read. Exit status: 0 serve would start, 2 a setting is wrong."""
SHOW = f"""\
Print every setting that has an effect, as TOML that -c of any verb can read. For a password, print a reference to its
environment variable. {SOURCES}"""

WITHOUT_WHATLANG = (
    'server.compat = "sonic" guesses the language of most texts as Sonic does; of nearly all with the extra [compat], '
    "which is not installed."
)


def add_verbs(verbs: Verbs) -> None:
    """Add `config check` and `config show` to the command line."""
    parser = verbs.add_parser("config", epilog="example: sonicpy config check sonicpy.cfg")
    actions = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    check = actions.add_parser("check", help="find mistakes in a settings file", description=CHECK)
    check.add_argument("file", metavar="FILE", type=Path, nargs="?", help="settings file (TOML)")
    check.add_argument("-c", "--config", metavar="FILE", type=Path, help="the same, as of other verbs")
    add_json(check)
    check.set_defaults(run=run_check)
    show = actions.add_parser("show", help="print the settings in force", description=SHOW)
    add_flags(show)
    show.add_argument("--show-password", action="store_true", help="print the password itself")
    add_json(show)
    show.set_defaults(run=run_show, is_utf8=True)


def run_check(arguments: argparse.Namespace) -> int:
    """Print a line for each warning and one for the result; return 0. Raises SonicError if serve would not start."""
    from sonicpy.server.server import check_settings  # noqa: PLC0415  other verbs need no server

    loaded = load(arguments.file or arguments.config, os.environ, {})
    check_settings(loaded.config)
    warnings = [*map(str, loaded.remarks), *_missing_function(loaded.config.server.embed)]
    notes = list(warnings)
    if loaded.config.server.compat == "sonic" and find_spec("whatlang") is None:
        notes.append(WITHOUT_WHATLANG)
    result = f"{_checked(loaded)} {'works, with these warnings' if warnings else 'is fine'}."
    file = None if loaded.source is None else str(loaded.source)
    show_result(arguments, {"file": file, "warnings": notes}, *notes, result)
    return 0


def _missing_function(embed: str | None) -> list[str]:
    """Return a warning if the file or the module of server.embed is missing: serve starts, but embeds no text."""
    if embed is None:
        return []
    place = embed.rpartition(":")[0]
    is_there = Path(place).is_file() if place.startswith("/") else find_spec(place.partition(".")[0]) is not None
    return [] if is_there else [f"server.embed names {place}, which is not there: texts get no vectors."]


def run_show(arguments: argparse.Namespace) -> int:
    """Print the settings to stdout and warnings to stderr; return 0. Raises ConfigError for a wrong setting."""
    loaded = load_settings(arguments)
    text = to_toml(loaded.config, with_secrets=arguments.show_password)
    for remark in loaded.remarks:
        print(f"sonicpy: {remark}", file=sys.stderr)
    show_result(arguments, tomllib.loads(text), text.removesuffix("\n"))
    return 0


def _checked(loaded: Loaded) -> str:
    return "The environment, without a settings file," if loaded.source is None else str(loaded.source)
