"""Numbers are required only beside words that some object holds with them."""

from pathlib import Path

import pytest

from tests.index.shorthand import C, open_index

CASES = [
    ("harry potter 8", ["Harry Potter and the Chamber", "8 apples"], [0, 1]),
    ("iphone 15 case", ["iPhone case, red", "15 pencils"], [0, 1]),
    ("iphone 15 case", ["iPhone case, red", "15 pencils", "iPhone 15 in blue"], [2, 1]),
    ("apollo 13", ["Apollo Thirteen", "room 13"], [1, 0]),
    ("apollo 13", ["Apollo Thirteen", "room 13", "Apollo 13"], [2, 1]),
    ("205 55 16", ["Tyres 205/55 R16", "16 pencils"], [0, 1]),
    ("205 55 16", ["Tyres 205/55 R16", "16 pencils", "205 of 55 in 16"], [2]),
    ("06 12 34 56", ["+33 6 12 34 56", "row 06"], [0, 1]),
    ("utf-8 decode", ["utf8_decode", "8 apples"], [0]),
    ("16", ["Tyres 205/55 R16", "16 pencils"], [1]),
    ("order a15", ["order of pencils", "number A15"], [1]),
    ("15 zebra", ["1.15 apples", "15 pencils"], [1, 0]),
    ("eos90d", ["EOS case", "room 90", "plan d"], []),
]


@pytest.mark.parametrize(("query", "texts", "found"), CASES)
def test_numbers_are_required_where_objects_hold_them_beside_others(
    tmp_path: Path, query: str, texts: list[str], found: list[int]
) -> None:
    with open_index(tmp_path) as index:
        for number, text in enumerate(texts):
            index.push(C, "one", f"o{number}", text, "none")
            index.push(C, f"part{number % 2}", f"o{number}", text, "none")
        names = [f"o{number}" for number in found]
        assert index.query(C, "one", query, lang="none") == names
        assert sorted(index.query(C, ["part0", "part1"], query, lang="none")) == sorted(names)
