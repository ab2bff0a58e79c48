"""How verbs print results: as lines for people, or with --json as one JSON value a line."""

import argparse
import json
from typing import Any


def show(arguments: argparse.Namespace, value: Any, *lines: str) -> None:
    """Print a result as JSON if --json was given, else as lines. Verbs print nothing else to stdout."""
    if arguments.json:
        print(json.dumps(value, ensure_ascii=False))
        return
    for line in lines:
        print(line)
