"""What verbs print: lines for people, or with --json one JSON value a line."""

import argparse
import json
from typing import Any


def show(arguments: argparse.Namespace, value: Any, *lines: str) -> None:
    """Print a result, as JSON if that is asked for, else as lines; nothing else ever stands on stdout."""
    if arguments.json:
        print(json.dumps(value, ensure_ascii=False))
        return
    for line in lines:
        print(line)
