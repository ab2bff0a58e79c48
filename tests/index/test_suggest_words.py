"""Texts that are a single word for SUGGEST, such as a word with signs, or a run of letters without blanks."""

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


@pytest.mark.parametrize("typed", ["!", ""])
def test_no_word(bucket: sonicpy.Bucket, typed: str) -> None:
    with pytest.raises(InvalidArgument):
        bucket.suggest(typed)


@pytest.mark.parametrize(
    ("text", "typed", "suggested"),
    [
        ("Wi-Fi router", "wi-f", "wi-fi"),
        ("CVE-2021-44228", "cve-2021-44", "cve-2021-44228"),
        ("anna@example.org", "Anna@exa", "Anna@example.org"),
        ("host 192.168.1.10", "192.16", "192.168.1.10"),
        ("host 192.168.1.10", "host 192.16", "192.168.1.10"),
        ("pi is 3.14", "pi 3.1", "3.14"),
        ("Jean-Luc", "jean-l!", "jean-luc"),
        ("Jean-Luc", "jean-luc!", "jean-luc"),
        ("sunny weather", "sunny/weather-", "sunny/weather"),
        ("sunny weather", "in sunny/weath\\", "sunny/weather"),
        ("sunny weather", "sunny(weather)", "sunny(weather"),
        ("sunny C++", "sunny/c++", "sunny/c++"),
        ("東京都庁", "東京", "東京都"),
    ],
)
def test_a_suggestion_stands_for_all_behind_the_last_blank(text: str, typed: str, suggested: str) -> None:
    index = sonicpy.open(":memory:")
    index.push("c", "b", "o", text, tags=["t"])
    assert index.suggest("c", "b", typed) == index.suggest("c", "b", typed, filter="t") == [suggested]
    assert index.query("c", "b", f"{typed.rpartition(' ')[0]} {suggested}") == ["o"]


@pytest.mark.parametrize("typed", ["wi-12", "wi-１２", "wi－１２", "band wi-１２"])
def test_the_last_of_joined_words_may_have_other_digits(bucket: sonicpy.Bucket, typed: str) -> None:
    bucket.push("joined", "band wi-12 wi-1234")
    assert sorted(bucket.suggest(typed)) == ["wi-12", "wi-1234"]
