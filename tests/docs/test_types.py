"""The examples of the docs pass mypy as strictly as the package does."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, NOTEBOOK, PAGES, ROOT, packages_of, python_of


@pytest.mark.full
@pytest.mark.timeout(400)
def test_examples_pass_mypy(tmp_path: Path) -> None:
    for page in [*PAGES, NOTEBOOK]:
        code = python_of(page)
        missing = [name for name in packages_of(page) if importlib.util.find_spec(name) is None]
        if code.strip() and not missing:
            folder = page.parent.relative_to(DOCS) if page.is_relative_to(DOCS) else Path()
            name = "_".join([*folder.parts, page.stem]).replace("-", "_").lower()
            (tmp_path / f"{name}_example.py").write_text(code)
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *settings, *map(str, sorted(tmp_path.glob("*.py")))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
