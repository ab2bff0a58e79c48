"""The command `sonicpy`: one verb each for what a person does in a shell.

Results stand on stdout and nothing else; errors are one sentence on stderr. Exit status:

    0    done; also if nothing was found
    1    it did not work, or something is wrong (verify)
    2    wrong arguments or settings
    3    import: done, but some rows were refused
    130  interrupted        141  nobody reads the output any more
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from sonicpy.errors import ConfigError, SonicError
from sonicpy.version import VERSION

FAILED = 1
WRONG_SETTINGS = 2
INTERRUPTED = 130
NOBODY_READS = 141
"""What shells show for the signals SIGINT and SIGPIPE."""

MODULES = {
    "serve": "serve", "ping": "ping", "config": "config",
    "explain": "explain",
    "query": "answers", "suggest": "answers", "list": "answers", "count": "answers", "stats": "answers",
    "push": "changes", "pop": "changes", "flush": "changes", "consolidate": "changes",
    "import": "transfer", "export": "transfer",
    "eval": "eval",
    "backup": "folders", "restore": "folders", "verify": "folders",
}  # fmt: skip
"""Which module of this package adds a verb. Only the one that is asked for is loaded: a server lives long, and has no
use for the others."""

VERBS = """\
server
  serve        run the server
  ping         ask a server whether it answers
  config       check or show the settings

ask
  query        objects that answer a text
  suggest      words that complete or correct a word
  list         the words of a bucket
  count        buckets, words, words of an object
  explain      why a query answers what it does
  stats        figures of an index, a collection or a bucket

change
  push         add a text to an object
  pop          take the words of a text from an object
  flush        forget a collection, a bucket or an object
  import       push the rows of a JSONL, CSV, TSV or Parquet file

judge
  eval         measure how well texts are found

keep
  export       write every object and its words as JSONL
  backup       write a backup
  restore      take collections from a backup
  verify       check an index or a backup
  consolidate  build the word graphs now

sonicpy VERB --help tells more, with an example. Exit status: 0 done, 1 it did not work, 2 wrong arguments or settings,
3 an import refused some rows.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: the arguments behind the command's name; None takes those of the process.

    Raises:
        SystemExit: from argparse, for --help, --version and wrong arguments.
    """
    arguments = make_parser((sys.argv[1:] if argv is None else argv)[:1]).parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    _print_anything()
    try:
        status = run(arguments)
        sys.stdout.flush()
    except ConfigError as error:
        return _fail(error, WRONG_SETTINGS)
    except SonicError as error:
        return _fail(error, FAILED)
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except OSError as error:  # such as a full disk below stdout
        _drop_output()
        return _fail(f"{error.filename or 'the output'}: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return status


def make_parser(verbs_wanted: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        verbs_wanted: with these verbs alone, if there are such; else with all.
    """
    parser = argparse.ArgumentParser(
        prog="sonicpy",
        description="The Sonic search backend: a small, fast index of identifiers.",
        epilog=VERBS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sonicpy {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, help="one of those below")
    known = [verb for verb in verbs_wanted if verb in MODULES]
    for name in dict.fromkeys(MODULES[verb] for verb in known or MODULES):
        importlib.import_module(f"sonicpy.cli.{name}").add_verbs(verbs)
    return parser


def _print_anything() -> None:
    """Let words be printed on a terminal that lacks their letters, with escapes in their place."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Let the interpreter flush what cannot be written into nothing, instead of complaining at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail(error: SonicError | str, status: int) -> int:
    print(f"sonicpy: {error}", file=sys.stderr)
    return status
