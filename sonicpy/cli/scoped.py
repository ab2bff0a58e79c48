"""COLLECTION [BUCKET] and the arguments behind them: the positional arguments of verbs that work on one bucket."""

import argparse
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from sonicpy.cli.arguments import bucket_name, collection_name, object_name

DEFAULT_BUCKET = "default"
KINDS: dict[str, Callable[[str], str]] = {"collection": collection_name, "bucket": bucket_name, "object": object_name}
"""Argument that is a name -> the function that checks it; verbs check texts and words."""


def add_scoped(parser: argparse.ArgumentParser, *behind: str) -> None:
    """Add COLLECTION, the optional BUCKET, and the arguments `behind` them, which are required."""
    shown = " ".join(("COLLECTION", "[BUCKET]", *map(str.upper, behind)))
    parser.add_argument(
        "scope", metavar=shown, nargs="+", action=_Scoped, behind=behind, help=f"without BUCKET: {DEFAULT_BUCKET}",
    )  # fmt: skip
    parser.usage = f"%(prog)s [-h] [options] {shown}"


class _Scoped(argparse.Action):
    """Sets `collection`, `bucket` and each argument behind them."""

    def __init__(self, *arguments: Any, behind: tuple[str, ...], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._names = ("collection", "bucket", *behind)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        given = list(values)
        if len(given) == len(self._names) - 1:
            given.insert(1, DEFAULT_BUCKET)
        if len(given) != len(self._names):
            parser.error(self._wrong_number(parser, given))
        for name, value in zip(self._names, given, strict=True):
            try:
                setattr(namespace, name, KINDS.get(name, str)(value))
            except argparse.ArgumentTypeError as error:
                parser.error(f"argument {name.upper()}: {error}")

    def _wrong_number(self, parser: argparse.ArgumentParser, given: Sequence[str]) -> str:
        collection, bucket, *behind = map(str.upper, self._names)
        allowed = " ".join((collection, f"[{bucket}]", *behind))
        count = "1 argument" if len(given) == 1 else f"{len(given)} arguments"
        sentence = f"{count}; allowed are {allowed}"
        if len(given) > len(self._names) and behind:
            kept = len(self._names) - 1
            quoted = [*map(shlex.quote, given[:kept]), f'"{" ".join(given[kept:])}"']
            sentence += f"; put several words in quotes: {parser.prog} {' '.join(quoted)}"
        return sentence
