"""Test of the side-by-side harness from end to end, with the smallest profile and only the sonicpy server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.versus.bars import BARS, NOT_RUN, OURS
from benchmarks.versus.workload import MODES, OPERATIONS
from sonicpy.version import VERSION
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_tiny_run(tmp_path: Path) -> None:
    written = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks.versus", "--profile", "tiny"]
    run = subprocess.run(
        [*command, "--json", str(written), "--tables", str(tmp_path), "--folder", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "SONIC_BIN": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert run.returncode == 0, run.stderr
    assert "skipped: Sonic, which is not installed" in run.stderr
    results = json.loads(written.read_text())
    measured = {(rate["operation"], rate["mode"]) for rate in results["rates"] if rate["server"] == OURS}
    assert measured == {(operation, mode.name) for operation in OPERATIONS for mode in MODES}
    assert all(rate["operations"] > 0 and rate["cpu_us"] > 0 for rate in results["rates"])
    not_run = {bar["name"] for bar in results["bars"] if bar["verdict"] == NOT_RUN}
    assert not_run == {bar.name for bar in BARS if "Sonic" in bar.name}, "only what needs Sonic was not run"
    assert results["versions"] == {OURS: f"sonicpy v{VERSION}"}
    tables = [f"versus-{name}.csv" for name in ("bars", "figures", "rates")]
    assert sorted(path.name for path in tmp_path.iterdir()) == [written.name, *tables], "the stores are gone"
