"""Verbs whose flags may be anywhere: between COLLECTION and BUCKET, too."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

ENDS_FLAGS = "--"
USAGE_LINES_MAX = 2
"""The most lines of usage above an error, so that the error is seen."""


class MixedParser(argparse.ArgumentParser):
    """A parser that takes flags before, between and after the other arguments.

    argparse alone assigns words to all positional arguments at the first such word, and refuses words behind the next
    flag.
    """

    _is_mixing = False

    def parse_known_args(  # type: ignore[override]  # of its two overloads, argparse calls this one
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the parsed arguments, and the words that no argument took."""
        if self._is_mixing or args is None or ENDS_FLAGS in args or not self._may_mix():
            return super().parse_known_args(args, namespace)
        self._is_mixing = True  # the method that follows calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the value of an argument; `--flag=--` gives a flag the text `--`, which argparse would take away."""
        if arg_strings == [ENDS_FLAGS] and action.option_strings and action.nargs is None:
            value = self._get_value(action, ENDS_FLAGS)
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        """Print the error below the usage, which has only the required options if it is long. Raises SystemExit."""
        if self.format_usage().count("\n") > USAGE_LINES_MAX:
            needed = [action for action in self._get_optional_actions() if action.required]
            flags = [f"{action.option_strings[-1]} {action.metavar}" for action in needed]
            names = [_shown(action) for action in self._get_positional_actions()]
            self.usage = " ".join(("%(prog)s [-h] [options]", *flags, *names))
        super().error(message)

    def _may_mix(self) -> bool:
        """Return whether some words belong to positional arguments, and none to a verb below this one."""
        found = self._get_positional_actions()
        return bool(found) and not any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in found)


def _shown(action: argparse.Action) -> str:
    """Return the name of a positional argument, in brackets if it may be left out."""
    name = str(action.metavar or action.dest)
    number = getattr(action, "save_nargs", action.nargs)  # argparse changes it while it reads flags between words
    return f"[{name}]" if number in (argparse.OPTIONAL, argparse.ZERO_OR_MORE) else name
