"""Words with digits or signs go on in longer ones at any place of a query, also where objects hold the typed word: in
one bucket, in several, in parts, before and after a consolidation.
"""

from pathlib import Path

import pytest

import sonicpy
from sonicpy import Config
from tests.index.test_spread import SCOPE
from tests.index.test_unknown_words import answers

C, B = SCOPE

FOUND = [
    ("os.path error", "an os.path.join error"),
    ("app.config tutorial", "tutorial of app.config.yaml"),
    ("john.doe mail", "john.doe@example.com has mail"),
    ("v1.2 notes", "notes of v1.2.3"),
    ("http2 proxy", "a http2server as proxy"),
    ("LM317 data", "data of LM317T"),
    ("2024년 계획", "2024년에는 계획"),
    ("iPhone15 가격", "iPhone15를 산 가격"),
    ("가격 iPhone15를", "iPhone15 가격"),
    ("10월에", "10월은 가을"),
    ("KBS2 뉴스", "KBS2에서 본 뉴스"),
    ("number 555 12", "number 5551234567"),
    ("978 3 16", "ISBN 9783161484100"),
    ("account DE89 3704 00", "account DE89370400440532013000"),
]

APART = [
    ("os.path error", "an os.pathological error"),
    ("3.1 notes", "notes of 3.14"),
    ("2024 계획", "20245 계획"),
    ("mp3 list", "a list of mp34"),
    ("10월 계획", "10월드컵 계획"),
]


@pytest.mark.full
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
@pytest.mark.parametrize(("typed", "text"), FOUND)
def test_a_word_with_digits_or_signs_goes_on(tmp_path: Path, ranking: str, typed: str, text: str) -> None:
    config = Config.model_validate({"search": {"ranking": ranking}})
    for held in (0, 12):
        folder = tmp_path / str(held)
        folder.mkdir()
        texts = [text, *["nothing of the kind"] * 3, *(f"{typed} x{letter}" for letter in "abcdefghijkl"[:held])]
        for found in answers(folder, config, typed, texts, limit=20):
            assert len(found) == held + 1
            assert found[-1] == "0"


@pytest.mark.parametrize(("typed", "text"), APART)
def test_only_a_joint_or_a_particle_ends_a_word(typed: str, text: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "0", text)
        index.push(C, B, "1", typed)
        first, _, last = typed.partition(" ")
        assert index.query(C, B, f"{first} zebra").objects == ["1"]
        assert index.query(C, B, f"{last} ").objects == ["1", "0"]


def test_marked_is_the_word_that_goes_on() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", "an os.path.join error")
        marked = sonicpy.highlight("an os.path.join error", index.explain(C, B, "os.path error"))
        assert marked == "an <mark>os.path.join</mark> <mark>error</mark>"
