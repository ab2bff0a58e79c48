"""The order of a large object grows beside its row: it equals the order that each text writes anew."""

import random
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.store.changing import order_writer
from sonicpy.store.views import growing_orders

KEPT: dict[str, Any] = {"store.order": True}
OBJECTS = ("o1", "o2", "o90")
ALL_TERMS = 1 << 40
"""More terms than an object can have: no order grows."""


def text_of(random_: random.Random, words: int, most: int) -> str:
    return " ".join(f"w{random_.randrange(most)}" for _ in range(words))


def change(index: sonicpy.Index, random_: random.Random) -> None:
    oid, chance = random_.choice(OBJECTS), random_.random()
    if chance < 0.02:
        index.flush("c", "b", oid)
    elif chance < 0.04:
        index.upsert("c", "b", oid, text_of(random_, 100, 400))
    elif chance < 0.15:
        index.pop("c", "b", oid, text_of(random_, 4, 400))
    elif chance < 0.25:
        index.push("c", "b", f"o{random_.randrange(100)}", text_of(random_, 4, 400))
    elif chance < 0.3:
        index.query("c", "b", "", phrase=text_of(random_, 2, 90))
    elif chance < 0.33:
        index.commit()
    else:  # few words: pieces come again
        index.push("c", "b", oid, text_of(random_, random_.choice([1, 2, 9]), random_.choice([5, 60, 400])))


def orders_after(folder: Path, seed: int) -> list[object]:
    """Return the objects after some changes, and the orders of these in between."""
    random_ = random.Random(seed)
    seen: list[object] = []
    for number in range(3):
        with sonicpy.open(folder, config=KEPT if number != 1 else {}) as index:
            if not number:
                for oid in [*(f"o{number}" for number in range(100)), *OBJECTS]:
                    index.push("c", "b", oid, text_of(random_, 60 if oid in OBJECTS else 3, 400))
            for step in range(80):
                change(index, random_)
                if step % 40 == 39:
                    seen.append([(row.object, row.terms, row.fields) for row in index.holdings("c", "b")])
            assert number < 2 or index.verify() == []
    return seen


@pytest.mark.parametrize(
    ("seed", "bounds"),
    [
        (0, {}),
        pytest.param(1, {"GROWING_WORDS_MAX": 500}, marks=pytest.mark.full),
        pytest.param(2, {"KEPT_WORDS_MAX": 0}, marks=pytest.mark.full),
        pytest.param(3, {"WORDS_MAX": 300}, marks=pytest.mark.full),
    ],
)
def test_it_equals_the_order_that_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, bounds: dict[str, int]
) -> None:
    for name, bound in bounds.items():
        monkeypatch.setattr(order_writer if name == "WORDS_MAX" else growing_orders, name, bound)
    grown = orders_after(tmp_path / "grown", seed)
    monkeypatch.setattr(order_writer, "GROWING_TERMS", ALL_TERMS)
    assert grown == orders_after(tmp_path / "anew", seed)


def test_a_text_reads_no_other_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sonicpy.open(tmp_path, config=KEPT) as index:
        for number in range(2):
            index.push("c", "b", "large", " ".join(f"w{number}a{word}" for word in range(300)))

        def refuse(*arguments: object) -> None:
            raise AssertionError("a PUSH read the order of a large object")

        with monkeypatch.context() as patched:
            patched.setattr(order_writer.OrderWriter, "_order", refuse)
            for number in range(9):
                index.push("c", "b", "large", f"w0a{number} w1a{number} new{number}")
        index.push("c", "b", "large", "end")
        assert [list(index.query("c", "b", "", phrase=phrase)) for phrase in ("w1a8 new8", "new8 w1a8")] == [
            ["large"],
            [],
        ]
        assert index.verify() == []
