"""Tests of the README: its session with nc and its commands work; links in docs lead to pages."""

import csv
import html
import re
import runpy
import shlex
import socket
import tomllib
from pathlib import Path

import pytest

from sonicpy.cli.parser import MODULES
from tests.docs.pages import PAGES, name_of
from tests.docs.pages import blocks as code_of
from tests.processes import HOST, Server, run_here
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def without_marker(line: str) -> str:
    """Return a line with its marker hidden, which is random."""
    return re.sub(r"^(PENDING|EVENT \w+) [A-Za-z0-9]{8}", r"\1 <marker>", line)


def test_the_session_with_nc(server: Server) -> None:
    session = blocks("console")[0]
    connection, answers = None, None
    for line in session.splitlines():
        if line.startswith("$ nc "):
            connection = socket.create_connection((HOST, server.port), timeout=WAIT_S)
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


WAYS = {
    "FTS5, porter": "FTS5, porter",
    "sonicpy, words": "words",
    "vectors, all compared": "vectors, all compared",
    "FTS5 + vectors, by ranks": "FTS5 and vectors, fused by rank",
    "sonicpy + vectors, by ranks": "sonicpy and vectors, fused by rank",
    "sonicpy, signs (meaning .7, depth 50)": "words and signs",
    "sonicpy + usearch, fuse(weight=1)": "sonicpy and usearch, `fuse`",
}
"""Way in the file of figures -> its name in the tables of the pages."""


def test_the_figures_of_meaning_are_those_of_the_file() -> None:
    figures: dict[str, list[float]] = {}
    with (ROOT / "docs/benchmarks/data/quality-meaning.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["way"], []).append(float(row["nDCG@10"]))
    quality = (ROOT / "docs/quality.md").read_text(encoding="utf-8")
    for way, name in WAYS.items():
        assert len(figures[way]) == 4
        four = re.escape(" | ".join(f"{figure:.4f}"[1:] for figure in figures[way]))
        assert re.search(rf"^\| \**(sonicpy, )?{re.escape(name)}\** \| [\d,]+ \| {four} \|$", quality, re.MULTILINE), (
            name
        )
        if name.startswith("words"):
            assert f"| {name} | {' | '.join(f'{figure:.3f}'[1:] for figure in figures[way])} |" in README
    words, signs = (f"{figures[way][0]:.3f}"[1:] for way, name in WAYS.items() if name.startswith("words"))
    assert f"[{words} to {signs}]" in (ROOT / "docs/index.md").read_text(encoding="utf-8")


def test_the_commands_use_what_exists() -> None:
    demo, test = blocks("sh")
    assert demo.strip().endswith(" .venv/bin/pip install . && .venv/bin/sonicpy demo")
    assert shlex.split(test)[-1] == ".venv/bin/pytest"
    assert "demo" in MODULES


def test_the_table_of_extras_names_what_they_bring() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    told: dict[str, set[str]] = {}
    for names, packages in re.findall(r"^\| (`[a-z0-9`, -]+`) \| ([\w;, -]+) \|", INSTALL, re.MULTILINE):
        parts = packages.split(";")
        for name, part in zip(re.findall(r"`([\w-]+)`", names), parts, strict=True):
            told[name] = {package.strip() for package in part.split(",")} - {"-"}
    brought = {name: {re.split(r"[<>=]", each)[0] for each in packages} for name, packages in extras.items()}
    for_developers = {"assistants", "bench", "browser", "dev", "docs", "fuzz", "mutation", "test"}
    assert told == {name: packages for name, packages in brought.items() if name not in for_developers}


def test_pictures_and_badges_are_files_of_the_project() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", README)
    assert pictures == ["docs/pictures/terminal.svg"]
    assert (ROOT / pictures[0]).is_file()
    assert "<img" not in README


def test_the_picture_of_a_terminal_shows_what_is_printed_today(tmp_path: Path) -> None:
    pytest.importorskip("rich", reason="needs rich, which the extra test installs")
    terminal = runpy.run_path(str(ROOT / "docs" / "pictures" / "terminal.py"))
    svg = terminal["PICTURE"].read_text(encoding="utf-8")
    matrix = svg.partition('-matrix">')[2]
    lines: dict[float, str] = {}
    for line, piece in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', matrix):
        lines[float(line)] = lines.get(float(line), "") + html.unescape(piece)
    shown = [lines[place].replace("\xa0", " ").rstrip() for place in sorted(lines)]
    session = terminal["session"](lambda arguments: "".join(run_here(arguments, tmp_path)[1:])).plain.splitlines()
    assert shown == session, "run docs/pictures/terminal.py"
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", ""), "it loads nothing"


def test_first_steps_and_recipes_leave_the_folder_of_the_server_alone() -> None:
    first = {"README", "index", "tutorial", "library"}
    pages = [page for page in PAGES if page.parent.name == "recipes" or page.stem in first]
    assert len(pages) > 5
    for page in pages:
        opened = [block.line for block in code_of(page) if block.language == "python" and "data/store" in block.code]
        assert not opened, f"{name_of(page)} opens ./data/store, which sonicpy serve writes"


def test_the_gate_runs_the_tests_as_the_readme_does() -> None:
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'print(*project["dependencies"], *project["optional-dependencies"]["test"]' in gate
    assert "install --no-deps -e ." in gate
    assert gate.rstrip().endswith('"$venv/bin/pytest"')


def test_links_to_files_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"
            inside = page.parent == ROOT or (page.parent / target).resolve().is_relative_to(ROOT / "docs")
            assert inside, f"{name_of(page)} links to {target}, which is not a page of the site"


def headings(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = [
        re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]
    return {re.sub(r"\s+", "-", heading) for heading in plain} | set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))


def test_links_to_headings_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)\s]*#[^)]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            if name and not name.endswith(".md"):
                continue  # "#only-dark" of a picture
            found = headings(page.parent / name if name else page)
            assert anchor in found, f"{name_of(page)} links to {target}"


def test_paths_named_in_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"(?<![\w/])(?:[a-z]\w*/)+\w+\.py", text))
    assert len(names) > 50
    package = ROOT / "sonicpy"
    for name in sorted(names):  # in the drawing, parts of index are below it
        assert any((folder / name).exists() for folder in (package, package / "index", ROOT)), name
