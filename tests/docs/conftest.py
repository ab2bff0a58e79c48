"""Fixtures for pages about the command line; see tests/cli/conftest.py."""

from tests.cli.conftest import here, type_in

__all__ = ["here", "type_in"]
