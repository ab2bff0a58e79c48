"""The interrupts of `python -m tests.attacks interrupts` reach every public method."""

from pathlib import Path
from typing import Any

import pytest

import sonicpy
import sonicpy.keyvalue
from tests.interrupts.model import IndexScene, TableScene, index_calls, table_calls

LEFT_OUT = {"abandon", "end", "follow_sonic"}
"""Methods that only a forked process and the end of the interpreter call."""
OF_THE_SERVER = {
    "buckets_after",
    "collections_after",
    "find_hits",
    "find_ids",
    "find_reasons",
    "objects_from",
    "position_after",
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
