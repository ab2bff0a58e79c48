"""`sonicpy completion`: a script with which bash, zsh or fish completes verbs, options and names of files."""

import argparse
import importlib
from collections.abc import Iterator
from types import ModuleType

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.parser import VERBS, make_parser, verbs_of
from sonicpy.errors import SonicError

SHELLS = ("bash", "zsh", "fish")
PATHS = {"FILE": "FILE", "PATH": "FILE", "DIR": "DIRECTORY"}
"""The kind of path that shtab completes, by the metavar of an argument."""

DESCRIPTION = """\
Print a script with which a shell completes verbs, options and names of files. bash: write it to
~/.local/share/bash-completion/completions/sonicpy. zsh: write it to a file _sonicpy in a folder of $fpath. fish: write
it to ~/.config/fish/completions/sonicpy.fish. Needs the extra: pip install 'sonicpy-search[completion]'."""


def add_verbs(verbs: Verbs) -> None:
    """Add `completion` to the command line."""
    parser = verbs.add_parser("completion", description=DESCRIPTION, epilog="example: sonicpy completion bash")
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit status. Raises SonicError if the package that writes it is missing."""
    shtab = _load()
    parser = make_parser()
    _describe(parser)
    for each in _all(parser):
        for action in each._actions:
            if action.metavar in PATHS:
                action.complete = getattr(shtab, PATHS[str(action.metavar)])  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=arguments.shell))
    return 0


def _load() -> ModuleType:
    try:
        return importlib.import_module("shtab")
    except ImportError as missing:
        raise SonicError("completion needs shtab: pip install 'sonicpy-search[completion]'") from missing


def _describe(parser: argparse.ArgumentParser) -> None:
    """Give each verb the summary of the overview: shtab leaves out a verb without one."""
    lines = [line.split(maxsplit=1) for line in VERBS.splitlines() if line.startswith("  ")]
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    verbs._choices_actions += [verbs._ChoicesPseudoAction(name, (), summary) for name, summary in lines]


def _all(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for verb in verbs_of(parser).values():
        yield from _all(verb)
