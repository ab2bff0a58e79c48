"""Tests of docs/cli.md: its examples print the output shown, and it has every verb and option."""

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sonicpy.cli.main import main
from sonicpy.cli.parser import MODULES, make_parser
from sonicpy.options import ARGUMENTS
from tests.processes import Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def commands() -> list[tuple[str, str]]:
    """Return the commands of all sessions with their output."""
    sessions = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    parts = [part for session in sessions for part in session.split("$ ") if part]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def expect(printed: str, shown: str) -> None:
    """Compare lines; three dots in the page match anything."""
    pattern = ".+?".join(map(re.escape, shown.split("...")))
    assert re.fullmatch(pattern, printed), printed


def test_the_examples(
    here: Path,
    locked_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    type_in: Callable[[bytes], None],
) -> None:
    found = commands()
    assert found
    for command, shown in found:
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text(shown)
        elif words[0] == "export":
            monkeypatch.setenv("SONICPY_SERVER", words[1].partition("=")[2].replace("1491", str(locked_server.port)))
        elif words[0] == "unset":
            monkeypatch.delenv(words[1])
        else:
            if words[0] == "echo":
                type_in(f"{words[1]}\n".encode())
                words = words[words.index("|") + 1 :]
            assert words[0] == "sonicpy"
            status = 3 if "refused:" in shown else 2 if "has no column" in shown else 0
            assert main(words[1:]) == status, command
            said = capsys.readouterr()
            expect(said.err + said.out, shown)


def test_every_verb_and_option_is_in_the_page() -> None:
    for verb in MODULES:
        assert re.search(rf"^\| .*`{verb}[ `]", PAGE, re.MULTILINE), verb
        (verbs,) = (action.choices for action in make_parser([verb])._actions if isinstance(action.choices, dict))
        for action in verbs[verb]._actions:
            if "options of a query](ask.md)" in PAGE and action.dest.removeprefix("no_") in ARGUMENTS["QUERY"]:
                continue  # docs/ask.md explains these
            if action.option_strings and not isinstance(action, argparse._HelpAction):
                shown = [flag for flag in action.option_strings if re.search(rf"[` ]{flag}\b", PAGE)]
                assert shown, (verb, action.option_strings)
