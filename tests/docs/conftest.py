"""What pages about the command line need: a folder of their own, and what is typed in."""

from tests.cli.conftest import here, type_in

__all__ = ["here", "type_in"]
