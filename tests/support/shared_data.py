"""Tests that read the large files of real text."""

from pathlib import Path

import pytest

from tests.support.paths import SHARED


def shared_data(name: str) -> Path:
    """Return the path of `name` below ../shared/data; skip the calling test if the file is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{name}, which is not on this machine")
    return path
