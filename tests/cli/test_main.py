"""Tests of the command line as a user sees it: its output and exit status."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy.cli.main import main
from sonicpy.config import Loaded
from sonicpy.errors import StoreLocked
from sonicpy.index.index import Index
from sonicpy.version import VERSION
from tests.processes import HOST, STOP_S, environment, free_port
from tests.support.patience import WAIT_S, until

SERVE = "sonicpy.server.server.serve"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Loaded]:
    """The settings that the server was started with, in a list; no server listens."""
    loaded: list[Loaded] = []

    def take(settings: Loaded, announce: Callable[[str], None]) -> int:
        loaded.append(settings)
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SERVE, take)
    for name in [name for name in os.environ if name.upper().startswith("SONIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    return loaded


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"sonicpy {VERSION}\n"


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "sonicpy", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"sonicpy {VERSION}\n"


def test_wrong_arguments_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in [["dance"], ["serve", "--colour"], ["ping", "extra"], ["config"]]:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2
        assert capsys.readouterr().err.startswith("usage: sonicpy")


HELP = [
    (["--help"], ["serve", "ping", "config", "--version"]),
    (["config", "--help"], ["check", "show"]),
    (["config", "check", "--help"], ["FILE", "Exit status"]),
    (["config", "show", "--help"], ["--config", "--inet", "--data", "--show-password", "/etc/sonic.cfg"]),
    (["serve", "--help"], ["--config", "--inet", "--data", "--log-level", "/etc/sonic.cfg"]),
    (["ping", "--help"], ["--inet", "--unix", "--tls", "--ca", "--password", "--timeout", "PING", "Exit status"]),
]


def test_help_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, names in HELP:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
        output = " ".join(capsys.readouterr().out.split())
        assert [name for name in names if name not in output] == []


def test_serve_without_flags_uses_the_defaults(started: list[Loaded]) -> None:
    assert main(["serve"]) == 0
    assert [loaded.config.channel.inet_is_default for loaded in started] == [True]


def test_serve_passes_its_flags(started: list[Loaded], tmp_path: Path) -> None:
    path = tmp_path / "some.cfg"
    path.write_text('search.ranking = "newest"\nserver.log_level = "off"')
    flags = ["--inet", "127.0.0.1:7", "--data", "/srv/index", "--log-level", "debug"]
    assert main(["serve", "-c", str(path), *flags]) == 0
    loaded = started[0]
    assert loaded.source == path
    assert loaded.config.search.ranking == "newest"
    assert loaded.config.channel.addresses == [("127.0.0.1", 7)]
    assert loaded.config.store.kv.path == Path("/srv/index")
    assert loaded.config.server.log_level == "debug"


def test_serve_reads_the_environment(started: list[Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONIC_SERVER__COMPAT", "sonic")
    main(["serve"])
    assert started[0].config.search.ranking == "sonic"


def test_serve_returns_the_status_of_the_server(started: list[Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SERVE, lambda loaded, announce: 1)
    assert main(["serve"]) == 1


def wrong(flag: str, key: str, value: str, allowed: str) -> tuple[list[str], str]:
    return ["serve", flag, value], f'sonicpy: flag {flag}: {key} is "{value}"; allowed is {allowed}.\n'


WRONG_SETTINGS = [
    (["serve", "-c", "none.cfg"], "sonicpy: none.cfg cannot be read: No such file or directory.\n"),
    wrong("--log-level", "server.log_level", "loud", '"off", "error", "warn", "info", "debug" or "trace"'),
    wrong("--data", "store.kv.path", "", "the path of a folder"),
    (
        ["serve", "--inet", "localhost"],
        'sonicpy: flag --inet: channel.inet holds "localhost"; allowed is an address and a port, '
        'such as "127.0.0.1:1491", "[::1]:1491" or "localhost:1491", or a list of them.\n',
    ),
]


def test_wrong_settings_end_with_status_2(started: list[Loaded], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in WRONG_SETTINGS:
        assert main(arguments) == 2
        assert capsys.readouterr().err == message
        assert started == []


def test_a_server_that_cannot_start_ends_with_status_1(
    started: list[Loaded], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(loaded: Loaded, announce: Callable[[str], None]) -> int:
        raise StoreLocked("data/store is open in process 7.")

    monkeypatch.setattr(SERVE, refuse)
    assert main(["serve"]) == 1
    assert capsys.readouterr().err == "sonicpy: data/store is open in process 7.\n"


def test_serve_says_where_it_listens_unless_it_is_to_be_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ready(loaded: Loaded, announce: Callable[[str], None]) -> int:
        announce("listens on 127.0.0.1:1")
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SERVE, ready)
    for level, said in [("warn", "listens on 127.0.0.1:1\n"), ("error", ""), ("off", "")]:
        assert main(["serve", "--log-level", level]) == 0
        assert capsys.readouterr().out == said
    (tmp_path / "config.cfg").write_text("[server]\n")
    assert main(["serve"]) == 0
    assert capsys.readouterr().out == "listens on 127.0.0.1:1, its settings are in config.cfg\n"


def run_with_closed(streams: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return the result of the command, run with closed streams, as a shell does for ">&- 2>&-"."""
    command = ["sh", "-c", f'exec "$0" -m sonicpy "$@" {streams}', sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WAIT_S, check=False)


@pytest.mark.parametrize(
    ("streams", "verb", "status", "printed", "said"),
    [
        ("<&-", ["query", "-"], 1, "", "sonicpy: the standard input is closed\n"),
        ("<&-", ["push", "o", "-"], 1, "", "sonicpy: the standard input is closed\n"),
        (">&-", ["query", "hello"], 0, "", ""),
        ("2>&-", ["query", "two", "--limit", "x"], 2, "", ""),
    ],
)
def test_closed_streams(streams: str, verb: list[str], status: int, printed: str, said: str, tmp_path: Path) -> None:
    with Index(tmp_path / "index") as index:
        index.push("messages", "default", "o", "hello")
    arguments = [verb[0], "messages", "default", *verb[1:], "--data", "index"]
    done = run_with_closed(streams, *arguments, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (status, printed, said)


def test_a_server_without_streams_serves_and_stops(tmp_path: Path) -> None:
    port = free_port(HOST)
    flags = ["serve", "--inet", f"{HOST}:{port}", "--data", "store"]
    command = ["sh", "-c", 'exec "$0" -m sonicpy "$@" <&- >&- 2>&-', sys.executable, *flags]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment({}))
    try:
        until(lambda: main(["ping", "--inet", f"{HOST}:{port}"]) == 0)
        with sonicpy.connect(f"sonic://{HOST}:{port}") as client:
            client.push("messages", "default", "o", "hello")
            assert client.query("messages", "default", "hello") == ["o"]
        server.terminate()
        assert server.wait(STOP_S) == 0
    finally:
        server.kill()
        server.wait()


def test_an_error_keeps_what_was_printed_before(tmp_path: Path) -> None:
    code = """
import argparse
from sonicpy.cli import main

def run(arguments):
    print("the report")
    open("/missing/file")

main.parse = lambda argv: argparse.Namespace(run=run)
raise SystemExit(main.main())
"""
    with open(tmp_path / "out", "w") as out:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment({}),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "sonicpy: /missing/file: No such file or directory\n"
    assert (tmp_path / "out").read_text() == "the report\n"
