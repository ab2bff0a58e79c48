"""Tests of `sonicpy shell`: lines at a prompt are verbs of the command line; Tab completes verbs, names and words."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sonicpy
from sonicpy.cli import shell
from sonicpy.cli.main import main
from sonicpy.index.read_only_index import ReadOnlyIndex
from tests.support.patience import WAIT_S


class Terminal(io.StringIO):
    """A standard input that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def session(tmp_path: Path) -> shell.Shell:
    folder = tmp_path / "store"
    with sonicpy.open(folder) as index:
        index.push("fruit", "default", "1", "green apple")
        index.push("fruit", "dried", "2", "red plum")
    return shell.Shell(["--data", str(folder)], lambda: ReadOnlyIndex(folder))


def test_lines_are_verbs(session: shell.Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert session.take('query fruit "green apple"')
    assert session.take("use fruit dried")
    assert session.prompt == "fruit/dried> "
    assert session.take("query plum")
    assert session.take("push 3 yellow")
    assert session.take("query yelow")
    assert session.take("use fruit") and session.prompt == "fruit/default> "
    assert session.take("use") and session.prompt == "sonicpy> "
    assert capsys.readouterr().out.split() == ["1", "2", "3"]
    assert not session.take("quit")


def test_wrong_lines_get_a_sentence_and_the_session_goes_on(
    session: shell.Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, said in (
        ("dance", "there is no verb 'dance' here; allowed are query"),
        ("qery fruit", "there is no verb 'qery' here; did you mean query?"),
        ('query "open', "the line cannot be read: No closing quotation"),
        ("query", "the following arguments are required"),
        ("use a b c", "use takes COLLECTION and BUCKET"),
    ):
        assert session.take(line)
        assert said in capsys.readouterr().err
    assert session.take("") and session.take("help")
    assert "suggest" in capsys.readouterr().out


COMPLETED = [
    ("qu", {"query", "quit"}),
    ("query fr", {"fruit"}),
    ("query fruit d", {"default", "dried"}),
    ("query fruit default gr", {"green"}),
    ("use fruit dr", {"dried"}),
    ("query nothing x", set()),
]


@pytest.mark.parametrize(("before", "words"), COMPLETED)
def test_tab_completes(session: shell.Shell, before: str, words: set[str]) -> None:
    assert {word for word, _ in session.completions(before)} == words


def test_after_use_words_are_completed_at_once(session: shell.Shell) -> None:
    session.take("use fruit dried")
    assert {word for word, _ in session.completions("query pl")} == {"plum"}


def test_without_the_extra_or_the_index_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shell", str(tmp_path / "none")]) == 1
    assert "there is no index in" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    assert main(["shell"]) == 1
    assert "there is no index in data/store" in capsys.readouterr().err
    sonicpy.open(tmp_path / "store").close()
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert main(["shell", str(tmp_path / "store")]) == 2
    assert "pip install 'sonicpy-search[shell]'" in capsys.readouterr().err


def test_lines_of_a_file_are_carried_out_without_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("fruit", "default", "1", "green apple", tags=["round"])
        index.push("fruit", "default", "2", "green apple pie")
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    lines = ["use fruit", "query apple --limit 1", "similar 1", 'facets apple --of "*"', "synonyms fruit", "quit"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    assert main(["shell", str(tmp_path / "store")]) == 0
    assert capsys.readouterr() == ("1\n2\nround\t1\ntotal\t2\n", "")


@pytest.mark.full
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"count fruit\nhelp query\n", 0),
        (b"backup /proc/no/place\ncount fruit\n", 1),
        (b"dance\ncount fruit\nquit\n", 2),
        (b'query "open\ncount fruit\n', 2),
        (b"query fruit default \xff\ncount fruit\n", 2),
    ],
)
def test_the_exit_status_of_a_file_is_that_of_its_worst_line(tmp_path: Path, lines: bytes, status: int) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("fruit", "default", "1", "green apple")
    command = [sys.executable, "-m", "sonicpy", "shell", str(tmp_path / "store")]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, input=lines, capture_output=True, env=strict, check=False, timeout=WAIT_S)
    assert (done.returncode, b"Traceback" in done.stderr) == (status, False), done.stderr
    assert b"1" in done.stdout.split(), "the other lines are carried out"
