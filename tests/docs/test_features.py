"""Every test that a page names exists: on the page of features, on that of threats, and on all others."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS

ROOT = DOCS.parent
PAGE = (DOCS / "features.md").read_text(encoding="utf-8")


def test_every_feature_has_its_test() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "**" not in line]
    assert len(rows) > 55
    for row in rows[1:]:
        if row[1].startswith(("yes", "[yes]")):
            assert re.search(r"\(`tests/\S+`\)|\(benchmarks/\S+\)", row[1]), row


def test_every_threat_has_its_test() -> None:
    threats = (DOCS / "keys.md").read_text(encoding="utf-8").partition("## Threats")[2]
    rows = [line for line in threats.splitlines() if line.startswith("| of ")]
    assert len(rows) == 7
    for row in rows[:5]:  # the last two holders can do everything that they try
        assert "`tests/" in row, row


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_tests_are_there(page: Path) -> None:
    for path, names in re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", page.read_text(encoding="utf-8")):
        source, indent = (ROOT / path).read_text(encoding="utf-8"), ""
        for name in names.split("::")[1:]:  # pytest finds a test of a class by the name of the class alone
            assert re.search(rf"^{indent}(async def|def|class) {name}\b", source, re.MULTILINE), (path, names)
            indent += "    "
