"""Tests with sonic-channel from crates.io, for Rust: its own tests, unchanged except for the address, run against
compat mode.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.foreign.both import Address, both_servers

CRATE, VERSION = "sonic-channel", "1.1.0"
FETCH_S = 120
TEST_S = 900
ADDRESS = 'pub const HOST: &str = "localhost:36999";'
PASSWORD = "SecretPassword1234"
TESTS = 10
"""The number of tests of the crate that run, of which seven use a server; examples in its documentation are not
counted.
"""
PASSED = re.compile(r"^test result: ok\. (\d+) passed; 0 failed; 0 ignored;", re.MULTILINE)

pytestmark = [pytest.mark.full, pytest.mark.timeout(FETCH_S + 2 * TEST_S)]


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the crate, in a temporary folder."""
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if cargo is None:
        pytest.skip("needs cargo")
    folder = tmp_path_factory.mktemp("crate")
    (folder / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "wants-{CRATE}"\nversion = "0.1.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
        f'[dependencies]\n{CRATE} = "={VERSION}"\n'
    )
    try:
        done = run([cargo, "vendor", "--quiet", "--versioned-dirs", "vendor"], folder, FETCH_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"cargo did not get {CRATE} {VERSION} within {FETCH_S} s")
    if done.returncode != 0:
        pytest.skip(f"cargo cannot get {CRATE} {VERSION}: {done.stderr.strip().splitlines()[-1:]}")
    source = folder / "vendor" / f"{CRATE}-{VERSION}"
    # Out of the folder of the crate that wants it, which cargo would take for its workspace.
    return Path(shutil.move(source, tmp_path_factory.mktemp("source") / CRATE))


def run(command: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(command[0]).parent), os.environ["PATH"]))
    variables = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(folder / "target"), "CARGO_TERM_COLOR": "never"}
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=seconds, check=False
    )


@pytest.mark.parametrize("server", ["ours", "Sonic"])
def test_its_own_tests(crate: Path, server: str, tmp_path: Path) -> None:
    """The tests also run on Sonic itself, so that a test which fails on both does not count as a defect of sonicpy."""
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    with both_servers(tmp_path, PASSWORD, only=server) as servers:
        give_address(crate, servers[server])
        done = run([cargo, "test", "--quiet", "--all-features", "--no-fail-fast"], crate, TEST_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(map(int, PASSED.findall(done.stdout))) >= TESTS, done.stdout


def give_address(crate: Path, address: Address) -> None:
    """Write the address of a server into the crate's tests, which have only one address."""
    common = crate / "tests" / "common.rs"
    original = crate / "tests" / "common.original"
    if not original.exists():
        shutil.copy(common, original)
    text = original.read_text()
    assert text.count(ADDRESS) == 1
    common.write_text(text.replace(ADDRESS, f'pub const HOST: &str = "{address.host}:{address.port}";'))
