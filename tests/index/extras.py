"""The extras [zh] and [ja]: installed, or hidden as if they were not."""

from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.lexer import segmenters
from sonicpy.lexer.segmenters import Segmenters
from tests.index.shorthand import open_index

EXTRAS = ("rjieba", "fugashi", "unidic_lite")
needs_extras = pytest.mark.skipif(
    not (Segmenters().has_zh and Segmenters().has_ja), reason="needs the extras [zh] and [ja]"
)


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Hide packages from indexes that are opened from now on."""
    seen = segmenters.find_spec
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None if name in packages else seen(name))


def opened(folder: Path, with_extras: bool, **chosen: object) -> Index:
    """Return an opened index that uses the extras, or one from which they are hidden."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not with_extras:
            hide(monkeypatch, *EXTRAS)
        return open_index(folder, **chosen)
