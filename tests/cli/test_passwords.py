"""Tests of passwords of servers: from variables and files, and not on the command lines of child processes."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonicpy.cli.main import main
from tests.cli.conftest import Run
from tests.processes import HOST, Server, environment, free_port
from tests.support.patience import WAIT_S

PASSWORD = "SecretPassword"
"""The password of `locked_server`."""


def url_of(server: Server) -> str:
    return f"sonic://{HOST}:{server.port}"


def test_a_file_holds_the_password(
    run: Run, here: Path, locked_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = here / "password"
    file.write_text(f"{PASSWORD}\n")
    monkeypatch.setenv("SONICPY_PASSWORD_FILE", str(file))
    assert run("stats", "--server", url_of(locked_server), "--json")
    monkeypatch.setenv("SONICPY_PASSWORD", "wrong")
    run("stats", "--server", url_of(locked_server), status=1, said="the password is wrong")
    monkeypatch.delenv("SONICPY_PASSWORD")
    file.write_bytes(b"not UTF-8 \xff\n")
    run("stats", "--server", url_of(locked_server), status=2, said="the password of the server holds white space")
    file.unlink()
    said = f"the file {file} of SONICPY_PASSWORD_FILE cannot be read: No such file or directory."
    run("stats", "--server", url_of(locked_server), status=2, said=said)


def test_a_person_hears_of_a_password_that_others_can_read(
    here: Path, locked_server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_url = f"sonic://:{PASSWORD}@{HOST}:{locked_server.port}"
    for is_person, url, hears in (
        (False, open_url, False),
        (True, open_url, True),
        (True, url_of(locked_server), False),
    ):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_person=is_person: is_person)
        monkeypatch.setattr(sys, "argv", ["sonicpy", "stats", "--server", url])
        main()
        said = capsys.readouterr().err
        assert ("everyone who can list processes reads the password on this command line" in said) == hears
        assert PASSWORD not in said
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    source = f"nodialect://search:{PASSWORD}@localhost/shop?table=products"
    monkeypatch.setattr(sys, "argv", ["sonicpy", "mirror", source, "--collection", "c", "--data", "d"])
    main()
    said = capsys.readouterr().err
    assert "reads the password on this command line; most databases read it from a file" in said
    assert PASSWORD not in said
    monkeypatch.setattr(sys, "argv", ["sonicpy", "shell"])
    monkeypatch.setenv("SONICPY_SERVER", open_url)
    monkeypatch.setattr(sys, "stdin", io.StringIO("stats\nstats --json\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main()
    assert capsys.readouterr().err == "", "the lines of a shell are in no list of processes"


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc to read command lines")
@pytest.mark.parametrize("way", ["flag", "variable"])
def test_agents_get_the_password_but_not_on_their_command_line(tmp_path: Path, locked_server: Server, way: str) -> None:
    set_file = tmp_path / "set.json"
    set_file.write_text(json.dumps({"Iterations": 1_000_000, "Spaces": ["c/b"], "Queries": ["word"], "Limit": 1}))
    given = ["--password", PASSWORD] if way == "flag" else []
    variables = {} if way == "flag" else {"SONICPY_PASSWORD": PASSWORD}
    running = subprocess.Popen(
        [sys.executable, "-m", "sonicpy", "load", "run", "--hub", f"{HOST}:{free_port()}", "--agents", "1",
         "--server", f"{HOST}:{locked_server.port}", *given, str(set_file)],
        stdout=subprocess.DEVNULL, env=environment({}) | variables,
    )  # fmt: skip
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    try:
        deadline = time.monotonic() + WAIT_S
        while not (agents := children.read_text().split()) and time.monotonic() < deadline:
            time.sleep(0.01)
        (agent,) = agents
        while (
            b"\0agent\0" not in (line := Path("/proc", agent, "cmdline").read_bytes()) and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        assert b"\0agent\0" in line
        assert PASSWORD.encode() not in line
        held = Path("/proc", agent, "environ").read_bytes().split(b"\0")
        assert f"SONICPY_PASSWORD={PASSWORD}".encode() in held
    finally:
        running.terminate()
        running.wait()
