"""Processes that sonicpy starts run no code from the working folder; a new place that starts a process fails a test."""

import ast
import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import sonicpy
from sonicpy.index.maintenance.verify import verify_store_in_child
from sonicpy.interpreter import modules_path, python_command, safe_path, sonicpy_command
from sonicpy.server.jobs.workers import Workers
from tests.processes import HOST, Server, environment, free_port
from tests.server.peer import Peer
from tests.server.search_tree import wait_for

PACKAGE = Path(sonicpy.__file__).parent
STARTS = {
    "children.py: multiprocessing.resource_tracker": "inside nothing_to_import",
    "cli/load.py: subprocess.Popen": "sonicpy_command",
    "cluster/operator/dev.py: subprocess.Popen": "sonicpy_command, and a broker",
    "interpreter.py: sys.executable": "python_command",
    "pytest_plugin.py: subprocess.Popen": "sonicpy_command",
    "server/searching/search_process.py: get_context.Process": "inside nothing_to_import",
    "server/jobs/workers.py: context.Process": "inside nothing_to_import",
    "store/disk/check_process.py: subprocess.run": "python_command",
    "store/disk/platform.py: subprocess.run": "sysctl, by its whole path",
}
"""Place that starts a process -> its protection against the working folder; add new places here."""
CALLS = {
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "loop": {"subprocess_exec", "subprocess_shell"},
    "os": {"fork", "forkpty", "popen", "posix_spawn", "posix_spawnp", "system", "startfile"},
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
    "multiprocessing": {"Manager", "Pool", "Process", "Queue", "resource_tracker"},
    "context": {"Manager", "Pool", "Process"},
    "get_context": {"Manager", "Pool", "Process"},
    "futures": {"ProcessPoolExecutor"},
    "pty": {"spawn", "fork"},
    "runpy": {"run_path", "run_module"},
    "sys": {"executable"},
}
"""Module -> its functions that start a process; all functions of `os` that begin with exec or spawn count, too."""
ANY = re.compile(
    r"\b(?:os\.(?:exec|spawn)|" + "|".join(sorted(set[str]().union(*CALLS.values()) - {"run"})) + "|subprocess)"
)
"""A pattern that every file that starts a process matches, and few others."""
HOSTILE = ("json", "signal", "multiprocessing", "threading", "struct", "lmdb")


def starts_in(path: Path) -> Iterator[str]:
    """Yield the calls in a file that look like the start of a process."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if ANY.search(text) else ():
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            module = node.module.rpartition(".")[2]
            yield from (f"{module}.{alias.name}" for alias in node.names if starts(module, alias.name))
        elif isinstance(node, ast.Attribute):
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            owner = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
            if starts(owner, node.attr):
                yield f"{owner}.{node.attr}"


def starts(owner: str, name: str) -> bool:
    return name in CALLS.get(owner, ()) or (owner == "os" and name.startswith(("exec", "spawn")))


def test_every_start_of_a_process_is_known() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert {f"{path.relative_to(PACKAGE)}: {start}" for path in paths for start in starts_in(path)} == set(STARTS)


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Path]:
    """A folder with modules that leave a mark when they are executed; at the end, no mark is there."""
    folder = tmp_path / "hostile"
    (folder / "sonicpy").mkdir(parents=True)
    mark = tmp_path / "mark"
    for path in (*(folder / f"{name}.py" for name in HOSTILE), folder / "sonicpy" / "__init__.py"):
        path.write_text(f"open({str(mark)!r}, 'a').write(__file__ + '\\n')\n")
    yield folder
    assert not mark.exists(), mark.read_text()


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    """The command line of a script as pip makes it: the first entry of its path is the folder of the script."""
    path = tmp_path / "bin" / "sonicpy-here"
    path.parent.mkdir()
    path.write_text("import sys\nfrom sonicpy.cli.main import main\nsys.exit(main())\n")
    return [sys.executable, str(path)]


def test_a_check_and_a_worker_in_a_hostile_folder(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sonicpy.open(tmp_path / "store").close()
    monkeypatch.chdir(hostile)
    assert verify_store_in_child(tmp_path / "store") == []

    async def run() -> None:
        workers = Workers(60)
        assert await workers.run(abs, -1) == 1
        workers.stop()

    asyncio.run(run())


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_a_server_in_a_hostile_folder(hostile: Path, script: list[str], tmp_path: Path) -> None:
    """No process of a server runs foreign code: the search process, the workers, the check that a worker starts, and
    `sonicpy verify`.
    """
    port = free_port(HOST)
    server = Server(tmp_path)
    server.port = port
    flags = ["serve", "--inet", f"{HOST}:{port}", "--data", str(tmp_path / "store")]
    variables = environment({"server.search_processes": 1})
    process = subprocess.Popen([*script, *flags], cwd=hostile, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "listens on" in process.stdout.readline()
        with Peer(server, "ingest") as peer:
            assert peer.ask('PUSH c b o "found"') == "OK"
        with Peer(server, "control") as control:
            assert "RESULT" in control.ask("VERIFY")
        wait_for(cast(Server, process))
    finally:
        process.terminate()
        process.communicate()
    checked = subprocess.run([*script, "verify", "../store"], cwd=hostile, capture_output=True, check=False)
    assert process.returncode == checked.returncode == 0, checked.stderr


def test_commands_in_a_hostile_folder(hostile: Path, tmp_path: Path) -> None:
    shown = subprocess.run(sonicpy_command("--version"), cwd=hostile, capture_output=True, text=True, check=True)
    assert sonicpy.__version__ in shown.stdout
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "a_module_of_ours.py").write_text("print('ours')")
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "ours")}
    command = python_command("-c", "import a_module_of_ours, json")
    assert subprocess.run(command, cwd=hostile, env=variables, capture_output=True, check=True).stdout == b"ours\n"


def test_the_working_folder_is_in_no_path_of_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(PACKAGE.parent)
    assert modules_path(["", "/a", "", "/b"]) == ["/a", "/b", root]
    for before in (None, "0"):
        monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        if before is not None:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        with safe_path():
            assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ.get("PYTHONSAFEPATH") == before
