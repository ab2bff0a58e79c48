"""The parser of the command line: from words to a verb and its arguments, with a hint for a misspelt one."""

import argparse
import importlib
import sys
from collections.abc import Iterable, Sequence

from sonicpy.cli.mixed import MixedParser
from sonicpy.cli.nearest import nearest
from sonicpy.version import VERSION

MODULES = {
    "demo": "demo.verb", "serve": "serve", "ping": "ping", "config": "config", "browse": "browse",
    "query": "search", "suggest": "search", "list": "search", "count": "search", "explain": "search", "stats": "search",
    "similar": "search", "facets": "search",
    "ls": "ls",
    "push": "ingest", "upsert": "ingest", "tag": "ingest", "pop": "ingest", "flush": "ingest",
    "import": "importing.verb", "mirror": "mirror",
    "eval": "eval", "load": "load",
    "export": "maintenance", "backup": "maintenance", "restore": "maintenance", "verify": "maintenance",
    "consolidate": "maintenance", "compact": "maintenance",
    "cluster": "cluster",
    "keys": "keys",
    "synonyms": "synonyms",
    "shell": "shell", "help": "help", "completion": "completion",
    "mcp": "mcp.verb",
}  # fmt: skip
"""verb -> the module of this package that adds it. Only the module of the given verb is loaded, because a server runs
for long and does not need the others."""

VERBS = """\
start
  demo         index the names and docstrings of Python's library, and show the search in a browser

server
  serve        run the server
  ping         check whether a server answers
  config       check or show the settings
  cluster      make a cluster of several machines, show it, or try one on this machine
  browse       show an index in a browser
  keys         make keys that allow some verbs in some buckets, list and revoke them
  mcp          offer an index to an assistant as tools (Model Context Protocol)

search
  query        print the objects that match a text
  suggest      print words that complete or correct a word
  similar      print the objects that are like an object
  facets       count the objects that match a text by their tags and values
  list         print the words of a bucket
  ls           print the names of collections, buckets or objects
  count        count buckets, objects, words, or words of an object
  explain      print why a query gives its hits
  stats        print figures about an index, a collection or a bucket

ingest
  push         add a text to an object
  tag          change the tags or values of an object
  upsert       give an object just one text
  pop          remove the words of a text from an object
  synonyms     show or change the words that replace others in queries
  flush        erase a collection, a bucket or an object
  import       push the rows of a JSON, JSONL, CSV, TSV or Parquet file
  mirror       keep a bucket in step with a table of a database, or with the rows of a file

evaluation
  eval         measure search quality
  load         put servers under load and measure how long answers take

maintenance
  export       write every object and its words as JSONL
  backup       write a backup
  restore      replace collections by those of a backup
  verify       check an index or a backup
  consolidate  rebuild the word graphs now
  compact      shrink the data file of an index

shell
  shell        ask and change an index at a prompt
  help         show the arguments of a verb and an example
  completion   print a script with which a shell completes verbs and options

sonicpy help VERB shows the arguments and an example. Exit status: 0 done, 1 failed, 2 wrong arguments or settings,
3 an import refused some rows.
"""

HELP_FLAGS = ("-h", "--help")
LISTED = "sonicpy help lists the verbs"
WRONG_ARGUMENTS = 2
"""The exit status of argparse for wrong arguments."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of one verb; `run` is the function that carries it out.

    Raises:
        SystemExit: from argparse, for --help, --version and wrong arguments.
    """
    if not argv or argv[0] in HELP_FLAGS:
        overview().print_help()
        raise SystemExit(0)
    if argv[0] == "--version":
        overview().parse_args(argv[:1])
    parser = overview() if argv[0] not in MODULES else make_parser(argv[:1])
    if argv[0].startswith("-"):
        _refuse_first(parser, argv)
    if argv[0] not in MODULES:
        parser.error(f"there is no verb {ascii(argv[0])}{_hint(argv[0], MODULES) or f'; {LISTED}'}")
    if len(argv) == 1 and verbs_of(only := _innermost(parser, argv)):
        only.print_help(sys.stderr)
        raise SystemExit(WRONG_ARGUMENTS)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse(_innermost(parser, argv), unknown)
    return arguments


def overview() -> argparse.ArgumentParser:
    """Return a parser that shows the list of all verbs without loading them."""
    parser = argparse.ArgumentParser(
        prog="sonicpy",
        usage="%(prog)s VERB ...",
        description="The Sonic search backend: a small, fast index that finds identifiers of objects by their texts.",
        epilog=VERBS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sonicpy {VERSION}")
    return parser


def make_parser(verbs_wanted: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        verbs_wanted: load only these verbs; if none of them exists, load all.
    """
    parser = overview()
    verbs = parser.add_subparsers(
        prog="sonicpy", metavar="VERB", required=True, help="one of the verbs below", parser_class=MixedParser
    )
    known = [verb for verb in verbs_wanted if verb in MODULES]
    for name in dict.fromkeys(MODULES[verb] for verb in known or MODULES):
        importlib.import_module(f"sonicpy.cli.{name}").add_verbs(verbs)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the verbs of a parser, by name; an empty dict if the parser has no verbs."""
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0]) if found else {}


def _innermost(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the verb in the words of `argv`, or of its subcommand."""
    for word in argv:
        parser = verbs_of(parser).get(word, parser)
    return parser


def _refuse_first(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    if any(word in MODULES for word in argv):
        parser.error(f"{argv[0]} comes before the verb; allowed is after it")
    parser.error(f"there is no verb before {argv[0]}; {LISTED}")


def _refuse(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    options = [option for action in parser._actions for option in action.option_strings]
    if misplaced := next((flag for flag in flags if flag in options), None):
        parser.error(f"{misplaced} comes before the verb; allowed is after it")
    hints = [_hint(flag, options) for flag in flags]
    if any(action.metavar == "WHERE" for action in parser._actions) and {"--data", "--server"}.intersection(flags):
        hints = [f"; give the folder or the URL alone: {parser.prog} WHERE"]
    elif not flags and "--collection" in options:
        hints = ["; --collection NAME names the collection"]
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{next(filter(None, hints), '')}")


def _hint(word: str, known: Iterable[str]) -> str:
    best = nearest(word, known, lambda name: name.lstrip("-"))
    return "" if best is None else f"; did you mean {best}?"
