"""`sonicpy explain`: why a query answers what it does; also while a server has the folder open."""

import argparse

from sonicpy.cli.arguments import add_scope, add_text, language, number, text_given
from sonicpy.cli.target import WHERE, add_target_flags, open_target

LIMIT = 10

DESCRIPTION = f"""\
Print why a query answers what it does: the language of its text, the words looked for and those left out, what was
tried in their place, and what each word gives to the score of each object. While a server has the folder open, its last
commit is looked at. {WHERE}"""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb and its arguments to the command line."""
    parser = verbs.add_parser(
        "explain", description=DESCRIPTION, epilog="example: sonicpy explain messages default wether in nantes"
    )
    add_scope(parser)
    add_text(parser, "the text of the query")
    parser.add_argument("--limit", metavar="N", type=number, default=LIMIT, help=f"so many objects (default: {LIMIT})")
    parser.add_argument("--lang", metavar="CODE", type=language, help="language as ISO 639-3, or none (default: guess)")
    add_target_flags(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print an explanation and return 0; raises SonicError if there is none."""
    text = text_given(arguments.text)
    with open_target(arguments) as index:
        explained = index.explain(
            arguments.collection, arguments.bucket, text, limit=arguments.limit, lang=arguments.lang
        )
    print(explained.to_json() if arguments.json else explained)
    return 0
