"""The site: its menu has every page, and mkdocs builds it without a warning."""

import importlib.util
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import sonicpy
from tests.docs.pages import DOCS, ROOT
from tests.support.patience import SLOWNESS

SETTINGS: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def menu(part: Any) -> Iterator[str]:
    """Yield the pages of a part of the menu."""
    if isinstance(part, str):
        yield part
    else:
        for item in part.values() if isinstance(part, dict) else part:
            yield from menu(item)


def test_every_page_stands_in_the_menu_once() -> None:
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")]
    assert sorted(menu(SETTINGS["nav"])) == sorted(pages)


@pytest.mark.full
@pytest.mark.timeout(400)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for name in ("mkdocs", "material", "mkdocstrings", "mkdocs_jupyter"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'sonicpy-search[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300 * SLOWNESS, check=False)
    assert done.returncode == 0, done.stderr
    for page in menu(SETTINGS["nav"]):
        name = Path(page).with_suffix("")
        built = tmp_path / "site" / (name.parent if name.name == "index" else name) / "index.html"
        assert built.stat().st_size > 5_000, built
    reference = {path.parent.name: path.read_text() for path in (tmp_path / "site" / "reference").glob("*/index.html")}
    for method in ("push_many", "query", "suggest", "explain", "term_stats"):
        assert f'id="sonicpy.Index.{method}"' in reference["library"]
    # Defaults are values; internals are left out.
    assert re.search(r"timeout_s</span>.*?10\.0", reference["client"], re.DOTALL)
    for page in reference.values():
        assert re.findall(r"TIMEOUT_S|RETRY_S|POOL_SIZE|TEXT_COLUMN|maintainer|query_ids", page) == []
    entries = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())["docs"]
    boosts = {entry["location"]: entry.get("boost", 1) for entry in entries}
    assert boosts["why-no-result/"] > 1 > boosts["decisions/"]


def test_every_name_in_the_reference_exists() -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    names = re.findall(r"^::: (\S+)$", told, re.MULTILINE)
    assert len(names) > 50
    if importlib.util.find_spec("pandas") is None:
        names = [name for name in names if not name.startswith("sonicpy.explore.")]
    for name in names:
        try:
            pkgutil.resolve_name(name)
        except AttributeError:
            importlib.import_module(name.rpartition(".")[0])
            pkgutil.resolve_name(name)


def test_every_public_name_stands_in_the_reference() -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    for name in sonicpy.__all__:
        whole = rf"^::: sonicpy\.{name}$"
        error = isinstance(getattr(sonicpy, name), type) and issubclass(getattr(sonicpy, name), Exception)
        assert error or name == "__version__" or re.search(whole, told, re.MULTILINE), name
