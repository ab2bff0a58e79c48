"""The code of the docs and of examples/ passes mypy as strictly as the package does."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, NOTEBOOKS, PAGES, ROOT, imported_by, packages_of, python_of
from tests.support.patience import SLOWNESS


@pytest.mark.full
@pytest.mark.timeout(400)
def test_examples_pass_mypy(tmp_path: Path) -> None:
    for page in [*PAGES, *NOTEBOOKS]:
        code = python_of(page)
        missing = [name for name in packages_of(page) if importlib.util.find_spec(name) is None]
        if code.strip() and not missing:
            folder = page.parent.relative_to(DOCS) if page.is_relative_to(DOCS) else Path()
            name = "_".join([*folder.parts, page.stem]).replace("-", "_").lower()
            (tmp_path / f"{name}_example.py").write_text(code)
    for program in (ROOT / "examples").rglob("*.py"):
        names = imported_by(program.read_text(encoding="utf-8"))
        # Django has no types, and a program that imports its neighbour would find that of another example.
        if "django" not in program.parts and all(map(importlib.util.find_spec, names)):
            name = "_".join(program.relative_to(ROOT).with_suffix("").parts)
            (tmp_path / f"{name}.py").write_text(program.read_text(encoding="utf-8"))
    assert len(list(tmp_path.glob("examples_*.py"))) > 4
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *settings, *map(str, sorted(tmp_path.glob("*.py")))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300 * SLOWNESS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
