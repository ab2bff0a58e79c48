"""Docstrings name their subject: none begins with a question word that stands for it."""

import re

import pytest

from tests.support.paths import ROOT

BEGINNING = re.compile(r'^[ \t]*r?"""(?:What|Which|Who|Whose|That)\b.*', re.MULTILINE)
FOLDERS = ("benchmarks", "ext", "sonicpy")


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_name_their_subject(folder: str) -> None:
    files = [path for kind in ("py", "pyi", "pyx", "pxd") for path in (ROOT / folder).rglob(f"*.{kind}")]
    assert files
    found = [
        f"{path.relative_to(ROOT)}: {match.group().strip()}"
        for path in sorted(files)
        for match in BEGINNING.finditer(path.read_text("utf-8"))
    ]
    assert not found, "a docstring begins with the thing that it describes, as a noun or a verb:\n" + "\n".join(found)
