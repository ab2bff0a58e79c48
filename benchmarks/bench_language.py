"""Guess the language of a text."""

from benchmarks import stages
from benchmarks.conftest import Timed
from sonicpy.langcodes import LANG_CODES


def test_guess_language(timed: Timed) -> None:
    assert set(timed(stages.guess_language)) <= {None, *LANG_CODES}
