"""Texts that are one word for SUGGEST: also a word with signs, and a run of letters without blanks."""

import pytest

import sonicpy
from sonicpy.errors import InvalidArgument


@pytest.fixture
def bucket() -> sonicpy.Bucket:
    found = sonicpy.open(":memory:").bucket("c", "b")
    for name, text in enumerate(("C++ and C#", "京都府立大学", ".NET core", "order 1000", "number 1001")):
        found.push(str(name), text)
    return found


@pytest.mark.parametrize(
    ("typed", "first"), [("c++", "c++"), (".net", ".net"), ("京都", "京都府立大学"), ("100", "1000")]
)
def test_one_word(bucket: sonicpy.Bucket, typed: str, first: str) -> None:
    assert any(word.startswith(first[: len(typed)]) for word in bucket.suggest(typed))


def test_another_number_is_no_correction(bucket: sonicpy.Bucket) -> None:
    assert bucket.suggest("1002") == []


@pytest.mark.parametrize("typed", ["!", "", "don't-do"])
def test_no_word_or_more_than_one(bucket: sonicpy.Bucket, typed: str) -> None:
    with pytest.raises(InvalidArgument):
        bucket.suggest(typed)
