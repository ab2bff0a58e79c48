"""What the build says about compiling, before it begins."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "ext"))

import compiler  # noqa: E402


def test_a_machine_without_a_compiler_is_told_what_to_install() -> None:
    pytest.importorskip("Cython", reason="needs Cython, which the extra dev installs")
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    environ = {**os.environ, "CC": "no-such-cc"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"{compiler.missing('no-such-cc', ROOT)}"
    assert 'there is no C compiler "no-such-cc" on this machine. Debian and Ubuntu: apt install gcc' in done.stderr


def test_missing_headers(tmp_path: Path) -> None:
    sentence = compiler.missing(sys.executable, tmp_path)
    assert sentence is not None
    assert f"lacks its header Python.h in {tmp_path}. Debian and Ubuntu: apt install gcc python3-dev" in sentence
    (tmp_path / "Python.h").touch()
    assert compiler.missing(sys.executable, tmp_path) is None


@pytest.mark.parametrize(("given", "program"), [("ccache gcc-14 -m64", "gcc-14"), ("clang", "clang"), ("ccache", "cc")])
def test_the_compiler(monkeypatch: pytest.MonkeyPatch, given: str, program: str) -> None:
    monkeypatch.setenv("CC", given)
    assert compiler.compiler() == program


def test_a_free_threaded_python_is_refused_in_a_sentence() -> None:
    pytest.importorskip("Cython", reason="needs Cython, which the extra dev installs")
    program = (
        "import runpy, sys, sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1; "
        "sys.argv = ['setup.py', '-q', 'build_ext']; runpy.run_path('setup.py', run_name='__main__')"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S, check=False)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"sonicpy relies on the GIL, and this is the free-threaded Python {version}t, which has none. "
        f"Install sonicpy with python{version}"
    )
    assert compiler.refused(False) is None
