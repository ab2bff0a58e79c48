"""The page of features names tests that exist."""

import re

from tests.docs.pages import DOCS

ROOT = DOCS.parent
PAGE = (DOCS / "features.md").read_text(encoding="utf-8")


def test_every_feature_has_its_test() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "**" not in line]
    assert len(rows) > 55
    for row in rows[1:]:
        if row[1].startswith(("yes", "[yes]")):
            assert re.search(r"\(`tests/\S+`\)|\(benchmarks/\S+\)", row[1]), row


def test_the_tests_are_there() -> None:
    for path, _, name in re.findall(r"`(tests/[\w/]+\.py)(::(\w+))?`", PAGE):
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, (path, name)
