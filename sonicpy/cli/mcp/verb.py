"""The verb `sonicpy mcp`: serves an index to an assistant on the standard input and output."""

import argparse
from pathlib import Path

from sonicpy.api.shown import LONG_TEXT_MAX, shows
from sonicpy.cli.arguments import Verbs
from sonicpy.cli.target import SERVER_VARIABLE, Purpose, open_target

DESCRIPTION = f"""\
Offer an index to an assistant as tools of the Model Context Protocol, on the standard input and output: search,
facets, similar, suggest, explain, collections, buckets, objects and stats; with --write also push, upsert and flush of
one object. WHERE is the folder of an index, which a server may have open, or the URL of a server; without it, the
server in the variable {SERVER_VARIABLE}, else the folder of the settings. A password or a key comes from the URL,
SONICPY_PASSWORD or SONICPY_PASSWORD_FILE. Needs the extra: pip install 'sonicpy-search[mcp]'."""


def add_verbs(verbs: Verbs) -> None:
    """Add `mcp` and its arguments to the command line."""
    parser = verbs.add_parser("mcp", description=DESCRIPTION, epilog="example: sonicpy mcp /var/lib/sonicpy/store")
    parser.add_argument("where", metavar="WHERE", nargs="?", help="a folder, or sonic://host:1491")
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file (TOML) of the folder")
    parser.add_argument(
        "--write", action="store_true", help="also offer tools that change the index; a folder is made if it is missing"
    )
    parser.add_argument(
        "--show", metavar="HOW", help="give hits titles, texts and links: a .csv or .jsonl file with the columns id, "
        "title, text, link, a URL with {object}, or module:function"
    )  # fmt: skip
    parser.set_defaults(run=run, data=None, server=None, inet=None, log_level=None)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the assistant leaves; return the exit status.

    Raises:
        ConfigError: the extra is not installed, or an argument is wrong.
        SonicError: there is no such index, or the server does not answer.
    """
    from sonicpy.cli.mcp.serving import serve  # noqa: PLC0415  help and mistakes need no extra
    from sonicpy.cli.mcp.tools import ToolBox  # noqa: PLC0415

    if arguments.where is not None:
        setattr(arguments, "server" if "://" in arguments.where else "data", arguments.where)
    show = None if arguments.show is None else shows(arguments.show, LONG_TEXT_MAX)
    with open_target(arguments, Purpose.CREATE if arguments.write else Purpose.READ) as index:
        serve(ToolBox(index, changes=arguments.write, show=show))
    return 0
