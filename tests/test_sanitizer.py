"""The native modules under AddressSanitizer: build them in a copy of the project and run their tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

JUDGES = ["tests/channel", "tests/graph", "tests/index", "tests/lexer", "tests/native", "tests/store"]
LEFT_OUT = ["-k", "not linear and not check_that_a_page_ends", "--ignore=tests/store/test_synced.py"]


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_no_memory_error_in_the_native_modules(tmp_path: Path) -> None:
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    if runtime.returncode or not Path(runtime.stdout.strip()).is_absolute():
        pytest.skip("needs gcc with libasan")
    project = tmp_path / "project"
    left_out = shutil.ignore_patterns(".git", ".tox", ".venv", "build", "*.so", "__pycache__")
    shutil.copytree(ROOT, project, ignore=left_out)
    shared = ROOT.parent / "shared"
    if shared.exists():
        (tmp_path / "shared").symlink_to(shared)
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=project, env={**os.environ, "SONICPY_SANITIZE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode and "No module named" in built.stderr:
        pytest.skip("needs the build requirements of pyproject.toml in this environment")
    assert built.returncode == 0, built.stdout + built.stderr
    # Left out: tests of run times, because the sanitizer checks every memory access; of a process that a signal ends,
    # which the sanitizer reports itself; of processes whose calls a preloaded library records: it takes its place.
    # Damaged rows may ask for more bytes than there are: the answer is MemoryError, as without the sanitizer.
    # marisa-trie throws C++ exceptions; the sanitizer finds __cxa_throw only if the C++ runtime is preloaded too.
    cpp = subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True)
    checked = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "timeout=900", *LEFT_OUT, *JUDGES],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": str(project),
            "LD_PRELOAD": f"{runtime.stdout.strip()} {cpp.stdout.strip()}",
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "AddressSanitizer" not in checked.stdout + checked.stderr, (checked.stdout + checked.stderr)[-8000:]
    assert checked.returncode == 0, checked.stdout[-8000:] + checked.stderr[-2000:]
