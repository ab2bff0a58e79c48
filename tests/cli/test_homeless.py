"""A user without a home: HOME is not set, and the list of users has no entry, as under a number in a container."""

import pwd
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.processes import Server


@pytest.fixture(autouse=True)
def homeless(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: object) -> None:
        raise KeyError(f"uid not found: {user}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    Path("rows.csv").write_text("id,text\n1,cedar\n")


def test_a_folder(run: Run) -> None:
    run("import", "rows.csv", "--collection", "c", "--data", "d", "--resume")
    assert run("query", "c", "default", "cedar", "--data", "d") == "1\n"


def test_a_server(run: Run, shared_server: Server) -> None:
    verb = ["import", "rows.csv", "--collection", "homeless", "--server", f"sonic://127.0.0.1:{shared_server.port}"]
    said = "sonicpy: there is no home to save positions in (XDG_STATE_HOME names another folder)"
    assert "1 indexed" in run(*verb, said=f"{said}; --resume will not continue this import\n")
    run(*verb, "--resume", status=1, said=f"{said}\n")
