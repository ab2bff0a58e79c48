"""`sonicpy shell`: an interactive prompt over one index, with completion of verbs, collections, buckets and words."""

import argparse
import importlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sonicpy.cli import main as command
from sonicpy.cli.arguments import Verbs
from sonicpy.cli.nearest import nearest
from sonicpy.cli.output import remark
from sonicpy.cli.scoped import DEFAULT_BUCKET
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import SERVER_VARIABLE, Target, expect_index, open_server
from sonicpy.errors import ConfigError, SonicError
from sonicpy.index.read_only_index import ReadOnlyIndex

DESCRIPTION = """\
Ask and change an index at a prompt. WHERE is the folder of an index, or the URL of a server. Each line is a verb of the
command line with its arguments, such as `query messages "hello nantes"`; `use COLLECTION [BUCKET]` lets the lines that
follow leave both out. Tab completes verbs, names and words, Ctrl-D ends. Needs the extra: pip install
'sonicpy-search[shell]'."""

VERBS = (
    "query", "suggest", "explain", "list", "count", "stats", "ls", "push", "upsert", "tag", "pop", "flush",
    "consolidate", "similar", "facets", "synonyms", "verify", "backup", "export",
)  # fmt: skip
"""The verbs of the command line that may begin a line."""
OWN = ("use", "help", "quit")
SCOPED = frozenset(("query", "suggest", "explain", "list", "push", "upsert", "tag", "pop", "similar", "facets"))
"""The verbs that take COLLECTION and BUCKET first."""
WORDS = frozenset(("query", "suggest", "explain", "facets"))
"""The verbs whose last argument is completed with words of the bucket."""


def add_verbs(verbs: Verbs) -> None:
    """Add `shell` and its arguments to the command line."""
    parser = verbs.add_parser("shell", description=DESCRIPTION, epilog="example: sonicpy shell sonic://localhost:1491")
    parser.add_argument(
        "where", metavar="WHERE", nargs="?",
        help=f"a folder, or sonic://host:1491 (default: {SERVER_VARIABLE}, else the folder of the settings)",
    )  # fmt: skip
    parser.set_defaults(run=run, config=None, data=None, inet=None, log_level=None)


def run(arguments: argparse.Namespace) -> int:
    """Read and carry out lines until the end of the input; return the exit status: of a prompt 0, of lines from a file
    the highest one of a line.

    Raises:
        ConfigError: the extra is not installed.
        SonicError: there is no such index, or the server does not answer.
    """
    where = str(arguments.where or os.environ.get(SERVER_VARIABLE) or load_settings(arguments).config.store.kv.path)
    is_server = "://" in where
    if not is_server:
        expect_index(Path(where))
    else:
        open_server(where).close()
    shell = Shell(["--server" if is_server else "--data", where], _opener(where))
    ask = _prompt(shell) if sys.stdin is not None and sys.stdin.isatty() else _piped
    status = 0
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # as the arguments of a command line are read
    while True:
        try:
            line = ask()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return status
        if not shell.take(line):
            return status
        if ask is _piped:
            status = max(status, shell.status)


class Shell:
    """The state of a session, and the completions of a line.

    Args:
        target: the flags that name the index.
        opened: returns a context manager that opens the index.
    """

    def __init__(self, target: list[str], opened: Callable[[], Target]) -> None:
        self._target = target
        self._opened = opened
        self.scope: list[str] = []
        """The collection and the bucket that lines may leave out."""
        self.status = 0
        """The exit status of the last line."""

    @property
    def prompt(self) -> str:
        """The prompt, with the scope that `use` has set."""
        return f"{'/'.join(self.scope) or 'sonicpy'}> "

    def take(self, line: str) -> bool:
        """Carry out a line; return whether to read another one."""
        self.status = 0
        try:
            words = shlex.split(line)
        except ValueError as error:
            self._refuse(f"the line cannot be read: {error}")
            return True
        match words:
            case []:
                return True
            case ["quit" | "exit"]:
                return False
            case ["use", *names]:
                self._use(names)
            case ["help"]:
                print(f"{', '.join((*VERBS, *OWN))}; help VERB shows the arguments of one")
            case ["help", verb, *_] if verb in VERBS:
                self._run([verb, "--help"])
            case [verb, *_] if verb in VERBS:
                self._run([verb, *self._filled(words), *self._target])
            case _:
                best = nearest(words[0], (*VERBS, *OWN))
                ways = f"allowed are {', '.join((*VERBS, *OWN))}" if best is None else f"did you mean {best}?"
                self._refuse(f"there is no verb {words[0]!r} here; {ways}")
        return True

    def completions(self, before: str) -> Iterator[tuple[str, int]]:
        """Yield words that fit behind `before`, the line up to the cursor, each with the number of characters that it
        replaces."""
        words = before.split(" ")
        typed, place = words[-1].strip("'\""), len(words) - 1
        for candidate in self._candidates(words, place, typed):
            if candidate.startswith(typed):
                yield candidate, len(typed)

    def _candidates(self, words: list[str], place: int, typed: str) -> Iterable[str]:
        if place == 0:
            return (*VERBS, *OWN)
        verb = words[0]
        scope = self.scope if verb in SCOPED else []
        with suppress(SonicError):  # what cannot be asked completes nothing; the line itself will say why
            index = self._opened()
            try:
                if not scope and place == 1:
                    return index.collections()
                if not scope and place == 2 and verb in (*SCOPED, "use", "ls", "count", "stats", "flush"):
                    return index.buckets(words[1])
                if verb in WORDS and typed and len(scope or words[1:3]) == 2:
                    collection, bucket, *_ = scope or words[1:3]
                    return index.suggest(collection, bucket, typed)
            finally:
                index.close()
        return ()

    def _filled(self, words: list[str]) -> list[str]:
        return [*self.scope, *words[1:]] if words[0] in SCOPED and self.scope else words[1:]

    def _use(self, names: list[str]) -> None:
        if len(names) > 2:
            self._refuse("use takes COLLECTION and BUCKET, or nothing to forget them")
            return
        self.scope = [*names, DEFAULT_BUCKET][:2] if names else []

    def _run(self, words: list[str]) -> None:
        try:
            self.status = command.main(words)
        except SystemExit as ended:  # argparse has said what is wrong, or shown the help
            self.status = ended.code if isinstance(ended.code, int) else command.WRONG_SETTINGS

    def _refuse(self, sentence: str) -> None:
        remark(sentence)
        self.status = command.WRONG_SETTINGS


def _opener(where: str) -> Callable[[], Target]:
    return (lambda: open_server(where)) if "://" in where else (lambda: ReadOnlyIndex(Path(where)))


def _piped() -> str:
    """Return the next line of a standard input that is not a terminal. Raises EOFError at its end."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _prompt(shell: Shell) -> Callable[[], str]:
    """Return the function that asks for a line. Raises ConfigError if the library is missing."""
    try:
        toolkit = importlib.import_module("prompt_toolkit")
        completion = importlib.import_module("prompt_toolkit.completion")
    except ModuleNotFoundError as error:
        raise ConfigError("shell needs prompt_toolkit: run pip install 'sonicpy-search[shell]'.") from error

    class Completer(completion.Completer):  # type: ignore[misc, name-defined]
        def get_completions(self, document: Any, event: Any) -> Iterator[Any]:
            for word, length in shell.completions(document.text_before_cursor):
                yield completion.Completion(word, start_position=-length)

    session = toolkit.PromptSession(completer=Completer(), complete_in_thread=True)
    return lambda: str(session.prompt(shell.prompt))
