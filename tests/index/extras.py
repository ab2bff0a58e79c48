"""Indexes with dictionaries, and as they were made before: without the extras [zh] and [ja]."""

from functools import partial
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.lexer import lexer, segmenters
from sonicpy.lexer.segmenters import Segmenters
from tests.index.shorthand import open_index

EXTRAS = ("fugashi", "unidic_lite")
needs_extras = pytest.mark.skipif(not Segmenters().has_ja, reason="needs the extra [ja]")


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Hide packages from indexes that are opened from now on."""
    seen = segmenters.find_spec
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None if name in packages else seen(name))


def cut_by_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make new indexes as version 1.0 did without the extra [zh]."""
    monkeypatch.setattr(lexer, "Segmenters", partial(Segmenters, has_zh=False))


def opened(folder: Path, with_extras: bool, **chosen: object) -> Index:
    """Return an opened index that uses all dictionaries, or one without any."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not with_extras:
            hide(monkeypatch, *EXTRAS)
            cut_by_letters(monkeypatch)
        return open_index(folder, **chosen)
