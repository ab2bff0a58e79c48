"""The README does what it says: its session with nc, its commands; and links in docs lead somewhere."""

import re
import shlex
import socket
from pathlib import Path

from tests.docs.pages import PAGES, name_of
from tests.processes import HOST, Server

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def without_marker(line: str) -> str:
    """Hide the marker, which is random."""
    return re.sub(r"^(PENDING|EVENT \w+) [A-Za-z0-9]{8}", r"\1 <marker>", line)


def test_the_session_with_nc(server: Server) -> None:
    session = blocks("console")[0]
    connection, answers = None, None
    for line in session.splitlines():
        if line.startswith("$ nc "):
            connection = socket.create_connection((HOST, server.port), timeout=10)
            answers = connection.makefile(encoding="utf-8", newline="\r\n")
        elif line.startswith("> "):
            assert connection is not None
            connection.sendall(line[2:].encode() + b"\n")
        else:
            assert answers is not None
            assert without_marker(answers.readline().removesuffix("\r\n")) == without_marker(line)
            if line.startswith("ENDED"):
                assert answers.read() == ""
                answers.close()
                connection.close()


def test_the_commands_use_what_exists() -> None:
    serve, test = blocks("sh")
    assert "pip install . && .venv/bin/sonicpy serve" in serve
    assert shlex.split(test)[-1] == ".venv/bin/pytest"


def test_the_gate_runs_the_tests_as_the_readme_does() -> None:
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "install --quiet -e '.[test]'" in gate
    assert gate.rstrip().endswith('"$venv/bin/pytest"')


def test_links_to_files_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"
            inside = page.parent == ROOT or (page.parent / target).resolve().is_relative_to(ROOT / "docs")
            assert inside, f"{name_of(page)} links to {target}, which is not a page of the site"


def test_paths_named_in_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"(?:channel|lexer|store|index|server)/\w+\.py", text)):
        assert (ROOT / "sonicpy" / name).exists(), name
