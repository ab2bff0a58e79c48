"""Tests of a source folder without compiled modules: `import sonicpy` there imports the installed package."""

import shutil
import subprocess
import sys
from pathlib import Path

import sonicpy
from sonicpy.version import VERSION
from tests.support.patience import WAIT_S

PACKAGE = Path(sonicpy.__file__).parent


def python(code: str, folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """Return the result of Python code in a folder, where it looks for modules first, and then in `path`."""
    program = f"import sys; sys.path[1:1] = {list(map(str, path))}; {code}"
    # -S -E: an editable sonicpy of the machine must not answer instead.
    command = [sys.executable, "-S", "-E", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WAIT_S, check=False)


def checkout(folder: Path) -> Path:
    """Return a copy of the sources, without the files of the build."""
    made = shutil.ignore_patterns("*.so", "*.bin", "*.marisa", "__pycache__")
    shutil.copytree(PACKAGE, folder / "sonicpy", ignore=made)
    return folder


def packages() -> list[Path]:
    """Return the folders of the packages that sonicpy needs."""
    return [Path(entry) for entry in sys.path if entry.endswith("-packages")]


def test_a_checkout_takes_the_installed_package(tmp_path: Path) -> None:
    sources, installed = checkout(tmp_path / "checkout"), tmp_path / "installed"
    installed.mkdir()
    (installed / "sonicpy").symlink_to(PACKAGE)
    code = (
        "import sonicpy, sonicpy.errors; index = sonicpy.open(':memory:'); index.push('c', 'b', 'o', 'hello'); "
        "print(index.query('c', 'b', 'hello')); print(sonicpy.__file__); print(sonicpy.errors.__file__)"
    )
    done = python(code, sources, installed, *packages())
    assert done.stderr == ""
    hits, *files = done.stdout.splitlines()
    assert hits == "Hits(['o'])"
    assert files == [str(installed / "sonicpy" / name) for name in ("__init__.py", "errors.py")], "nothing is mixed"
    code = "import runpy; sys.argv = ['s', '--version']; runpy.run_module('sonicpy', run_name='__main__')"
    module = python(code, sources, installed, *packages())
    assert module.stdout == f"sonicpy {VERSION}\n", module.stderr


def test_a_checkout_alone_says_what_to_do(tmp_path: Path) -> None:
    sources = checkout(tmp_path / "checkout")
    done = python("import sonicpy", sources, *packages())
    assert done.returncode == 1
    *_, sentence = done.stderr.splitlines()
    assert sentence.startswith(f"ImportError: {sources}/sonicpy has no modules compiled for this Python ")
    assert sentence.endswith(f'run "pip install ." in {sources}')


def test_a_compiled_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "sonicpy").symlink_to(PACKAGE)
    done = python("import sonicpy; print(sonicpy.__file__)", tmp_path)
    assert done.stdout == f"{tmp_path}/sonicpy/__init__.py\n", done.stderr
