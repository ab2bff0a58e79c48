"""Verbs at servers that fail for a while, and at those that lack the commands of sonicpy."""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.cli.main import main
from tests.cli.conftest import Run
from tests.processes import Server

MODEL = """
from pathlib import Path

def embed(texts):
    if Path(__file__).with_suffix(".broken").exists():
        raise RuntimeError("no memory")
    return [[1.0] * 24 for _ in texts]
"""


class FailingServer(Server):
    """A server whose model fails while a file exists; a PUSH then gets an internal error."""

    def __init__(self, folder: Path) -> None:
        self.broken = folder / "model.broken"
        (folder / "model.py").write_text(MODEL, encoding="utf-8")
        super().__init__(folder, {"server.embed": f"{folder / 'model.py'}:embed"})

    @property
    def url(self) -> str:
        return f"sonic://{self.host}:{self.port}"

    def objects(self) -> dict[str, list[str]]:
        """Return the objects that hold each of two words."""
        with sonicpy.connect(self.url) as client:
            return {word: sorted(client.query("c", "default", word, limit=100)) for word in ("old", "new")}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FailingServer]:
    with FailingServer(tmp_path) as running:
        yield running


def written(path: str, texts: dict[str, str]) -> None:
    rows = [{"id": name, "text": text} for name, text in texts.items()]
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def put(text: str, changed: int) -> None:
    """Put two rows with a text into a table; they have changed at `changed`, and one after it."""
    with contextlib.closing(sqlite3.connect("rows.db")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS rows (id PRIMARY KEY, text, changed)")
        rows = [("o1", text, changed), ("o2", text, changed + 1)]
        database.executemany("REPLACE INTO rows VALUES (?, ?, ?)", rows)


@pytest.mark.full
def test_an_import_ends_while_the_server_fails_and_goes_on_later(run: Run, server: FailingServer) -> None:
    written("rows.jsonl", {f"o{number}": "old" for number in range(7)})
    command = ("import", "rows.jsonl", "--collection", "c", "--server", server.url)
    server.broken.touch()
    run(*command, status=1, said="the server failed, 7 rows up to the last one sent; its log has the reason")
    server.broken.unlink()
    assert "7 indexed" in run(*command, "--resume")
    assert server.objects()["old"] == [f"o{number}" for number in range(7)]


@pytest.mark.full
@pytest.mark.parametrize("refused", [10_000, 0])
def test_a_mirror_reads_rows_again_with_which_the_server_failed(
    here: Path, server: FailingServer, refused: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def change() -> None:
        server.broken.touch()
        put("new", 4)
        with contextlib.closing(sqlite3.connect("rows.db")) as database, database:
            rows = ((f"no name {number}", "new", 3) for number in range(refused))
            database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)

    steps: Iterator[Callable[[], object]] = iter([change, server.broken.unlink])

    def sleep(seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    put("old", 1)
    monkeypatch.setattr(time, "sleep", sleep)
    flags = ["--collection", "c", "--watermark", "changed", "--every", "5", "--server", server.url]
    main(["mirror", "sqlite:///rows.db?table=rows", *flags])
    monkeypatch.undo()
    assert server.objects() == {"old": [], "new": ["o1", "o2"]}


def test_verbs_at_a_server_in_compat_mode(run: Run, tmp_path: Path) -> None:
    written("rows.jsonl", {"o1": "old", "o2": "old"})
    with Server(tmp_path / "server", {"server.compat": "sonic"}) as server:
        at = ("--server", f"sonic://{server.host}:{server.port}")
        assert "2 indexed" in run("import", "rows.jsonl", "--collection", "c", *at)
        assert run("query", "c", "default", "nothing", *at) == ""
        assert run("count", "c", "other", *at) == "0\n"
        assert run("flush", "c", "default", *at) == "1\n"
        assert run("count", "c", "default", *at) == "0\n"
