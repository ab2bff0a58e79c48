"""The command `sonicpy`: one verb each for what a person does in a shell.

Exit status: 0 done, 1 it did not work, 2 wrong arguments or settings. Errors are one sentence on stderr.
"""

import argparse
import sys
from collections.abc import Callable

from sonicpy.cli import config, eval, folders, ping, serve
from sonicpy.errors import ConfigError, SonicError
from sonicpy.version import VERSION

FAILED = 1
WRONG_SETTINGS = 2


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: the arguments behind the command's name; None takes those of the process.

    Raises:
        SystemExit: from argparse, for --help, --version and wrong arguments.
    """
    arguments = make_parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run(arguments)
    except ConfigError as error:
        return _fail(error, WRONG_SETTINGS)
    except SonicError as error:
        return _fail(error, FAILED)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="sonicpy", description="The Sonic search backend: a small, fast index of identifiers."
    )
    parser.add_argument("--version", action="version", version=f"sonicpy {VERSION}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    serve.add_verb(verbs)
    ping.add_verb(verbs)
    config.add_verb(verbs)
    eval.add_verb(verbs)
    folders.add_verbs(verbs)
    return parser


def _fail(error: SonicError, status: int) -> int:
    print(f"sonicpy: {error}", file=sys.stderr)
    return status
