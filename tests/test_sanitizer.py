"""The native modules under AddressSanitizer: build them in a copy of the project and run their tests."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Left out are tests of run times, because the sanitizer checks every memory access; of a process that a signal ends,
# which the sanitizer reports itself; of processes whose calls a preloaded library records: it takes its place.
LEFT_OUT = ["-k", "not linear and not check_that_a_page_ends", "--ignore=tests/store/test_synced.py"]


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A copy of the project whose native modules check each access to memory.

    Attributes:
        folder: the copy.
        environment: the environment of a process that uses it.
    """

    folder: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Sanitized:
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    if runtime.returncode or not Path(runtime.stdout.strip()).is_absolute():
        pytest.skip("needs gcc with libasan")
    above = tmp_path_factory.mktemp("sanitized")
    folder = above / "project"
    left_out = shutil.ignore_patterns(".git", ".tox", ".venv", "build", "*.so", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=left_out)
    shared = ROOT.parent / "shared"
    if shared.exists():
        (above / "shared").symlink_to(shared)
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder, env={**os.environ, "SONICPY_SANITIZE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode and "No module named" in built.stderr:
        pytest.skip("needs the build requirements of pyproject.toml in this environment")
    assert built.returncode == 0, built.stdout + built.stderr
    # marisa-trie throws C++ exceptions; the sanitizer finds __cxa_throw only if the C++ runtime is preloaded too.
    cpp = subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "LD_PRELOAD": f"{runtime.stdout.strip()} {cpp.stdout.strip()}",
        # Damaged rows may ask for more bytes than there are: the answer is MemoryError, as without the sanitizer.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",
    }
    return Sanitized(folder, environment)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("judges", ["channel", "graph", "index", "lexer", "native", "store"])
def test_no_memory_error_in_the_native_modules(project: Sanitized, judges: str) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "timeout=900", *LEFT_OUT, f"tests/{judges}"],
        cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "AddressSanitizer" not in checked.stdout + checked.stderr, (checked.stdout + checked.stderr)[-8000:]
    assert checked.returncode == 0, checked.stdout[-8000:] + checked.stderr[-2000:]
