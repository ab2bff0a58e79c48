"""In the table of the page `what-is-found`, every query finds its text, and no other text."""

import re

import pytest

import sonicpy
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "what-is-found.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
UNFOUND = re.findall(r"`([^` ]+)` in `([^`]+)`|`(\w+)` by `(\w+)`", PAGE.partition("## What is not found")[2])


def test_the_table_has_its_rows() -> None:
    assert len(ROWS) >= 20 and len(UNFOUND) >= 4


@pytest.fixture(scope="module", params=["as pushed", "consolidated"])
def index(request: pytest.FixtureRequest) -> sonicpy.Index:
    with sonicpy.open(":memory:") as index:
        for number, text in enumerate(dict.fromkeys(text for _, text in ROWS)):
            index.push("docs", "found", f"t{number}", text)
        index.push("docs", "found", "other", "nothing of the kind anywhere around")
        if request.param == "consolidated":
            index.consolidate()
        yield index


@pytest.mark.parametrize(("query", "text"), ROWS, ids=[query for query, _ in ROWS])
def test_a_query_of_the_table_finds_its_text(index: sonicpy.Index, query: str, text: str) -> None:
    texts = list(dict.fromkeys(text for _, text in ROWS))

    found = index.query("docs", "found", query).objects

    assert found[:1] == [f"t{texts.index(text)}"]
    assert "other" not in found


def test_what_the_page_says_is_not_found_is_not() -> None:
    with sonicpy.open(":memory:") as index:
        for number, (query, text, word, typed) in enumerate(UNFOUND):
            index.push("docs", f"b{number}", "o", text or word)
            assert index.query("docs", f"b{number}", query or typed).objects == []
