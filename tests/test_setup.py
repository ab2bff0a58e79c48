"""Tests of the messages of the build about compiling, and of the folders of its objects."""

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


FOLDERS = """
import setuptools
from distutils.core import run_setup

def folders(is_editable):
    distribution = run_setup("setup.py", ["--name"], stop_after="init")
    build, native = map(distribution.get_command_obj, ("build", "build_ext"))
    if is_editable:
        build.build_lib, build.build_temp, native.editable_mode = "/gone/lib", "/gone/temp", True
    native.ensure_finalized()
    return native.build_lib, native.build_temp

print(folders(False), folders(True), sep="\\n")
"""


def test_an_editable_install_keeps_its_objects() -> None:
    """An editable install builds in the folders of `setup.py build_ext`, so the next build compiles only changes."""
    pytest.importorskip("Cython", reason="needs Cython, which the extra dev installs")
    done = subprocess.run(
        [sys.executable, "-c", FOLDERS], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    plain, editable = done.stdout.splitlines()
    assert editable == plain
    assert "build/lib" in plain and "build/temp" in plain


OBJECTS = """
import sys
import setuptools
from distutils.core import run_setup
from pathlib import Path
from types import SimpleNamespace

native = run_setup("setup.py", ["--name"], stop_after="init").get_command_obj("build_ext")
known = type(native)._object.__globals__
compiled = []

def compile(sources, output_dir, include_dirs, extra_postargs):
    compiled.append(extra_postargs[-1])
    Path(made).touch()

source, made = f"{sys.argv[1]}/walk.c", f"{sys.argv[1]}/walk.o"
Path(source).touch()
native.force, native.build_temp = False, sys.argv[1]
native.compiler = SimpleNamespace(object_filenames=lambda sources, output_dir: [made], compile=compile)
for names in (("HOT",), ("HOT",), (), ("RARE",), ("RARE",)):
    for name in ("HOT", "RARE"):
        known[name] = {"walk"} if name in names else set()
    native._object(SimpleNamespace(include_dirs=[]), source)
print(compiled)
"""


def test_a_module_of_another_level_is_compiled_again(tmp_path: Path) -> None:
    pytest.importorskip("Cython", reason="needs Cython, which the extra dev installs")
    command = [sys.executable, "-c", OBJECTS, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.stdout.splitlines()[-1:] == ["['-O3', '-O2', '-O1']"], done.stderr


def test_the_plan_of_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert "60 modules from Cython to C and compiling them: about 2 minutes with 4 cores;" in compiler.plan(60, 6)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert "about 1 minute with 1 core;" in compiler.plan(10, 6)


def test_the_plan_reaches_the_terminal_past_pip() -> None:
    """The standard output of the build is /dev/null, as under pip; the terminal shows the plan all the same."""
    code = "import os, sys; os.dup2(os.open(os.devnull, os.O_WRONLY), 1); import compiler; "
    code += "sys.exit(not compiler.write_to_terminal('translating'))"
    terminal = f"import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, '-c', {code!r}])))"
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "ext")}
    done = subprocess.run(
        [sys.executable, "-c", terminal], env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "translating"), done.stderr


def test_a_build_without_a_terminal() -> None:
    code = "import compiler, sys; sys.exit(compiler.write_to_terminal('translating'))"
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "ext")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environ, start_new_session=True, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
