"""Fixtures of kept stores."""

from importlib.machinery import ModuleSpec

import pytest

from sonicpy.lexer import segmenters


@pytest.fixture
def extras_as_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extras look installed as they were when the kept stores were made: [zh], without [ja].

    A store does not open with other extras. The kept texts are neither Chinese nor Japanese, so no dictionary is
    loaded.
    """
    monkeypatch.setattr(segmenters, "find_spec", {"rjieba": ModuleSpec("rjieba", None)}.get)
