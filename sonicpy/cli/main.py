"""The command `sonicpy`: finds the verb, runs it, and turns errors into an exit status.

Results go to stdout, and nothing else does; an error is one sentence on stderr. Exit status:

    0    done; also if nothing was found
    1    it failed, or verify found faults
    2    wrong arguments or settings
    3    import: done, but some rows were refused
    130  interrupted        141  the reader of the output has left
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
READER_LEFT = 141
"""As shells show a process that SIGPIPE ended; INTERRUPTED is the same for SIGINT."""

MODULES = {
    "serve": "serve", "ping": "ping", "config": "config", "browse": "browse",
    "query": "search", "suggest": "search", "list": "search", "count": "search", "explain": "search", "stats": "search",
    "push": "ingest", "pop": "ingest", "flush": "ingest", "import": "ingest",
    "eval": "eval", "load": "load",
    "export": "maintenance", "backup": "maintenance", "restore": "maintenance", "verify": "maintenance",
    "consolidate": "maintenance",
}  # fmt: skip
"""From each verb to the module of this package that adds it. Only the module of the given verb is loaded, because a
server runs for long and does not need the others."""

VERBS = """\
server
  serve        run the server
  ping         check whether a server answers
  config       check or show the settings
  browse       show an index in a browser

search
  query        print the objects that match a text
  suggest      print words that complete or correct a word
  list         print the words of a bucket
  count        count buckets, words, or words of an object
  explain      print why a query gives its hits
  stats        print figures about an index, a collection or a bucket

ingest
  push         add a text to an object
  pop          remove the words of a text from an object
  flush        erase a collection, a bucket or an object
  import       push the rows of a JSONL, CSV, TSV or Parquet file

evaluation
  eval         measure search quality
  load         put servers under load and measure how long answers take

maintenance
  export       write every object and its words as JSONL
  backup       write a backup
  restore      replace collections by those of a backup
  verify       check an index or a backup
  consolidate  rebuild the word graphs now

sonicpy VERB --help shows the arguments and an example. Exit status: 0 done, 1 failed, 2 wrong arguments or settings,
3 an import refused some rows.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: the arguments behind the name of the command; None: those of the process.

    Raises:
        SystemExit: from argparse, for --help, --version and wrong arguments.
    """
    arguments = make_parser((sys.argv[1:] if argv is None else argv)[:1]).parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    _escape_unprintable()
    try:
        status = run(arguments)
        sys.stdout.flush()
    except ConfigError as error:
        return _fail(error, WRONG_SETTINGS)
    except SonicError as error:
        return _fail(error, FAILED)
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:  # such as a full disk that stdout is written to
        _drop_output()
        return _fail(f"{error.filename or 'the output'}: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return status


def make_parser(verbs_wanted: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        verbs_wanted: load only these verbs; if none of them exists, load all.
    """
    parser = argparse.ArgumentParser(
        prog="sonicpy",
        description="The Sonic search backend: a small, fast index that finds identifiers of objects by their texts.",
        epilog=VERBS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sonicpy {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, help="one of the verbs below")
    known = [verb for verb in verbs_wanted if verb in MODULES]
    for name in dict.fromkeys(MODULES[verb] for verb in known or MODULES):
        importlib.import_module(f"sonicpy.cli.{name}").add_verbs(verbs)
    return parser


def _escape_unprintable() -> None:
    """Make print() escape characters that the encoding of stdout lacks, instead of raising."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Redirect stdout to nothing, so that the interpreter does not complain when it flushes stdout at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail(error: SonicError | str, status: int) -> int:
    print(f"sonicpy: {error}", file=sys.stderr)
    return status
