"""The verb `sonicpy ls`: the names of collections, buckets and objects."""

import argparse
import json
from collections.abc import Iterable

from sonicpy.cli.absent import remark_absent
from sonicpy.cli.arguments import Verbs, bucket_name, collection_name, number, object_name
from sonicpy.cli.target import WHERE, Target, add_target_flags, open_target
from sonicpy.errors import ConfigError

LS = f"""\
Print the names of all collections, of the buckets of a collection, or of the objects of a bucket, one a line. Objects
come in the order in which they were first pushed. {WHERE}"""

OF_OBJECTS = ("prefix", "after", "limit")
"""The options that need a bucket."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb and its arguments to the command line."""
    parser = verbs.add_parser(
        "ls", description=LS, epilog="example: sonicpy ls messages default --prefix conversation:"
    )
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name, nargs="?")
    parser.add_argument("bucket", metavar="BUCKET", type=bucket_name, nargs="?")
    parser.add_argument("--prefix", metavar="LETTERS", help="only objects whose names begin with LETTERS")
    parser.add_argument("--after", metavar="OBJECT", type=object_name, help="only objects after this one")
    parser.add_argument("--limit", metavar="N", type=number, help="at most N objects (default: all)")
    add_target_flags(parser)
    parser.set_defaults(run=ls)


def ls(arguments: argparse.Namespace) -> int:
    """Print names; return the exit status. Raises SonicError if that fails."""
    if arguments.bucket is None:
        for option in OF_OBJECTS:
            if getattr(arguments, option) is not None:
                raise ConfigError(f"flag --{option} is for objects: name a collection and a bucket, too.")
    with open_target(arguments) as index:
        is_empty = _show(_names(index, arguments), arguments)
        if is_empty and arguments.collection is not None:
            remark_absent(index, arguments.collection, arguments.bucket)
    return 0


def _show(names: Iterable[str], arguments: argparse.Namespace) -> bool:
    """Print names, and return whether there are none."""
    if arguments.json:
        listed = list(names)
        print(json.dumps(listed, ensure_ascii=False))
        return not listed
    is_empty = True
    for name in names:
        print(name)
        is_empty = False
    return is_empty


def _names(index: Target, arguments: argparse.Namespace) -> Iterable[str]:
    collection, bucket, prefix = arguments.collection, arguments.bucket, arguments.prefix or ""
    if collection is None:
        return index.collections()
    if bucket is None:
        return index.buckets(collection)
    if arguments.after is None and arguments.limit is None:
        return index.iterate_objects(collection, bucket, prefix=prefix)
    return index.objects(collection, bucket, prefix=prefix, after=arguments.after, limit=arguments.limit)
