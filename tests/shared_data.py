"""Finds the large real-text files that stand beside the project; a test that needs a missing one is skipped."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """Return the path of `name` below ../shared/data, or skip the calling test where it is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{name}, which is not on this machine")
    return path
