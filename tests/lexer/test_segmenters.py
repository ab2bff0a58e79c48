"""Dictionaries for runs without blanks: their choice, the words without them, and the time when they are loaded."""

import subprocess
import sys
import textwrap
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from sonicpy.lexer import segmenters
from sonicpy.lexer.segmenters import Segmenters
from tests.support.patience import WAIT_S
from tests.support.shared_data import shared_data

needs_ja = pytest.mark.skipif(not Segmenters().has_ja, reason="needs the extra [ja]")

CHINESE = [
    ("我来到北京清华大学", ["我", "来到", "北京", "清华大学"]),
    ("他来到了网易杭研大厦", ["他", "来到", "了", "网易", "杭", "研", "大厦"]),
    ("乒乓球拍卖完了", ["乒乓球", "拍卖", "完", "了"]),
    ("東京都", None),
    ("北京", ["北京"]),
]
JAPANESE = [
    ("東京都に住んでいます", ["東京", "都", "に", "住ん", "で", "い", "ます"]),
    ("すもももももももものうち", ["すもも", "も", "もも", "も", "もも", "の", "うち"]),
    ("カタカナ", ["カタカナ"]),
    ("これは日本語です", ["これ", "は", "日本", "語", "です"]),
]
NO_DICTIONARY = ["สวัสดีครับ", "ភាសាខ្មែរ", "ພາສາລາວ", "မြန်မာဘာသာ", "latin", ""]


def without_extras(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Hide packages, as if they were not installed."""
    found = segmenters.find_spec
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None if name in missing else found(name))


class TestWhichDictionary:
    @pytest.mark.parametrize(("run", "words"), CHINESE)
    def test_han_is_cut_as_chinese(self, run: str, words: list[str] | None) -> None:
        found = Segmenters().words_of_run(run)
        assert "".join(found) == run
        assert words is None or found == words

    @needs_ja
    @pytest.mark.parametrize(("run", "words"), JAPANESE)
    def test_kana_make_a_run_japanese(self, run: str, words: list[str]) -> None:
        assert Segmenters().words_of_run(run) == words

    @pytest.mark.parametrize("run", NO_DICTIONARY)
    def test_other_scripts_have_none(self, run: str) -> None:
        assert Segmenters().words_of_run(run) == []

    def test_japanese_is_not_cut_as_chinese(self, monkeypatch: pytest.MonkeyPatch) -> None:
        without_extras(monkeypatch, "fugashi")
        assert Segmenters().words_of_run("東京都に住んでいます") == []
        assert Segmenters().words_of_run("北京") == ["北京"]

    @needs_ja
    def test_chinese_is_not_cut_as_japanese(self) -> None:
        without = Segmenters(has_zh=False)
        assert without.words_of_run("东京") == []
        assert without.words_of_run("東京に") == ["東京", "に"]

    @pytest.mark.parametrize(
        ("missing", "installed"),
        [
            ((), {"extras.zh": "True", "extras.ja": "True"}),
            (("fugashi",), {"extras.zh": "True", "extras.ja": "False"}),
            (("unidic_lite",), {"extras.zh": "True", "extras.ja": "False"}),
            (("fugashi", "unidic_lite"), {"extras.zh": "True", "extras.ja": "False"}),
        ],
    )
    @needs_ja
    def test_what_is_in_use(
        self, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], installed: dict[str, str]
    ) -> None:
        without_extras(monkeypatch, *missing)
        assert Segmenters().in_use() == installed
        assert Segmenters(has_zh=False).in_use() == {**installed, "extras.zh": "False"}


class TestTexts:
    @pytest.mark.parametrize("name", ["cjk/zh.tsv", "cjk/zh_hant.tsv"])
    def test_no_chinese_letter_is_lost(self, name: str) -> None:
        segmenters = Segmenters()
        for line in shared_data(name).read_text(encoding="utf-8").splitlines()[::5]:
            assert "".join(segmenters.chinese(line)) == line

    @needs_ja
    def test_no_japanese_letter_is_lost(self) -> None:
        segmenters = Segmenters()
        for line in shared_data("cjk/ja.tsv").read_text(encoding="utf-8").splitlines()[::5]:
            run = "".join(char for char in line if unicodedata.category(char) == "Lo")
            assert "".join(segmenters.japanese(run)) == run

    @needs_ja
    @pytest.mark.parametrize("piece", ["一", "北京大学", "あ", "カ", "東京に住む"])
    def test_time_is_linear_on_long_runs(self, piece: str) -> None:
        """A run of eight times the length may take 24 times as long, before the time counts as more than linear
        (quadratic: 64).
        """
        segmenters = Segmenters()
        small, large = best_time(segmenters, piece, 2_500), best_time(segmenters, piece, 20_000)
        assert large < 0.3
        if large > 0.002:  # below that, noise of the clock and fixed costs decide
            assert large < 24 * small

    @needs_ja
    def test_from_eight_threads(self) -> None:
        segmenters = Segmenters()
        wrong: list[object] = []

        def cut() -> None:
            for _ in range(50):
                for run, words in (CHINESE[0], JAPANESE[0]):
                    found = segmenters.words_of_run(run)
                    if found != words:
                        wrong.append(found)

        threads = [threading.Thread(target=cut) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def best_time(segmenters: Segmenters, piece: str, size: int) -> float:
    run = piece * (size // len(piece.encode()))
    times = []
    for _ in range(4):
        start = time.thread_time()
        found = segmenters.words_of_run(run)
        times.append(time.thread_time() - start)
        assert "".join(found) == run
    return min(times)


LOADING = """
    import sys
    from sonicpy import Index
    from sonicpy.lexer.segmenters import chinese_words

    def loaded():
        zh = ["zh"] if chinese_words.cache_info().currsize else []
        return zh + [name for name in ("rjieba", "fugashi", "unidic_lite", "MeCab") if name in sys.modules]

    with Index(sys.argv[1]) as index:
        assert loaded() == [], loaded()
        for text in ("plain words, ABC123", "Обычные слова", "서울특별시", "สวัสดีครับ", "ភាសាខ្មែរ", "a b@c.de 12"):
            index.push("c", "b", "o", text)
            index.query("c", "b", text)
            index.pop("c", "b", "o", text)
            assert loaded() == [], (text, loaded())
        index.push("c", "b", "o", "我来到北京清华大学")
        assert loaded() == ["zh"], loaded()
        index.query("c", "b", "東京都に住んでいます")
        assert loaded()[:2] == ["zh", "fugashi"], loaded()
    print("reached the end")
"""


@needs_ja
def test_a_dictionary_is_loaded_with_the_first_text_that_needs_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(LOADING), str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (done.returncode, done.stdout) == (0, "reached the end\n"), done.stderr
