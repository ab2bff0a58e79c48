"""The interrupts of `python -m tests.attacks interrupts` reach every public method."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sonicpy
import sonicpy.keyvalue
from tests.interrupts.model import IndexScene, TableScene, index_calls, table_calls
from tests.processes import environment
from tests.support.paths import ROOT
from tests.support.patience import WAIT_S

LEFT_OUT = {"abandon", "end", "follow_sonic"}
"""Methods that are only called in a forked process or at the end of the interpreter."""
OF_THE_SERVER = {
    "buckets_after",
    "collections_after",
    "find_hits",
    "find_ids",
    "find_reasons",
    "needs_vector",
    "objects_from",
    "position_after",
    "values_of_objects",
}


@pytest.mark.parametrize(
    ("owner", "scene", "calls"),
    [(sonicpy.Index, IndexScene, index_calls), (sonicpy.keyvalue.KeyValue, TableScene, table_calls)],
)
def test_every_public_method_is_interrupted(owner: type[Any], scene: Any, calls: Any, tmp_path: Path) -> None:
    made = scene(tmp_path)
    named = {name for call in calls(made) for name in call.names}
    made.close()
    methods = {name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name))}
    assert methods - named - LEFT_OUT - OF_THE_SERVER == set()


def test_a_forked_process_gets_its_sentence_from_every_method_and_begins_no_thread(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.interrupts.forked", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment({}), capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
