"""Tests of `sonicpy explain` as a person types it."""

import re
from pathlib import Path

import pytest

from sonicpy import Explanation, Index
from sonicpy.cli import colours
from sonicpy.cli.main import main
from tests.cli.conftest import Run
from tests.processes import Server


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index with two objects, and no settings from other places."""
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    with Index(tmp_path / "data") as index:
        index.push("c", "b", "o1", "amber birch", "none")
        index.push("c", "b", "o2", "amber", "none")
    return str(tmp_path / "data")


def test_for_people_and_for_programs(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "c", "b", "ambr birch", "--data", data]) == 0
    text = capsys.readouterr().out
    assert "correction amber: 2 objects" in text and "2 of 2 objects answer, 1 of them by whole words:" in text
    assert main(["explain", "c", "b", "ambr birch", "--data", data, "--json", "--limit", "1", "--lang", "eng"]) == 0
    explained = Explanation.from_json(capsys.readouterr().out)
    assert ([hit.object for hit in explained.hits], explained.total) == (["o1"], 2)
    with Index(data) as index:
        assert index.explain("c", "b", "ambr birch", limit=1, lang="eng") == explained


def test_a_terminal_shows_colours_of_the_same_text(
    data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", "c", "b", "amber birk", "--data", data]
    assert main(asked) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr(colours, "are_shown", lambda: True)
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert re.sub(r"\x1b\[\d*m", "", shown) == plain
    assert {"\x1b[1mwords:\x1b[0m", "\x1b[2m         correction birch: 1 object"} <= {
        line.split(",")[0] for line in shown.splitlines()
    }
    assert re.search(r"^\x1b\[32m  1\. o1  found exactly", shown, re.MULTILINE)


def test_a_server_is_asked(run: Run, shared_server: Server) -> None:
    url = f"sonic://127.0.0.1:{shared_server.port}"
    for where in (["--server", url], ["--data", "d"]):
        run("push", "explained", "b", "o1", "amber birch", "--lang", "none", *where)
    asked = ["explain", "explained", "b", "ambr birch"]
    assert run(*asked, "--server", url) == run(*asked, "--data", "d")


@pytest.mark.parametrize("arguments", ["c b amber --lang english", "\u00e9 b amber", "c b amber --limit -1"])
def test_wrong_arguments(data: str, arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["explain", "--data", data, *arguments.split()])
    assert exit_.value.code == 2
    assert "usage: sonicpy explain" in capsys.readouterr().err
