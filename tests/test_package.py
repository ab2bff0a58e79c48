"""The distribution: sdist, wheel from the sdist, and an installed wheel that runs outside the checkout."""

import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

from tests.processes import free_port

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of a clean copy of what git holds, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    checkout = tmp_path_factory.mktemp("checkout")
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--outdir", folder, checkout, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_no_generated_code_in_git() -> None:
    names = run("git", "ls-files", cwd=ROOT).splitlines()
    assert [name for name in names if name.endswith((".c", ".cpp", ".so", ".bin", ".marisa"))] == []


def test_the_sdist_holds_sources_and_no_generated_code(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"ext/sonicpy/_native/text.pyx", "ext/tables/unicode/WordBreakProperty.txt", "LICENSE", "NOTICE"} <= names
    assert not [name for name in names if name.endswith((".c", ".so"))]


def test_the_wheel_holds_modules_stubs_and_tables(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as archive:
        names = archive.namelist()
    assert {"sonicpy/py.typed", "sonicpy/_native/text.pyi", "sonicpy/data/languages.bin"} <= set(names)
    assert "sonicpy/data/stopwords.marisa" in names
    assert any(name.startswith("sonicpy/_native/text.") and name.endswith(".so") for name in names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "ext"))]


def test_an_installed_wheel_serves(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / "bin"
    run(scripts / "pip", "install", "--quiet", distributions[1], cwd=tmp_path)
    assert run(scripts / "sonicpy", "--version", cwd=tmp_path).startswith("sonicpy ")
    port = free_port()
    server = subprocess.Popen([scripts / "sonicpy", "serve", "--inet", f"127.0.0.1:{port}"], cwd=tmp_path)
    try:
        ping = [scripts / "sonicpy", "ping", "--inet", f"127.0.0.1:{port}"]
        deadline = time.monotonic() + 20
        while subprocess.run(ping, capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, "the server did not answer within 20 s"
            time.sleep(0.1)
    finally:
        server.terminate()
        assert server.wait(10) == 0
