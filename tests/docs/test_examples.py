"""The examples run as their READMEs say; the pages of the cookbook show their files unchanged, HTML only in part."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, blocks, imported_by, name_of
from tests.docs.running import check, commands, put_commands_on_path, run_in_shell
from tests.support.examples import some

EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/README.md"))
SHOWN = re.compile(r'^```(?:py|js) title="(examples/[^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
ASKED = re.compile(r'data-ask="[^"]*"')
"""The attribute with the route that answers the search box."""


def test_the_table_lists_every_example() -> None:
    told = re.findall(r"^\| \[(\w+)\]\((\w+)/README.md\)", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(told) == [(folder.name, folder.name) for folder in FOLDERS]
    assert len(FOLDERS) > 5


@pytest.mark.parametrize("folder", some(FOLDERS, 2), ids=name_of)
def test_an_example_runs(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in sorted(packages_in(folder)):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name_of(folder)} needs {name}: pip install 'sonicpy-search[docs]'")
    here = tmp_path / "here"
    shutil.copytree(folder, here, ignore=shutil.ignore_patterns("__pycache__", "data"))
    monkeypatch.chdir(here)
    put_commands_on_path(tmp_path / "bin", monkeypatch)
    consoles = [block for block in blocks(folder / "README.md") if block.language == "console"]
    assert consoles
    for block in consoles:
        place = f"{name_of(folder)}/README.md:{block.line}"
        for command, output in commands(block.code):
            check(run_in_shell(command, place, dict(os.environ)), output, place)


def test_the_search_box_is_the_same_file_everywhere() -> None:
    pages = [*EXAMPLES.rglob("page.html"), EXAMPLES / "browser" / "index.html"]
    assert {page.relative_to(EXAMPLES).parts[0] for page in pages} == {"browser", "django", "fastapi", "flask"}
    assert len({ASKED.sub("", page.read_text("utf-8")) for page in pages}) == 1
    assert "http" not in ASKED.sub("", pages[0].read_text("utf-8")), "it loads nothing"


def packages_in(folder: Path) -> set[str]:
    """Return the packages that the programs of an example import, without its own modules and the packages that sonicpy
    needs.
    """
    own = {path.stem for path in folder.iterdir()}
    programs = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    names = {name for program in programs for name in imported_by(program)}
    if any("fastapi.testclient" in program for program in programs):
        names.add("httpx2")
    return names - own - {"rapidfuzz"}


def test_pages_show_the_examples_as_they_are() -> None:
    shown = {}
    for page in PAGES:
        for name, code in SHOWN.findall(page.read_text("utf-8")):
            whole = (ROOT / name).read_text("utf-8")
            assert code == whole or (name.endswith(".html") and code in whole), f"{name_of(page)} shows another {name}"
            shown[name] = page
    for folder in FOLDERS:
        on_a_page = any(name.startswith(f"{name_of(folder)}/") for name in shown)
        named = any(f"`{name_of(folder)}/`" in page.read_text("utf-8") for page in DOCS.rglob("*.md"))
        assert (on_a_page and named) or folder.name == "characters", f"no page shows {name_of(folder)}"
