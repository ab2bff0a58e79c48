"""Fixtures for projects that search with sonicpy: `sonicpy_server` and `sonicpy_index`.

pytest finds the fixtures by itself if sonicpy is installed. The large parts of the package are loaded when a test uses
a fixture.

    def test_search(sonicpy_server):
        with sonicpy_server.connect() as client:
            client.push("messages", "default", "conversation:1", "Hello from Nantes")
            assert client.query("messages", "default", "nantes") == ["conversation:1"]

One server, in its own process, serves all tests of a session that use it; it is empty when a test begins.
"""

import os
import re
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sonicpy
from sonicpy.interpreter import sonicpy_command

if TYPE_CHECKING:
    from sonicpy.client.blocking.client import Client
    from sonicpy.index.index import Index

START_S = 60.0
STOP_S = 10.0
HOST = "127.0.0.1"

SETTINGS_OPTION = "sonicpy_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for pytest.ini that names a settings file."""
    parser.addini(SETTINGS_OPTION, "settings file (TOML) of sonicpy_server and sonicpy_index", type="paths", default=[])


class SonicpyServer:
    """A server in its own process, on a free port and with a temporary store.

    Attributes:
        host, port, password: the address and the password of the server.
        url: the address and the password as one string, for `sonicpy.connect`.
        folder: the temporary folder of the server, with its store and its log `stderr.txt`.
    """

    def __init__(self, folder: Path, settings: Path | None = None) -> None:
        self.folder = folder
        self.host = HOST
        self.port = 0
        self.password = secrets.token_urlsafe(12)
        self._settings = settings
        self._store = folder / "store"
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The address and the password as one string, for `sonicpy.connect`."""
        return f"sonic://:{self.password}@{self.host}:{self.port}"

    def connect(self, **options: Any) -> "Client":
        """Return a client, which the caller closes, best by `with`. The options are those of `sonicpy.connect`."""
        return sonicpy.connect(self.url, **options)

    def clear(self) -> None:
        """Flush every collection; start the server again if a test has ended it."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        try:
            with self.connect() as client:
                while names := client.stats()["by_collection"]:  # at most a thousand
                    for name in names:
                        client.flush(name)
        except sonicpy.NotOffered:  # in compat mode the server does not list its collections
            self.stop()
            shutil.rmtree(self._store)
            self.start()

    def start(self) -> None:
        """Start the server, and return when it serves.

        Raises:
            RuntimeError: the server ended, or took too long to start; the message holds its log.
        """
        log = self.folder / "stderr.txt"
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                self._command(), cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self._process = process
        assert process.stdout is not None
        # `readline` has no time limit.
        watch = threading.Timer(START_S, process.kill)
        watch.start()
        line = process.stdout.readline()
        watch.cancel()
        found = re.search(rf"listens on {re.escape(self.host)}:(\d+)", line)
        if found is None:
            self.stop()
            raise RuntimeError(f"the server of sonicpy_server did not start:\n{log.read_text(errors='replace')}")
        self.port = int(found[1])

    def stop(self) -> None:
        """End the server."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _command(self) -> list[str]:
        settings = self._settings
        if settings is None:
            settings = self.folder / "settings.cfg"  # else the server would read the settings of the machine
            settings.touch()
        flags = ["-c", str(settings), "--inet", f"{self.host}:0", "--data", str(self._store)]
        return sonicpy_command("serve", *flags)

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith("SONIC_")}
        return {**inherited, "SONIC_CHANNEL__AUTH_PASSWORD": self.password, "SONIC_SERVER__LOG_LEVEL": "warn"}


@pytest.fixture(scope="session")
def sonicpy_server_process(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[SonicpyServer]:
    """The server of the session, for fixtures of a project that have a wider scope; they call `clear` themselves."""
    server = SonicpyServer(tmp_path_factory.mktemp("sonicpy"), _settings(pytestconfig))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def sonicpy_server(sonicpy_server_process: SonicpyServer) -> SonicpyServer:
    """An empty server: `.url`, `.host`, `.port`, `.password`, and `.connect()` for a client."""
    sonicpy_server_process.clear()
    return sonicpy_server_process


@pytest.fixture
def sonicpy_index(pytestconfig: pytest.Config) -> "Iterator[Index]":
    """A temporary Index in memory, for this test alone."""
    settings = _settings(pytestconfig)
    config = None
    if settings is not None:
        from sonicpy.config import load  # noqa: PLC0415  loaded when it is needed

        config = load(settings, {}, {}).config
    with sonicpy.open(":memory:", config) as index:
        yield index


def _settings(config: pytest.Config) -> Path | None:
    paths: list[Path] = config.getini(SETTINGS_OPTION)
    if len(paths) > 1:
        raise pytest.UsageError(f"{SETTINGS_OPTION} takes one file, not {len(paths)}")
    return paths[0] if paths else None
