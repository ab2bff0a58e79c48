"""The imports of a start: `import sonicpy` and `sonicpy --help` load a handful of modules, however busy the machine is.

A module is a fraction of a millisecond, so these numbers stand for 10 ms and 30 ms of CPU beside Python's own start.
"""

import json
import subprocess
import sys

import pytest

from tests.support.patience import WAIT_S

PROGRAM = """
import json, sys
before = set(sys.modules)
{}
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
HELP = """
from sonicpy.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
"""


@pytest.mark.parametrize(("statements", "modules_max"), [("import sonicpy", 20), (HELP, 50)], ids=["import", "help"])
def test_a_start_imports_a_handful_of_modules(statements: str, modules_max: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(statements)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    assert "sonicpy.version" in imported
    assert len(imported) <= modules_max, imported
    heavy = {"asyncio", "fastapi", "logging", "lmdb", "pydantic", "rapidfuzz", "uvloop"}
    assert imported.isdisjoint(heavy)
    assert [name for name in imported if name.startswith("sonicpy._native")] == []
