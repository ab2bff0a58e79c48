"""Fixtures of kept stores, and of stores whose rows of names split early."""

from importlib.machinery import ModuleSpec

import pytest

from sonicpy.lexer import segmenters
from sonicpy.store.rows import names


@pytest.fixture
def extras_as_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extras look installed as they were when the kept stores were made: [zh], without [ja].

    A store does not open with other extras. The kept texts are neither Chinese nor Japanese, so no dictionary is
    loaded.
    """
    monkeypatch.setattr(segmenters, "find_spec", {"rjieba": ModuleSpec("rjieba", None)}.get)


@pytest.fixture
def few_names_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write names of objects to rows early, and split rows early."""
    monkeypatch.setattr(names, "WAITING_MIN", 2)
    monkeypatch.setattr(names, "NAMES_PER_SLICE", 1)
    monkeypatch.setattr(names, "FOLDED_MIN", 1)
