"""Tests of `sonicpy demo`: names and docstrings of the standard library, indexed and served."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path

import pytest

import sonicpy
from sonicpy.cli.demo.corpus import PythonName, entries, source_files
from sonicpy.cli.demo.verb import BUCKET, COLLECTION, TRIALS
from sonicpy.cli.main import main
from tests.processes import environment
from tests.support.patience import WAIT_S, until

EXPECTED = {
    "tempfiel": "tempfile",
    "threadpo": "concurrent.futures.thread.ThreadPoolExecutor",
    "splitext": "os.path.splitext",
}
"""Query of TRIALS -> a name that it finds."""


def test_the_source_is_read_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text(
        '"""Made up."""\nraise SystemExit\nclass Box:\n    """Holds."""\n    def put(self):\n        pass\n'
        "    def _take(self):\n        pass\nasync def wait():\n    '''Wait.'''\n"
    )
    found = list(entries("made", file))
    assert found == [
        PythonName("made", "module", "Made up.", f"{file}:1"),
        PythonName("made.Box", "class", "Holds.", f"{file}:3"),
        PythonName("made.Box.put", "function", "", f"{file}:5"),
        PythonName("made.wait", "function", "Wait.", f"{file}:9"),
    ]
    file.write_text("this is no Python")
    assert list(entries("made", file)) == []


@pytest.mark.full
def test_modules_have_the_names_that_programs_import() -> None:
    modules = dict(source_files())
    assert {"json", "json.decoder", "os.path", "asyncio.tasks"} <= modules.keys()
    assert not any(part.startswith("_") or part == "test" for name in modules for part in name.split("."))


def test_without_source_files_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(sonicpy.SonicError, match="holds no source files of Python"):
        source_files()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("mine")
    assert main(["demo", "--no-open", "--data", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.full
def test_the_page_the_channel_and_the_queries_to_try(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sonicpy", "demo", "--no-open"],
        cwd=tmp_path, env={"TMPDIR": str(tmp_path), "PATH": ""}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, f"it has ended: {printed}"
            printed += line
        page = re.search(r"http://127\.0\.0\.1:\d+/", printed)
        channel = re.search(r"sonic://127\.0\.0\.1:\d+", printed)
        assert page and channel
        with urllib.request.urlopen(page[0], timeout=WAIT_S) as answer:
            assert b"<html" in answer.read()
        with sonicpy.connect(channel[0]) as client:
            for _, query in TRIALS:
                assert EXPECTED[query] in client.query(COLLECTION, BUCKET, query, limit=20)
        url = re.search(r"curl '([^']+)'", printed)
        assert url
        with urllib.request.urlopen(url[1], timeout=WAIT_S) as answer:
            assert json.load(answer)["hits"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
        if process.stdout is not None:
            process.stdout.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_browser_in_the_terminal_reads_the_page(tmp_path: Path) -> None:
    """A browser in the terminal waits for the server, which must not wait for the browser."""
    read = "import sys, urllib.request as r; open('read', 'wb').write(r.urlopen(sys.argv[1], timeout=60).read())"
    (tmp_path / "browser.py").write_text(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "sonicpy", "demo"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True,
        env={**environment({}), "TMPDIR": str(tmp_path), "BROWSER": f"{sys.executable} browser.py %s"},
    )  # fmt: skip
    try:
        until(lambda: (tmp_path / "read").exists() and b"<html" in (tmp_path / "read").read_bytes())
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(WAIT_S)
