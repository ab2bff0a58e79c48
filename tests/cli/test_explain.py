"""`sonicpy explain` as a person types it."""

from pathlib import Path

import pytest

from sonicpy import Explanation, Index
from sonicpy.cli.main import main


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index with two objects, and nothing else that settings could come from."""
    monkeypatch.setattr("sonicpy.config.sources.SEARCHED_FILES", ())
    with Index(tmp_path / "data") as index:
        index.push("c", "b", "o1", "amber birch", "none")
        index.push("c", "b", "o2", "amber", "none")
    return str(tmp_path / "data")


def test_for_people_and_for_programs(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "c", "b", "ambr birch", "--data", data]) == 0
    text = capsys.readouterr().out
    assert "correction amber: 2 objects" in text and "2 of 2 objects answer:" in text
    assert main(["explain", "c", "b", "ambr birch", "--data", data, "--json", "--limit", "1", "--lang", "eng"]) == 0
    explained = Explanation.from_json(capsys.readouterr().out)
    assert ([hit.object for hit in explained.hits], explained.total) == (["o1"], 2)
    with Index(data) as index:
        assert index.explain("c", "b", "ambr birch", limit=1, lang="eng") == explained


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["c", "b", "amber", "--lang", "xx"], 1, "invalid_meta_value(LANG[xx])"),
        (["é", "b", "amber"], 1, "InvalidCollection"),
        (["c", "b", "amber", "--limit", "-1"], 2, "--limit is -1; allowed is 0 or more."),
        (["c", "b", "amber", "--data", "nowhere"], 1, "there is no index in nowhere"),
    ],
)
def test_refusals(
    data: str, arguments: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--data", data, *arguments]) == status
    assert sentence in capsys.readouterr().err
