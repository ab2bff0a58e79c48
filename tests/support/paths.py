"""Paths of files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
SHARED = ROOT.parent / "shared" / "data"
"""Large files of real text, beside the checkout; not on every machine."""
