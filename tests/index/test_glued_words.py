"""Words written together that no object holds: they are cut into pieces that one object holds together."""

import random
from typing import Any

import pytest

import sonicpy
from sonicpy._native.terms import Terms
from sonicpy.config import Config
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.plan import to_plain
from sonicpy.index.search.planners.ways import LOOKUPS_MAX
from sonicpy.index.search.ranking import PLANNERS
from sonicpy.index.search.sketch import sketch_query
from sonicpy.index.search.statistics import SummedStatistics
from tests.support.examples import some

C, B = "collection", "bucket"

GLUED = [
    ("eos90d", "Canon EOS 90D", ["room 90", "plan d"]),
    ("rtx4070ti", "GeForce RTX-4070Ti", ["model 4070", "option ti"]),
    ("5w30", "Engine oil 5W-30", ["row 5", "w", "line 30"]),
    ("x1carbon", "X1-Carbon Gen9", ["x", "1", "carbon"]),
    ("9780306406157", "ISBN 978-0-306-40615-7", ["978 030 pages", "640 or 61", "57"]),
    ("de89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00", ["page 053", "201 or 3000"]),
    ("johnsmith99", "john_smith99@web.example", ["john", "smith", "99"]),
    ("annalena", "Anna-Lena Schmidt", ["anna", "le", "na"]),
    ("usbc", "USB C cable", ["us", "bc"]),
]


@pytest.mark.parametrize(("typed", "text", "others"), GLUED)
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
def test_pieces_are_those_that_one_object_holds(typed: str, text: str, others: list[str], ranking: str) -> None:
    with sonicpy.open(":memory:", config=Config.model_validate({"search": {"ranking": ranking}})) as index:
        index.push(C, B, "wanted", text)
        for number, other in enumerate(others):
            index.push(C, B, f"other{number}", other)
            index.push(C, f"with{number}", "other", other)
        index.push(C, "with0", "wanted", text)
        for query in (typed, f"{typed} "):
            assert index.query(C, B, query) == ["wanted"]
            if ranking == "bm25":
                buckets = [f"with{number}" for number in range(len(others))]
                assert [hit.rpartition(":")[2] for hit in index.query(C, buckets, query)] == ["wanted"]


def test_a_code_whose_pieces_are_apart_is_read_again() -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("camera", "Canon EOS 90D"), ("room", "room 90"), ("eos", "goddess Eos")):
            index.push(C, B, name, text)
        assert index.query(C, B, "eos90") == ["camera"], "unfinished"
        assert index.query(C, B, "eos90 ") == []


def test_beside_other_words_the_pieces_may_be_apart() -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("case", "iPhone case"), ("other", "pencil case"), ("pencils", "14 pencils")):
            index.push(C, B, name, text)
        assert index.query(C, B, "iphone14 case")[0] == "case"
        assert index.query(C, B, "iphone14") == []
        index.push(C, B, "both", "14 days with an iPhone and no other thing to do")
        assert index.query(C, B, "iphone14") == ["both"]


def test_the_fewest_and_longest_pieces_come_first() -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("two", "news paper"), ("four", "new spa per"), ("other", "new")):
            index.push(C, B, name, text)
        assert index.query(C, B, "newspaper ") == ["two"]
        index.flush_object(C, B, "two")
        assert index.query(C, B, "newspaper ") == ["four"], "the next way"


@pytest.mark.parametrize("typed", ["firewalls346", "1234567890123", "a1b2c3d4e5f6a7b8c9d0", "somanylittlewords"])
def test_the_look_ups_for_a_word_are_bounded(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def holds_together(lexicon: Lexicon, groups: list[list[bytes]]) -> bool:
        asked.append(groups)
        return len(groups) < 3

    monkeypatch.setattr(Lexicon, "holds_together", holds_together)
    with sonicpy.open(":memory:") as index:
        for size in range(1, 6):
            for start in range(len(typed) - size + 1):
                index.push(C, B, f"{size}.{start}", typed[start : start + size])
        index.query(C, B, f"{typed} ")
    assert 0 < len(asked) <= LOOKUPS_MAX


PIECES = "an ana na anna lena le en a 1 2 12 90 9 21 x d né ne".split()
BUCKETS = ("red", "green", "blue")


@pytest.mark.parametrize("seed", some([*range(6), 9, 17, 27, 34, 75, 119], 3))
def test_the_plan_of_parts_is_that_of_one_bucket(seed: int) -> None:
    pick = random.Random(seed)
    with sonicpy.open(":memory:") as index:
        for number in range(12):
            text = " ".join(pick.sample(PIECES, pick.randint(1, 4)))
            index.push(C, B, f"o{number}", text, "none")
            index.push(C, pick.choice(BUCKETS[: 2 + seed % 2]), f"o{number}", text, "none")
        for _ in range(40):
            words = ["".join(pick.choices(PIECES, k=pick.randint(2, 4))), *pick.choices(PIECES, k=pick.randint(0, 1))]
            terms = index.engine.lexer.lex(" ".join(words), "none")
            for ranking, planner in PLANNERS.items():
                matching = pick.choice((None, Matching("none", True, True, ())))
                whole = of_one(index, terms, planner, matching)
                sketches = [sketch for bucket in BUCKETS if (sketch := sketch_of(index, bucket, terms, matching))]
                parts = planner(SummedStatistics(sketches), terms, index.config.search, matching)
                assert to_plain(parts) == to_plain(whole), (words, ranking)


def of_one(index: Any, terms: Terms, planner: Any, matching: Matching | None) -> Any:
    with index.engine.read_words(C, B) as lexicon:
        return planner(lexicon, terms, index.config.search, matching)


def sketch_of(index: Any, bucket: str, terms: Terms, matching: Matching | None) -> Any:
    with index.engine.read_words(C, bucket) as lexicon:
        return None if lexicon is None else sketch_query(lexicon, terms, index.config, matching)


def test_a_misspelt_word_is_not_cut_at_a_short_word_that_most_objects_hold() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "meant", "debian release")
        index.push(C, B, "de", "de bonne heure, ban")
        for number in range(20):
            index.push(C, B, f"o{number}", f"an old deb, {number}")
        assert index.query(C, B, "deban ")[0] == "de"
        index.flush_object(C, B, "de")
        for name, text in (("de", "de bonne heure"), ("ban", "a ban on it")):
            index.push(C, B, name, text)
        assert index.query(C, B, "deban ") == ["meant"]
