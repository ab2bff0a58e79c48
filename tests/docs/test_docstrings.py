"""Docstrings in plain English: a noun or a verb comes first, data is no person, and a sentence names its subject."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DOCSTRING = re.compile(r'^[ \t]*r?"""(?:[^"\\]|\\.|"(?!""))*"""', re.MULTILINE)
BEGINNING = re.compile(r'^[ \t]*r?"""(?:What|Which|Who|Whose|That|Of|It|Its|Their|By the same|Do the same)\b')
WORDS = re.compile(
    r"\b[Ww]hat\b(?![:`,-])"  # "Return what the call returns": name it ("what:" may be an argument)
    r"|\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ww]hoever)\b"  # a process, a thread, a client
    r"|\bstands?\b|\bstood\b"  # is, comes, means
    r"|\b[Ss]o (?:many|much|few)\b"  # the number, `count`, this many
    r"|\b(?:tells?|told|hears?|heard)\b(?!:)"  # reports, receives ("told:" may be an attribute)
    r"|(?:^|[.:;] |\n\s*|\"\"\")Let\b"  # the verb of what is done
    r"|\bReturn (?:about|those of|the same (?:about|for|of))\b"  # the approximate share; the words that; its subject
    r"|\bit is none\b"  # it is not one, it is no point
    r"|\bsomeone\b|\bsomebody's\b"  # an object, a user
    r"|\b(?:Max|Min)imum of\b|, at most[.:;]"  # the most things that, the fewest
)
WHETHER = re.compile(r'^(?!.*property).*\n[ ]*(?:async )?def (.*):\n[ ]*r?"""Whether\b', re.MULTILINE)
"""Matches a method or function whose docstring begins like that of a property."""
FOLDERS = ("benchmarks", "ext", "sonicpy", "tests", "examples")
BORROWED = ROOT / "tests/transcripts/replay.py"
"""A file of the shared material, which is kept unchanged."""


def sources(folder: str) -> list[Path]:
    found = sorted(path for kind in ("py", "pyi", "pyx", "pxd") for path in (ROOT / folder).rglob(f"*.{kind}"))
    assert found
    return [path for path in found if path != BORROWED]


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and the notes of attributes in a file, with the numbers of their first lines."""
    text = path.read_text("utf-8")
    for match in DOCSTRING.finditer(text):
        if "\ndef " not in match.group():  # code between two programs in strings
            yield text.count("\n", 0, match.start()) + 1, match.group()


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_name_their_subject(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip()[:100]}"
        for path in sources(folder)
        for line, text in docstrings(path)
        if BEGINNING.match(text)
    ]
    assert not found, "a docstring begins with the thing that it describes, as a noun or a verb:\n" + "\n".join(found)


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_use_standard_words(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match.group().strip()} in: {text.strip()[:100]}"
        for path in sources(folder)
        for line, text in docstrings(path)
        if (match := WORDS.search(text))
    ]
    assert not found, "words that do not belong into a docstring; WORDS has better ones:\n" + "\n".join(found)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_function_that_returns_whether_says_so(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group(1)}"
        for path in sources(folder)
        for match in WHETHER.finditer(path.read_text("utf-8"))
    ]
    assert not found, "a property begins with Whether, a function with Return whether:\n" + "\n".join(found)


def test_the_rules_find_bad_docstrings() -> None:
    for text in (
        "What it holds.",
        "Its letters.",
        "Let others go on.",
        "Return what is left.",
        "Whoever asks hears of it.",
        "Take so many.",
        "Return the same of a PUSH.",
        "Return those of some words that pass.",
        "Maximum of rows in a chunk.",
        "Rows in a chunk, at most.",
    ):
        assert BEGINNING.match(f'"""{text}"""') or WORDS.search(f'"""{text}"""'), text
    for text in ("Return the rest.", "Args:\n    what: the option.", "The letters so far.", "Outlet valves."):
        assert not BEGINNING.match(f'"""{text}"""'), text
        assert not WORDS.search(f'"""{text}"""'), text
