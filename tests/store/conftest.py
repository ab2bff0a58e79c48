"""Fixtures of kept stores, and of stores whose rows of names split early."""

import pytest

from sonicpy.lexer import segmenters
from sonicpy.store.rows import names


@pytest.fixture
def extras_as_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the extra [ja], without which the kept stores were made: a store does not open with other extras."""
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None)


@pytest.fixture
def few_names_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write names of objects to rows early, and split rows early."""
    monkeypatch.setattr(names, "WAITING_MIN", 2)
    monkeypatch.setattr(names, "NAMES_PER_SLICE", 1)
    monkeypatch.setattr(names, "FOLDED_MIN", 1)
