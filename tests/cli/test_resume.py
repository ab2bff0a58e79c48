"""An import that is interrupted goes on; positions that cannot be saved or looked for."""

import gzip
import hashlib
import json
import os
import pwd
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from sonicpy.cli.importing import job, row_sources, sinks
from sonicpy.cli.importing.mapping import Entry
from sonicpy.cli.importing.sinks import FolderSink
from tests.cli.conftest import Run
from tests.cli.holdings import held
from tests.processes import Server


class Interrupter(FolderSink):
    """A sink that is interrupted, as by Ctrl-C, while it pushes the second chunk."""

    chunks = 0

    def push(self, entries: Sequence[Entry]) -> list[sinks.RefusedEntry]:
        Interrupter.chunks += 1
        if Interrupter.chunks == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return super().push(entries)


def test_an_interrupted_import_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "CHUNK_ROWS", 10)
    rows = [f"{number},word{number}" if number % 7 else f"a b,{number}" for number in range(95)]
    Path("rows.csv").write_text("id,text\n" + "\n".join(rows))
    verb = ["import", "rows.csv", "--collection", "c", "--data", "d", "--bad", "bad"]
    Interrupter.chunks = 0
    with monkeypatch.context() as patched:
        patched.setattr("sonicpy.cli.importing.verb.FolderSink", Interrupter)
        run(*verb, status=130, said="sonicpy: interrupted\n")
    assert len(held()) == 17
    assert len(Path("bad").read_text().splitlines()) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with open("bad", "a") as bad:
        bad.write("what a killed process wrote after its position\n")
    Path("rows.csv").write_text("id,text\n" + "\n".join([*rows, "95,word95"]))  # it may have grown
    report = json.loads(run(*verb, "--resume", "--json", status=3, said="continuing after row 20 of rows.csv"))
    assert report == {**report, "rows": 96, "indexed": 82, "refused": 14, "resumed": 20}
    assert held() == {str(number): {f"word{number}"} for number in range(96) if number % 7}
    assert [json.loads(line)["row"] for line in Path("bad").read_text().splitlines()] == list(range(1, 96, 7))
    assert not list(Path("d/import").iterdir())


def test_an_import_in_the_background_ignores_what_its_shell_ignores(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "CHUNK_ROWS", 1)
    Path("rows.csv").write_text("id,text\n1,amber\n2,birch\n3,cedar\n")
    Interrupter.chunks = 0
    monkeypatch.setattr("sonicpy.cli.importing.verb.FolderSink", Interrupter)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run("import", "rows.csv", "--collection", "c", "--data", "d")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert held().keys() == {"1", "2", "3"}


def test_a_position_is_of_one_import_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "CHUNK_ROWS", 1)
    Path("rows.csv").write_text("id,text\n1,amber\n2,birch\n3,cedar\n")
    verb = ["import", "rows.csv", "--collection", "c", "--data", "d"]
    Interrupter.chunks = 0
    with monkeypatch.context() as patched:
        patched.setattr("sonicpy.cli.importing.verb.FolderSink", Interrupter)
        run(*verb, status=130, said="interrupted")
    run(*verb[:2], "--collection", "e", "--data", "d", "--resume")  # other rows: another import
    assert held(collection="e").keys() == {"1", "2", "3"}
    assert held().keys() == {"1", "2"}
    Path("rows.csv").write_text("id,text\n9,other\n")
    run(*verb, "--resume", status=1, said="rows.csv has changed since its import was interrupted")
    (position,) = Path("d/import").iterdir()
    position.write_text("{")
    run(*verb, "--resume", status=1, said="cannot read where the import of rows.csv was interrupted")
    run(*verb, said="--resume would continue it\n")
    assert held().keys() == {"1", "2", "9"}
    assert not list(Path("d/import").iterdir())


def interrupted(run: Run, monkeypatch: pytest.MonkeyPatch, file: str, rows: int) -> list[str]:
    """Interrupt the import of a file in its second half; return the verb."""
    verb = ["import", file, "--collection", "c", "--data", "d"]
    with monkeypatch.context() as patched:
        patched.setattr(job, "CHUNK_ROWS", rows // 2)
        patched.setattr("sonicpy.cli.importing.verb.FolderSink", Interrupter)
        Interrupter.chunks = 0
        run(*verb, status=130, said="interrupted")
    return verb


@pytest.mark.full
@pytest.mark.parametrize("file", ["rows.jsonl", "rows.csv", "rows.json", "rows.jsonl.gz", "rows.parquet"])
def test_a_file_that_has_changed_anywhere_before_the_position_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    rows = [{"id": str(number), "text": f"word{number} " + "filler " * 20} for number in range(2_400)]
    write(file, rows)
    verb = interrupted(run, monkeypatch, file, 2_001)
    changed = [*rows[:1_500], *rows[1_501:], {"id": "new", "text": "newest"}]
    for others in (changed, rows[:1_000]):
        write(file, others)
        run(*verb, "--resume", status=1, said=f"{file} has changed since its import was interrupted")
    write(file, rows)
    run(*verb, "--resume", said=f"continuing after row 2000 of {file}")
    assert len(held()) == 2_400


def write(file: str, rows: Sequence[dict[str, str]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    if file.endswith(".parquet"):
        pytest.importorskip("pyarrow.parquet", reason="needs pyarrow").write_table(
            pytest.importorskip("pyarrow").Table.from_pylist(list(rows)), file
        )
    elif file.endswith(".gz"):
        Path(file).write_bytes(gzip.compress(lines.encode(), mtime=0))
    elif file.endswith(".csv"):
        Path(file).write_text("id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in rows))
    else:
        Path(file).write_text(json.dumps(rows) if file.endswith(".json") else lines)


def test_rows_behind_the_position_may_change(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sources, "READ_BYTES", 1 << 12)
    rows = [{"id": str(number), "text": f"word{number} " + "filler " * 20} for number in range(2_400)]
    write("rows.jsonl", rows)
    verb = interrupted(run, monkeypatch, "rows.jsonl", 2_001)
    write("rows.jsonl", [*rows[:2_200], {"id": "new", "text": "newest"}])
    run(*verb, "--resume", said="continuing after row 2000")
    assert held().keys() == {*map(str, range(2_200)), "new"}


def test_a_position_of_an_older_version_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(number), "text": f"word{number} " + "filler " * 20} for number in range(2_400)]
    write("rows.jsonl", rows)
    verb = interrupted(run, monkeypatch, "rows.jsonl", 2_001)
    (position,) = Path("d/import").iterdir()
    head = hashlib.blake2b(Path("rows.jsonl").read_bytes()[: 1 << 16], digest_size=16).hexdigest()
    position.write_text(json.dumps({**json.loads(position.read_text()), "head": head, "head_bytes": 1 << 16}))
    run(*verb, "--resume", said="continuing after row 2000")
    assert len(held()) == 2_400


def test_positions_that_cannot_be_saved(run: Run, shared_server: Server, here: Path) -> None:
    """An import continues if its position cannot be saved, unless --resume is given."""
    (here / "state").write_text("a file")
    Path("rows.csv").write_text("id,text\n1,cedar\n")
    verb = ["import", "rows.csv", "--collection", "unsaved", "--server", f"sonic://127.0.0.1:{shared_server.port}"]
    said = f"sonicpy: cannot write {here}/state/sonicpy/import: Not a directory"
    assert "1 indexed" in run(*verb, said=f"{said}; --resume will not continue this import\n")
    run(*verb, "--resume", status=1, said=f"{said}\n")
    assert (here / "state").read_text() == "a file"


@pytest.fixture
def homeless(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove HOME, and the user from the list of users, as for a user in a container who is only a number."""

    def unknown(user: object) -> None:
        raise KeyError(f"uid not found: {user}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    Path("rows.csv").write_text("id,text\n1,cedar\n")


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_imports_into_a_folder(run: Run) -> None:
    run("import", "rows.csv", "--collection", "c", "--data", "d", "--resume")
    assert run("query", "c", "default", "cedar", "--data", "d") == "1\n"


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_imports_into_a_server(run: Run, shared_server: Server) -> None:
    verb = ["import", "rows.csv", "--collection", "homeless", "--server", f"sonic://127.0.0.1:{shared_server.port}"]
    said = "sonicpy: there is no home to save positions in (XDG_STATE_HOME names another folder)"
    assert "1 indexed" in run(*verb, said=f"{said}; --resume will not continue this import\n")
    run(*verb, "--resume", status=1, said=f"{said}\n")


def test_positions_that_nobody_can_look_for(run: Run, shared_server: Server, here: Path) -> None:
    (here / "state").symlink_to("state")
    Path("rows.csv").write_text("id,text\n1,cedar\n")
    url = f"sonic://127.0.0.1:{shared_server.port}"
    said = f"sonicpy: cannot look into {here}/state/sonicpy/import: Too many levels of symbolic links\n"
    run("import", "rows.csv", "--collection", "nowhere", "--server", url, status=1, said=said)
