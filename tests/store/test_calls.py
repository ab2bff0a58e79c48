"""The functions of Python that a change of one object calls: each takes as long as a word of the text."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from sonicpy.store.store import Store
from tests.store.shorthand import open_store, terms

CHANGES: dict[str, tuple[Callable[[Store, int], object], float]] = {
    "PUSH": (lambda store, number: store.push("c", "b", f"new{number}", terms(f"sunny day word{number}")), 2),
    "UPSERT": (
        lambda store, number: store.upsert("c", "b", f"old{number}", terms(f"rainy day word{number}"), b"digest" * 2),
        30,
    ),
    "FLUSHO": (lambda store, number: store.flush_object("c", "b", f"old{number}", in_steps=True), 27),
}
"""Name of a change -> the change, given a number of an object, and the most functions that it calls on average."""
OBJECTS = 200


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_calls_few_functions_of_python(tmp_path: Path, name: str) -> None:
    change, most = CHANGES[name]
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if (
            event == "call"
            and "sonicpy/store" in frame.f_code.co_filename
            and "/tests/" not in frame.f_code.co_filename
        ):
            calls[frame.f_code.co_qualname] += 1

    store = open_store(tmp_path)
    for number in range(OBJECTS):
        store.push("c", "b", f"old{number}", terms(f"sunny day {number}"))
    store.commit()
    store.push("c", "b", "begins", terms("a transaction"))
    change(store, 0)  # reads what later ones find in memory
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for number in range(1, OBJECTS):
            change(store, number)
    finally:
        sys.setprofile(before)
    assert calls.total() <= most * OBJECTS, calls.most_common()
    store.close()
