"""A run of the tests finds the processes that it left behind, and a run that a test starts finds only its own."""

import os
import subprocess
import sys

import pytest

from tests.support.leftovers import VARIABLE, left_behind, mark_run
from tests.support.patience import until

SLEEP = (sys.executable, "-c", "import sys; sys.stdin.read()")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_an_inner_run_does_not_find_the_processes_of_the_outer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, os.environ[VARIABLE])  # restored at the end
    mark_run()
    with subprocess.Popen(SLEEP, stdin=subprocess.PIPE) as outer:
        of_outer_run = os.environ[VARIABLE]
        mark_run()
        with subprocess.Popen(SLEEP, stdin=subprocess.PIPE) as inner:
            assert found() == {inner.pid}
            os.environ[VARIABLE] = of_outer_run
            assert found() == {outer.pid, inner.pid}
    assert left_behind() == []


def found() -> set[int]:
    """Return the ids of the processes that are left behind, of which a new one has no command line at first."""
    lines = until(left_behind)
    return {int(line.partition(":")[0]) for line in lines}
