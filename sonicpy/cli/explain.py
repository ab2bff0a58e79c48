"""`sonicpy explain`: why a query answers what it does; also while a server has the index open."""

import argparse

from sonicpy.cli.settings import add_index_flags, load_settings
from sonicpy.errors import ConfigError, StoreError
from sonicpy.index.read_only import ReadOnlyIndex
from sonicpy.index.verify import holds_store

DESCRIPTION = """\
Print why a query answers what it does: the language of its text, the words looked for and those left out, what was
tried in their place, and what each word gives to the score of each object. While a server has the index open, its last
commit is looked at. Over a connection: EXPLAIN in search mode."""


def add_verb(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb and its arguments to the command line."""
    parser = verbs.add_parser("explain", help="print why a query answers what it does", description=DESCRIPTION)
    parser.add_argument("collection", metavar="COLLECTION")
    parser.add_argument("bucket", metavar="BUCKET")
    parser.add_argument("text", metavar="TEXT", help="the text of the query")
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="objects that are told of (default: 10)")
    parser.add_argument("--lang", metavar="CODE", help="language of the text, ISO 639-3, or none (default: guess it)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    add_index_flags(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print an explanation and return 0; raises SonicError if there is none."""
    config = load_settings(arguments).config
    if arguments.limit < 0:
        raise ConfigError(f"--limit is {arguments.limit}; allowed is 0 or more.")
    if not holds_store(config.store.kv.path):
        raise StoreError(f"there is no index in {config.store.kv.path} to explain a query of")
    with ReadOnlyIndex(config=config) as index:
        explained = index.explain(
            arguments.collection, arguments.bucket, arguments.text, limit=arguments.limit, lang=arguments.lang
        )
    print(explained.to_json() if arguments.json else explained)
    return 0
