"""Paths of files in the checkout, and beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the checkout."""
SHARED = ROOT.parent / "shared" / "data"
"""Large files of real text, beside the checkout; not on every machine."""
