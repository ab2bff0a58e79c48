"""Tests of `sonicpy backup`, `restore` and `verify` on folders, as an operator types them."""

import json
from pathlib import Path

import pytest

from sonicpy import Config, Index, connect
from sonicpy.cli.main import main
from sonicpy.cli.parser import parse
from sonicpy.cli.settings import index_settings
from sonicpy.cli.target import open_target
from sonicpy.config.defaults import PlainSection
from sonicpy.store.care.backup import BACKUP_FILE
from tests.cli.conftest import Run
from tests.processes import Server


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with two objects, and no settings from other places."""
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    monkeypatch.chdir(tmp_path)
    with Index(tmp_path / "data") as index:
        index.push("c", "b", "o1", "amber birch")
        index.push("c", "b", "o2", "amber")
    return tmp_path / "data"


def test_there_and_back_again(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", "copy", "--data", str(data)]) == 0
    path = Path("copy") / BACKUP_FILE
    assert capsys.readouterr().out == f"{path} holds {path.stat().st_size} bytes\n"
    assert main(["restore", "copy", "--data", "other"]) == 0
    assert capsys.readouterr().out == "the collections of copy are restored into other\n"
    for folder in ("copy", "other", str(data)):
        assert main(["verify", folder]) == 0
        assert capsys.readouterr().out == f"{folder} has no faults\n"
    assert main(["verify", "--data", "other"]) == 0
    with Index(tmp_path / "other") as index:
        assert index.query("c", "b", "amber") == ["o2", "o1"]


def test_a_folder_is_compacted(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = data / "data.mdb"
    before = file.stat().st_size
    assert main(["compact", str(data)]) == 0
    after = file.stat().st_size
    said = capsys.readouterr()
    assert said.out == f"the data file of {data} has {after} bytes; before it had {before}\n"
    assert said.err == ""
    assert main(["compact", "--data", str(data), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["path"], told["after"]) == (str(data), file.stat().st_size)
    assert told["before"] >= told["after"]
    with Index(data) as index:
        assert index.query("c", "b", "amber") == ["o2", "o1"]
        assert main(["compact", str(data)]) == 1
        assert "is already open" in capsys.readouterr().err
    assert main(["compact", "--server", "sonic://127.0.0.1:1"]) == 1
    assert "the folder must not be open" in capsys.readouterr().err
    monkeypatch.setenv("SONICPY_SERVER", "sonic://127.0.0.1:1")
    assert main(["compact"]) == 1
    assert main(["compact", str(data)]) == 0


def test_the_settings_file_names_the_index(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "settings.cfg"
    settings.write_text(f'[store.kv]\npath = "{data}"\n')
    assert main(["verify", "-c", str(settings)]) == 0
    assert main(["backup", "copy", "-c", str(settings)]) == 0
    assert str(data) in capsys.readouterr().out


def test_faults_are_printed_one_a_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Index(data) as index:
        index.push(
            "c", "b", "long", " ".join(f"word{number}" for number in range(2_000))
        )  # more than a small bucket has
        index.consolidate()
    (graph,) = (data / "graph").iterdir()
    graph.write_bytes(b"no graph")
    assert main(["verify", str(data)]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1
    assert said.out.startswith(f"c/b: {graph} cannot be read as a word graph: ")
    assert said.err == f"sonicpy: 1 faults in {data}\n"


def test_a_file_in_the_place_of_the_folder(run: Run) -> None:
    Path("settings.txt").write_text("in the way")
    said = "settings.txt is a file, not a folder\n"
    run("push", "c", "b", "o", "text", "--data", "settings.txt", status=1, said=said)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["verify", "nowhere"], "nowhere holds neither a store (data.mdb is missing) nor a backup (sonicpy.backup)"),
        (["restore", "nowhere"], "there is no backup in nowhere: sonicpy.backup is missing"),
        (["backup", "copy", "--data", "nowhere"], "there is no index in nowhere"),
        (["verify", "loop"], "cannot look into loop: Too many levels of symbolic links"),
        (["backup", "copy", "--data", "loop"], "cannot look into loop: Too many levels of symbolic links"),
        (["export", "--data", "loop"], "cannot look into loop: Too many levels of symbolic links"),
        (
            ["backup", "settings.txt"],
            "cannot write the backup settings.txt/sonicpy.backup: settings.txt is a file, not a folder",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    Path("settings.txt").write_text("in the way")
    Path("loop").symlink_to("loop")
    given = [] if "--data" in arguments or arguments[0] == "verify" else ["--data", str(data)]
    assert main([*arguments, *given]) == 1
    assert not Path("nowhere").exists()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"sonicpy: {sentence}")
    assert said.err.count("\n") == 1


def test_beside_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    with Server(tmp_path) as server:
        folder = str(server.folder / "store")
        assert main(["verify", folder]) == 0
        assert main(["backup", str(tmp_path / "copy"), "--data", folder]) == 0
        assert main(["restore", str(tmp_path / "copy"), "--data", folder]) == 1
        assert f"is already open for writing by process {server.pid}" in capsys.readouterr().err
        url = f"sonic://127.0.0.1:{server.port}"
        assert main(["backup", str(tmp_path / "other"), "--server", url]) == 0
        assert capsys.readouterr().out == f"the server wrote a backup into {tmp_path / 'other'}\n"
        assert main(["restore", str(tmp_path / "other"), "--server", url]) == 0
        assert capsys.readouterr().out == f"the collections of {tmp_path / 'other'} are restored into the server\n"
        assert main(["verify", str(tmp_path / "other"), "--server", url]) == 2
        assert "allowed is one of the two" in capsys.readouterr().err
        with connect(url) as client:
            client.push("c", "b", "o", "amber")
        server.kill()
    # The copy holds what the killed server left in its log.
    assert main(["backup", str(tmp_path / "copy"), "--data", folder]) == 0
    assert main(["restore", str(tmp_path / "copy"), "--data", str(tmp_path / "other")]) == 0
    capsys.readouterr()
    assert main(["query", "c", "b", "amber", "--data", str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out == "o\n"


def test_a_folder_alone_has_the_settings_by_default_and_other_sources_still_count(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SONIC_BIN", raising=False)  # of the tests: it could be a setting
    arguments = parse(["query", "c", "b", "amber", "--data", str(data)])
    assert isinstance(index_settings(arguments), PlainSection)
    with open_target(arguments) as index:
        assert isinstance(index, Index) and index.config == Config.model_validate({"store": {"kv": {"path": data}}})
    Path("own.cfg").write_text("[search]\nranking = 'newest'\n")
    assert index_settings(parse(["query", "c", "b", "x", "--data", "d", "-c", "own.cfg"])).search.ranking == "newest"
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", (Path("own.cfg"),))
    assert index_settings(arguments).search.ranking == "newest"
    monkeypatch.setenv("sonic_search__ranking", "bm25")
    assert index_settings(arguments).search.ranking == "bm25"


@pytest.mark.parametrize("verb", [["push", "c", "b", "o", "text"], ["serve"], ["count", "c"]])
def test_the_address_of_a_server_is_no_folder(data: Path, verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    held = list(data.parent.iterdir())
    assert main([*verb, "--data", "sonic://:secret@localhost:1491"]) != 0
    assert capsys.readouterr().err == "sonicpy: flag --data holds the address of a server; allowed is a folder.\n"
    assert list(data.parent.iterdir()) == held
