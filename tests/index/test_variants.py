"""Letters with several spellings find each other; the typed spelling comes first."""

from pathlib import Path

import pytest

import sonicpy
from sonicpy.lexer.variants import VARIANTS_MAX, foldings, patterns, simplified, spellings
from tests.index.shorthand import open_index

C, B = "c", "b"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("हिन्दी भाषा", "हिंदी"), ("हिंदी भाषा", "हिन्दी"), ("सम्पर्क करें", "संपर्क"), ("क़लम", "कलम"), ("कलम", "क़लम"),
        ("चाँद", "चांद"), ("ज़िंदगी", "जिन्दगी"),
        ("臺灣大學", "台湾"), ("臺灣大學", "台湾大学"), ("我在台湾学习汉语", "臺灣"), ("我在台湾学习汉语", "漢語"),
        ("後", "后"),
        ("ひらがな", "ヒラガナ"), ("ラーメンを食べる", "らーめん"), ("わたしのネコ", "ねこ"), ("カメラ", "かめら"),
    ],
)  # fmt: skip
def test_spellings_find_each_other(tmp_path: Path, text: str, typed: str) -> None:
    with open_index(tmp_path) as index:
        index.push(C, B, "other", text)
        index.push(C, B, "none", "a quite different sentence")
        for _ in range(2):
            assert index.query(C, B, typed, limit=5) == ["other"]
            index.consolidate()
        index.push(C, B, "typed", typed)
        index.push(C, B, "newer", text)
        found = [str(hit) for hit in index.query(C, B, typed, limit=5)]
        assert found[0] == "typed"
        assert set(found) == {"typed", "newer", "other"}


def test_the_tables_are_sound() -> None:
    plain = foldings()
    assert len(simplified()) > 4_000
    assert simplified()["臺"] == "台"
    assert not [letter for letter in set(plain.values()) if letter and plain.get(letter, letter) not in ("", letter)][
        1:
    ]
    assert spellings("bc") == spellings("한국") == spellings("的") == ()
    assert set(spellings("ねこ")) == {"ネコ", "ネこ", "ねコ"}
    assert 0 < len(spellings("后台")) <= VARIANTS_MAX
    assert patterns("हिंदी")[0] == "हिंदी"
    assert set(patterns("हिंदी")) == set(patterns("हिन्दी"))


@pytest.mark.parametrize("is_later", [False, True])
def test_traditional_characters_of_four_bytes_are_those_of_their_simplified_ones(is_later: bool) -> None:
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "o", "𠗣水")
        if is_later:
            index.consolidate()

        assert index.suggest("c", "b", "㓆") == index.suggest("c", "b", "𠗣") != []
        assert index.query("c", "b", "㓆") == ["o"]
