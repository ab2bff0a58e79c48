"""Paths of files of the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the checkout."""
SHARED = ROOT.parent / "shared" / "data"
"""Large files of real text, beside the checkout; not on every machine."""
