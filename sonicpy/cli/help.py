"""`sonicpy help`: the overview of all verbs, or the arguments of one."""

import argparse

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.parser import overview, parse

DESCRIPTION = "Show the arguments of a verb and an example, as VERB --help does. Without VERB, list all verbs."


def add_verbs(verbs: Verbs) -> None:
    """Add `help` to the command line."""
    parser = verbs.add_parser("help", description=DESCRIPTION, epilog="example: sonicpy help query")
    parser.add_argument("verb", metavar="VERB", nargs="*", help="a verb, such as query or config show")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the help; return the exit status. Raises SystemExit, from argparse: there is no such verb, or the help of a
    verb was printed.
    """
    if not arguments.verb:
        overview().print_help()
        return 0
    parse([*arguments.verb, "--help"])
    return 0
