"""The output of verbs: results as lines for people, or with --json as one JSON value per line; remarks on stderr."""

import argparse
import json
import sys
from typing import Any


def show(arguments: argparse.Namespace, value: Any, *lines: str) -> None:
    """Print a result as JSON if --json was given, else as lines. Verbs print nothing else to stdout."""
    if arguments.json:
        print(json.dumps(value, ensure_ascii=False))
        return
    for line in lines:
        print(line)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json, which `show` reads."""
    parser.add_argument("--json", action="store_true", help="print JSON, one value a line")


def remark(sentence: str) -> None:
    """Print a sentence about a result to stderr."""
    print(f"sonicpy: {sentence}", file=sys.stderr)
