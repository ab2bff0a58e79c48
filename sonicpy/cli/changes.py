"""The verbs that change an index: `sonicpy push`, `pop`, `flush` and `consolidate`."""

import argparse

from sonicpy.cli.arguments import add_names, add_scope, add_text, language, object_name, text_given
from sonicpy.cli.output import show
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_target

PUSH = f"""\
Add a text to an object, which is made where it is missing. Texts add up; the same text again changes nothing. TEXT - is
the standard input, all of it. {WHERE}"""

POP = f"""\
Take the words of a text from an object and print how many went; an object goes with its last word. TEXT - is the
standard input. {WHERE}"""

FLUSH = f"""\
Forget a collection, a bucket, or an object. Prints 1 if the collection or bucket was there, else 0; of an object, how
many words it held. {WHERE}"""

CONSOLIDATE = f"""\
Fold the words that were pushed since the last time into the word graphs, which corrections of typing errors are read
from. A server does this by itself. {WHERE}"""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs and their arguments to the command line."""
    parser = verbs.add_parser(
        "push", description=PUSH, epilog='example: sonicpy push messages default conversation:1 "Hello from Nantes"'
    )
    add_scope(parser)
    parser.add_argument("object", metavar="OBJECT", type=object_name)
    add_text(parser, "what to index")
    parser.add_argument("--lang", metavar="CODE", type=language, help="language as ISO 639-3, or none (default: guess)")
    add_target_flags(parser)
    parser.set_defaults(run=push)
    parser = verbs.add_parser(
        "pop", description=POP, epilog='example: sonicpy pop messages default conversation:1 "from Nantes"'
    )
    add_scope(parser)
    parser.add_argument("object", metavar="OBJECT", type=object_name)
    add_text(parser, "the words to take away")
    add_target_flags(parser)
    parser.set_defaults(run=pop)
    parser = verbs.add_parser("flush", description=FLUSH, epilog="example: sonicpy flush messages default")
    add_names(parser)
    add_target_flags(parser)
    parser.set_defaults(run=flush)
    parser = verbs.add_parser(
        "consolidate", description=CONSOLIDATE, epilog="example: sonicpy consolidate --data ./data/store"
    )
    add_target_flags(parser)
    parser.set_defaults(run=consolidate)


def push(arguments: argparse.Namespace) -> int:
    """Push a text. Raises SonicError if that does not work."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.CREATE) as index:
        index.push(arguments.collection, arguments.bucket, arguments.object, text, arguments.lang)
    show(arguments, {"object": arguments.object})
    return 0


def pop(arguments: argparse.Namespace) -> int:
    """Pop a text and print how many words went. Raises SonicError if that does not work."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.WRITE) as index:
        count = index.pop(arguments.collection, arguments.bucket, arguments.object, text)
    show(arguments, {"popped": count}, str(count))
    return 0


def flush(arguments: argparse.Namespace) -> int:
    """Forget what is named and print how much that was. Raises SonicError if that does not work."""
    with open_target(arguments, Purpose.WRITE) as index:
        count = index.flush(arguments.collection, arguments.bucket, arguments.object)
    show(arguments, {"flushed": count}, str(count))
    return 0


def consolidate(arguments: argparse.Namespace) -> int:
    """Build the word graphs. Raises SonicError if that does not work."""
    with open_target(arguments, Purpose.WRITE) as index:
        index.consolidate()
    show(arguments, {"consolidated": True})
    return 0
