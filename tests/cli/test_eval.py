"""Tests of `sonicpy eval` on the command line: in this process, and on a server."""

import json
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.cli.main import main
from tests.evaluation.small import write_collection, write_lines
from tests.processes import Server


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one input of each kind, and no settings from other places."""
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path / "data" / "small")
    write_lines(tmp_path / "data" / "typos.tsv", ["harbuor\tharbour", "ligthhouse\tlighthouse", "zz\tharbour"])
    rows = ["deu\tdeu\tx\tDer Hafen der alten Stadt liegt am Fluss", "cmn\tcmn\tx\t港口城市里有很多船只和灯塔"]
    write_lines(tmp_path / "data" / "unterschiede.tsv", rows)
    return tmp_path / "data"


def read_json(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["kind"]: row for row in rows}


def check(figures: dict[str, dict[str, object]]) -> None:
    relevance, typos, languages = figures["relevance"], figures["typos"], figures["languages"]
    assert relevance["name"] == "small"
    assert (relevance["documents"], relevance["queries"], relevance["empty"]) == (4, 3, 1)
    assert relevance["ndcg_10"] == pytest.approx(2 / 3)
    assert relevance["mrr_10"] == relevance["recall_100"] == pytest.approx(2 / 3)
    assert (typos["words"], typos["pairs"], typos["suggested"], typos["first"], typos["found"]) == (2, 2, 1, 1, 1)
    assert (languages["languages"], languages["found"], languages["empty"]) == (2, 1, 0)


def test_in_process(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(data), "--json"]) == 0
    figures = read_json(capsys)
    check(figures)
    assert figures["languages"]["guessed"] == {"20": 1.0}
    assert not list(data.parent.glob("data/store")), "the index stood in a folder of its own"
    assert main(["eval", str(data / "small"), str(data / "typos.tsv")]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("small: 4 documents, 3 queries  nDCG@10 0.6667  MRR@10 0.6667  Recall@100 0.6667  empty 1")
    assert second.startswith("typos: 2 words, 2 typos  suggested 100.0%  first 100.0%  found 100.0%  ")


def test_on_a_server(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(tmp_path / "server", password="secret") as server:
        url = f"sonic://:secret@{server.host}:{server.port}"
        assert main(["eval", str(data), "--json", "--server", url, "--split", "16", "--lang", "none"]) == 0
        check(read_json(capsys))
        arguments = ["eval", str(data / "small"), "--json", "--server", f"sonic://{server.host}:{server.port}"]
        monkeypatch.delenv("SONICPY_PASSWORD", raising=False)
        assert main(arguments) == 1
        assert "the server requires a password" in capsys.readouterr().err
        monkeypatch.setenv("SONICPY_PASSWORD", "secret")
        assert main(arguments) == 0
        assert read_json(capsys)["relevance"]["documents"] == 4
    with Index(tmp_path / "server" / "store") as index:
        assert index.engine.count_scopes() == 0, "nothing is left behind"


def test_a_wrong_language(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["eval", "data/small", "--lang", "english"])
    assert "argument --lang: 'english' is not a language; allowed are a code or tag" in capsys.readouterr().err


def test_words_and_lang(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(data.parent / "words", ["harbour 9", "arbour 2", "lighthouse 1"])
    assert main(["eval", str(data / "typos.tsv"), "--words", str(data.parent / "words"), "--json"]) == 0
    assert read_json(capsys)["typos"]["words"] == 3
    assert main(["eval", str(data / "small"), "--lang", "eng", "--json"]) == 0
    assert read_json(capsys)["relevance"]["empty"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere holds nothing to evaluate"),
        (["data/small", "--server", "sonic://127.0.0.1:1"], "127.0.0.1:1"),
    ],
)
def test_faults(data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    assert main(["eval", *arguments]) == 1
    assert sentence in capsys.readouterr().err
