"""The verbs that change an index: `sonicpy push`, `upsert`, `tag`, `pop`, `flush`; `import` is in importing/verb.py."""

import argparse
from typing import Any

from sonicpy.cli.absent import absent, remark_absent
from sonicpy.cli.arguments import Named, Verbs, add_lang, add_names, has_words, text_given, vector
from sonicpy.cli.output import remark, show
from sonicpy.cli.scoped import add_scoped
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_target
from sonicpy.errors import CommandError, ConfigError
from sonicpy.tags import tag_of
from sonicpy.text_names import name_of_text
from sonicpy.values import plain_values

PUSH = f"""\
Add a text to an object, which is created if it is missing. Texts add up; to push the same text again changes nothing.
If TEXT is -, push the whole standard input. {WHERE}"""

TAG = f"""\
Change the tags or values of an object that exists; print 1, or 0 if there is no such object. --tags without a tag takes
all away. {WHERE}"""

UPSERT = f"""\
Give an object just this text, in one change; its other words are removed. The object is created if it is missing. If
TEXT is -, take the whole standard input. {WHERE}"""

POP = f"""\
Remove the words of a text from an object and print how many were removed. An object without words is deleted. If
TEXT is -, read the text from the standard input. {WHERE}"""

FLUSH = f"""\
Erase a collection, a bucket or an object. For a collection or a bucket, print 1 if it existed, else 0; for an object,
print how many words it held. {WHERE}"""


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs and their arguments to the command line."""
    parser = verbs.add_parser(
        "push", description=PUSH, epilog='example: sonicpy push messages conversation:1 "Hello from Nantes"'
    )
    add_scoped(parser, "object", "text")
    add_lang(parser)
    parser.add_argument("--vector", metavar="NUMBERS", type=vector, help="its vector, such as [0.1, -0.2, ...]")
    _add_tagging(parser)
    _add_field(parser)
    add_target_flags(parser)
    parser.set_defaults(run=push)
    parser = verbs.add_parser(
        "tag", description=TAG, epilog="example: sonicpy tag shop products p1 --tags red size:xl --value price=1999"
    )
    add_scoped(parser, "object")
    _add_tagging(parser)
    add_target_flags(parser)
    parser.set_defaults(run=tag)
    parser = verbs.add_parser(
        "upsert", description=UPSERT, epilog='example: sonicpy upsert messages conversation:1 "Hello from Nantes"'
    )
    add_scoped(parser, "object", "text")
    add_lang(parser)
    _add_field(parser)
    parser.add_argument(
        "--and", metavar="FIELD=TEXT", action=Named, type=_field, dest="more", default=[],
        help="one more text of the object, with its name; may be given several times",
    )  # fmt: skip
    add_target_flags(parser)
    parser.set_defaults(run=upsert)
    parser = verbs.add_parser(
        "pop", description=POP, epilog='example: sonicpy pop messages conversation:1 "from Nantes"'
    )
    add_scoped(parser, "object", "text")
    add_target_flags(parser)
    parser.set_defaults(run=pop)
    parser = verbs.add_parser("flush", description=FLUSH, epilog="example: sonicpy flush messages default")
    add_names(parser)
    parser.add_argument("--filter", metavar="TEXT", help="erase the objects of a bucket that meet these conditions")
    add_target_flags(parser)
    parser.set_defaults(run=flush)


def _add_tagging(parser: argparse.ArgumentParser) -> None:
    """Add --tags and --value."""
    parser.add_argument(
        "--tags", metavar="TAG", nargs="*", type=_tag, help="all tags of the object, in place of those before"
    )
    parser.add_argument(
        "--value", metavar="NAME=VALUE", action=Named, type=_value, dest="values",
        help="a whole number or a point such as place=47.21/-1.55; NAME= takes it away; may be given several times",
    )  # fmt: skip


def _tagging(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the tags and values that were given."""
    values = None if arguments.values is None else dict(arguments.values)
    return {"tags": arguments.tags, "values": values}


def _add_field(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--field", metavar="NAME", type=_name, help="the name of the text, such as title, for `query --fields`"
    )


def _name(text: str) -> str:
    try:
        return name_of_text(text)
    except CommandError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _field(text: str) -> tuple[str, str]:
    name, given = _parts(text, "FIELD=TEXT")
    return _name(name), given


def _parts(text: str, form: str) -> tuple[str, str]:
    """Return the texts on both sides of the first =. Raises ArgumentTypeError if there is none."""
    name, sign, given = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} holds no =; allowed is {form}")
    return name, given


def _tag(text: str) -> str:
    try:
        return tag_of(text)
    except CommandError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _value(text: str) -> tuple[str, int | str | None]:
    name, value = _parts(text, "NAME=VALUE, and NAME= to take a value away")
    try:
        ((name, found),) = plain_values({name: value or None}).items()
    except CommandError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name, found


def push(arguments: argparse.Namespace) -> int:
    """Push a text; return the exit status. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.CREATE) as index:
        index.push(
            arguments.collection, arguments.bucket, arguments.object, text, arguments.lang, arguments.vector,
            **_tagging(arguments), field=arguments.field,
        )  # fmt: skip
    if not has_words(text):
        remark(f"the text holds no letter and no digit, so it adds no words to {arguments.object}")
    show(arguments, {"object": arguments.object})
    return 0


def tag(arguments: argparse.Namespace) -> int:
    """Change the tags or values of an object, and print 1, or 0 if it does not exist; return the exit status. Raises
    SonicError if that fails.
    """
    if arguments.tags is None and arguments.values is None:
        raise ConfigError(
            "tag changes nothing without --tags TAG or --value NAME=VALUE; allowed are one of them, or both."
        )
    with open_target(arguments, Purpose.WRITE) as index:
        found = index.tag(arguments.collection, arguments.bucket, arguments.object, **_tagging(arguments))
        if not found:
            remark_absent(index, arguments.collection, arguments.bucket, arguments.object)
    show(arguments, {"tagged": found}, str(found))
    return 0


def upsert(arguments: argparse.Namespace) -> int:
    """Replace the text of an object; return the exit status. Raises SonicError if that fails."""
    if arguments.field in dict(arguments.more):
        raise ConfigError(f"flags --field and --and name the field {arguments.field}; allowed is one text of a field.")
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.CREATE) as index:
        texts = {arguments.field or "": text, **dict(arguments.more)}
        given = text if texts.keys() == {""} else texts
        index.upsert(arguments.collection, arguments.bucket, arguments.object, given, arguments.lang)
    show(arguments, {"object": arguments.object})
    return 0


def pop(arguments: argparse.Namespace) -> int:
    """Pop a text and print how many words were removed; return the exit status. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.WRITE) as index:
        count = index.pop(arguments.collection, arguments.bucket, arguments.object, text)
        if not count:
            remark_absent(index, arguments.collection, arguments.bucket, arguments.object)
    show(arguments, {"popped": count}, str(count))
    return 0


def flush(arguments: argparse.Namespace) -> int:
    """Erase the named collection, bucket or object, and print the count; return the exit status. Raises SonicError if
    that fails.
    """
    with open_target(arguments, Purpose.WRITE) as index:
        lacking = absent(index, arguments.collection, arguments.bucket, arguments.object)  # then it is gone anyway
        count = index.flush(arguments.collection, arguments.bucket, arguments.object, filter=arguments.filter)
    if lacking is not None:
        remark(lacking)
    show(arguments, {"flushed": count}, str(count))
    return 0
