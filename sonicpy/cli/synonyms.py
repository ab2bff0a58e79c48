"""The verb `sonicpy synonyms`: the rules of a collection for further words that queries search."""

import argparse
import json
from pathlib import Path

from sonicpy.cli.absent import remark_absent
from sonicpy.cli.arguments import Verbs, collection_name, read_text
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_target
from sonicpy.errors import ConfigError
from sonicpy.index.synonym_texts import rule_lines

SYNONYMS = f"""\
Print the synonyms of a collection, one rule a line, or change them. "ny, new york" means that each is looked for in the
place of the others, "tv, telly => television" that television is looked for in the place of tv or telly. A file of
--set and --add has one rule a line; - is the standard input. {WHERE}"""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb and its arguments to the command line."""
    parser = verbs.add_parser(
        "synonyms", description=SYNONYMS, epilog='example: sonicpy synonyms messages "ny, new york" "tv => television"'
    )
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name)
    parser.add_argument("rules", metavar="RULE", nargs="*", help="rules to add")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--set", metavar="FILE", help="replace all rules by those of a file")
    given.add_argument("--add", metavar="FILE", help="add the rules of a file")
    given.add_argument("--clear", action="store_true", help="take all rules away")
    add_target_flags(parser)
    parser.set_defaults(run=synonyms)


def synonyms(arguments: argparse.Namespace) -> int:
    """Print rules, or change them; return the exit status. Raises SonicError if that fails."""
    file = arguments.set or arguments.add
    if arguments.rules and (file is not None or arguments.clear):
        raise ConfigError("rules are given beside --set, --add or --clear; allowed is one of them.")
    changes = bool(arguments.rules) or file is not None or arguments.clear
    with open_target(arguments, Purpose.CREATE if changes else Purpose.READ) as index:
        if not changes:
            rules = index.synonyms(arguments.collection)
            if not rules:
                remark_absent(index, arguments.collection, None)
            for line in [json.dumps(rules, ensure_ascii=False)] if arguments.json else rules:
                print(line)
            return 0
        given = arguments.rules if file is None else list(rule_lines(_lines(file)))
        is_added = bool(arguments.rules) or arguments.add is not None
        count = index.set_synonyms(arguments.collection, given, add=is_added)
    print(json.dumps(count) if arguments.json else f"{count} rule{'' if count == 1 else 's'}")
    return 0


def _lines(file: str) -> list[str]:
    """Return the lines of a file. Raises ConfigError if it cannot be read."""
    try:
        return (read_text() if file == "-" else Path(file).read_text(encoding="utf-8")).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        is_rule = isinstance(error, FileNotFoundError) and ("," in file or "=>" in file)
        meant = "; without --set and --add it is a rule: sonicpy synonyms COLLECTION RULE" if is_rule else ""
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{file} cannot be read: {reason}{meant}.") from error
