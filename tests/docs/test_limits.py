"""The numbers on the page of limits are those of the code."""

import importlib
import re
from functools import reduce

import pytest

from sonicpy import Config
from sonicpy._native.expansions import edits_allowed
from tests.docs.pages import DOCS

PAGE = (DOCS / "limits.md").read_text(encoding="utf-8")
NUMBERS = re.findall(r"^\| [^|]+ \| ([\d, ]+) \(((?:`[\w.]+`(?:, | \+ 1)?)+)\) \|", PAGE, re.MULTILINE)
SETTINGS = ("store.", "search.", "channel.")


def value_of(name: str) -> object:
    """Return a constant or the default of a setting by its name."""
    if name.startswith(SETTINGS):
        return reduce(getattr, name.split("."), Config())
    module, _, constant = name.rpartition(".")
    return getattr(importlib.import_module(module), constant)


@pytest.mark.parametrize(("numbers", "names"), NUMBERS)
def test_a_number_is_that_of_the_code(numbers: str, names: str) -> None:
    told = [int(number.replace(",", "")) for number in numbers.split(", ")]
    more = 1 if names.endswith(" + 1") else 0
    found = [value_of(name) for name in re.findall(r"`([\w.]+)`", names)]
    assert [value + more for value in found if isinstance(value, int | float)] == told


def test_every_limit_with_a_name_is_compared() -> None:
    assert len(NUMBERS) == sum("(`" in line for line in PAGE.splitlines() if line.startswith("|"))
    assert len(NUMBERS) > 20


def test_edits() -> None:
    told = re.findall(r"edits of a word (below|of) (\d+)[^|]*\| (\d)", PAGE)
    assert [(int(length) - (which == "below"), int(edits)) for which, length, edits in told] == [
        (3, 0), (4, 1), (7, 2), (10, 3)
    ]  # fmt: skip
    assert all(edits_allowed(int(length) - (which == "below")) == int(edits) for which, length, edits in told)
    assert [edits_allowed(length) for length in (6, 9, 40)] == [1, 2, 3]
