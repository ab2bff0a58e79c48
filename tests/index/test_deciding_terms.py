"""Texts of scripts without blanks as conditions: which objects hold them, and how long the query takes."""

import time
from pathlib import Path

import pytest

from tests.index.extras import EXTRAS, hide
from tests.index.shorthand import B, C, open_index, push
from tests.support.examples import some
from tests.support.patience import SLOWNESS

LETTERS = (
    "我们的世界人民大学生活动物体育场地图书馆员工作家庭院子女儿童年纪念头发现代表示范围绕道路口号码脑力量度过程序言语文化习惯例外"
    "交通信任务实验证明白天气候选举行为难主张质变工业农村落叶花朵草木材料理想法律师命运品格局面积极限制数据说确定义解决位置召开会议"
)
LONG = "".join(one + other for one in LETTERS for other in LETTERS)[:10_000]
"""A text with hundreds of words of the dictionary, and thousands of pairs of letters."""


@pytest.mark.parametrize("ranking", some(["bm25", "newest"], 2))
def test_a_long_text_is_asked_for_quickly(tmp_path: Path, ranking: str) -> None:
    with open_index(tmp_path, search__ranking=ranking) as index:
        push(index, "whole", LONG, "cmn")
        push(index, "other", LONG[:5_000], "cmn")
        started = time.process_time()
        assert index.query(C, B, LONG, match="all", lang="cmn") == ["whole"]
        assert index.query(C, B, f"+{LONG}", syntax="web", lang="cmn") == ["whole"]
        assert time.process_time() - started < 3 * SLOWNESS


OF_TWO_LETTERS = [
    ("北京", ["北京市", "北京"], ["东京塔", "京剧", "东北"]),
    ("タワ", ["タワー", "タワシ"], ["ワイン", "スタ"]),
    ("นา", ["นาฬิกา", "นา"], ["มานะ", "ยา"]),
]


@pytest.mark.parametrize("ranking", ["bm25", "newest"])
@pytest.mark.parametrize("asked", ["{}*", "{}", "+{}*", "{} OR zz", "{}* OR zz", '"{}" zz*'])
@pytest.mark.parametrize(("word", "holders", "others"), OF_TWO_LETTERS)
def test_two_letters_are_one_word(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    word: str,
    holders: list[str],
    others: list[str],
    asked: str,
    ranking: str,
) -> None:
    hide(monkeypatch, *EXTRAS)  # a dictionary that does not have the word cuts it into letters
    with open_index(tmp_path, search__ranking=ranking) as index:
        for text in (*others, *holders):
            push(index, text, text, None)
        found = index.query(C, B, asked.format(word), syntax="web", match="any", lang="none", total=True)
        assert (sorted(found), found.total) == (sorted(holders), len(holders))
