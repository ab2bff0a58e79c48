"""Functions that are imported at their first call."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from sonicpy.late import late


def test_the_first_call_imports_and_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_example.py").write_text("def join(*given, by): return by.join(given)")
    monkeypatch.syspath_prepend(tmp_path)
    owner = ModuleType("owner_of_late_example")
    monkeypatch.setitem(sys.modules, owner.__name__, owner)
    owner.join = late("late_example", "join", owner.__name__)  # type: ignore[attr-defined]
    alone = late("late_example", "join")
    try:
        assert "late_example" not in sys.modules
        assert alone("a", "b", by="-") == alone("a", "b", by="-") == "a-b"
        assert owner.join("a", "b", by="+") == "a+b"  # type: ignore[attr-defined]
        assert owner.join is sys.modules["late_example"].join  # type: ignore[attr-defined]
    finally:
        sys.modules.pop("late_example", None)
