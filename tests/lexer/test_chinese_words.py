"""The dictionary of Chinese words: the pieces of rjieba as the judge, and damaged files."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.chinese_words import ChineseWords
from sonicpy.data import CHINESE_WORDS
from sonicpy.lexer.segmenters import chinese_words
from tests.support.shared_data import shared_data

HEADER_BYTES = 24
NOISE = [
    *"aZ09 +#&._%-!?,。，\t\u3000😀éñßあカ한§\x1c", "\r\n", "\r", "\n", "AT&T", "c++", "T恤", "B超", "γ射线",
    "12.5", "x_y", "\U00020000", "\u3400", "\uf900", "ＡＢ",
]  # fmt: skip


def made_texts(number: int) -> list[str]:
    """Return texts of pieces of real ones, single characters of them, other Han and noise."""
    chance = random.Random(7)
    lines = [
        line
        for name in ("cjk/zh.tsv", "cjk/zh_hant.tsv")
        for line in shared_data(name).read_text(encoding="utf-8").splitlines()
    ]
    letters = "".join(lines)

    def piece() -> str:
        kind = chance.random()
        if kind < 0.4:
            line = chance.choice(lines)
            start = chance.randrange(len(line) + 1)
            return line[start : start + chance.randrange(1, 8)]
        if kind < 0.8:
            return chance.choice(letters)
        return chr(chance.randrange(0x4E00, 0xA000)) if kind < 0.9 else chance.choice(NOISE)

    return [*lines, *("".join(piece() for _ in range(chance.randrange(1, 40))) for _ in range(number))]


@pytest.mark.full
def test_texts_are_cut_as_by_rjieba() -> None:
    rjieba = pytest.importorskip("rjieba", reason="rjieba, the judge, is not installed")
    for text in made_texts(20_000):
        assert chinese_words().cut(text) == rjieba.cut(text, hmm=False), text


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("中国人民大学生a1.+\r\n"), max_size=60))
def test_any_text_is_cut_as_by_rjieba(text: str) -> None:
    rjieba = pytest.importorskip("rjieba", reason="rjieba, the judge, is not installed")
    assert chinese_words().cut(text) == rjieba.cut(text, hmm=False)


def test_a_surrogate_is_a_piece() -> None:
    assert chinese_words().cut("北京\ud800大学") == ["北京", "\ud800", "大学"]


@pytest.mark.parametrize("kept", [0, 7, 8, 23, 24, 100_000, -1])
def test_a_truncated_file_is_refused(kept: int) -> None:
    with pytest.raises(ValueError, match="dictionary of Chinese words is damaged"):
        ChineseWords(CHINESE_WORDS.read_bytes()[:kept])


@pytest.mark.parametrize("filler", [b"\xff", b"\x7f"])
def test_nodes_outside_the_dictionary_are_refused(filler: bytes) -> None:
    whole = CHINESE_WORDS.read_bytes()
    nodes, weights = struct.unpack_from("=II", whole, 8)
    first_children = HEADER_BYTES + 8 * weights
    labels = first_children + 4 * (nodes + 1)
    numbers = labels + 2 * nodes
    for start, end in ((first_children, labels), (numbers, numbers + 2 * nodes)):
        damaged = whole[:start] + filler * (end - start) + whole[end:]
        with pytest.raises(ValueError, match="dictionary of Chinese words is damaged"):
            ChineseWords(damaged).cut("我来到北京清华大学")


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_behind_the_header_lose_no_letter(seed: int) -> None:
    whole = CHINESE_WORDS.read_bytes()
    words = ChineseWords(whole[:HEADER_BYTES] + random.Random(seed).randbytes(len(whole) - HEADER_BYTES))
    text = "我来到北京清华大学" * 20
    try:
        assert "".join(words.cut(text)) == text
    except ValueError as error:
        assert "damaged" in str(error)
