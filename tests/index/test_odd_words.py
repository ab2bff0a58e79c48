"""Queries of characters that few words have: each has an answer."""

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sonicpy
from sonicpy.store.disk.table_numbers import PENDING, WORDS
from sonicpy.store.disk.why import Why
from sonicpy.store.rows.keys import word_key
from sonicpy.store.views.write_view import WriteView

SIGNS = "\u200d\u200c\u0640\u064b\u0301\u0345\ufe0f\u3099\u0327\u094d\u05c1\u30fc\u02bc\u061c\u20dd\uac00\ufdfa\u00ad"
odd_words = st.text(st.sampled_from(SIGNS) | st.characters(categories=["Mn", "Lm", "Cf", "Lo", "Sk"]), max_size=3)
words = st.lists(odd_words | st.sampled_from(["amber", "boat", "new york", "-", "*"]), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:", config={"store.order": True}) as opened:
        for number in range(20):
            opened.push("c", "b", f"o{number}", f"amber boat {SIGNS[number % len(SIGNS)]}k {number}")
        yield opened


@given(words, st.sampled_from(["plain", "web"]), st.sampled_from(["all", "any", "auto"]))
@example(["\u200d"], "plain", "auto")
@example(["\u0640\u064b"], "web", "all")
def test_every_query_has_an_answer(index: sonicpy.Index, typed: list[str], syntax: str, match: str) -> None:
    text = " ".join(typed)
    hits = index.query("c", "b", text, syntax=syntax, match=match, total=True, how=True)
    assert len(hits) <= (hits.total or 0)
    assert index.explain("c", "b", text, syntax=syntax, match=match).total == hits.total
    with contextlib.suppress(sonicpy.InvalidArgument):  # if the letters are several words
        index.suggest("c", "b", "a" + typed[-1])


@pytest.mark.parametrize("letters", [64, 65, 160, 161, 400, 401, 500, 501, 5_000])
def test_a_word_of_any_length_is_asked_for_and_found(index: sonicpy.Index, letters: int) -> None:
    word, bucket = ("boat" * letters)[:letters], f"of {letters}".replace(" ", "-")
    index.push("c", bucket, "compound", "house-boat boathouse l'eau")
    for buckets in (bucket, [bucket, "b"]):
        for text in (word, f"{word}s", f"+{word}", f"{word}*", f'"{word} boat"'):
            assert "long" not in index.query("c", buckets, text, syntax="web", lang="eng", fuzzy=3)
    index.push("c", bucket, "long", f"{word} ahoy")
    for buckets in (bucket, [bucket, "b"]):
        assert "long" in index.query("c", buckets, word, lang="eng", match="all")
        assert index.explain("c", buckets, word, lang="eng").total == 1
    assert index.suggest("c", bucket, f"{word} a") == ["ahoy"]
    assert index.pop("c", bucket, "long", word) == 1
    assert "long" not in index.query("c", bucket, word, lang="eng")


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_a_phrase_of_many_words_is_found(index: sonicpy.Index, count: int) -> None:
    phrase = " ".join(f"word{number}" for number in range(count))
    index.push("c", "long", f"o{count}", f"before {phrase} behind")
    assert f"o{count}" in index.query("c", "long", "", phrase=phrase, sort="newest")
    assert f"o{count}" in index.query("c", "long", f'"{phrase}"', syntax="web")


@pytest.mark.parametrize("split", [True, False])
def test_bytes_that_mark_words_are_in_no_word(split: bool) -> None:
    config = {"tokenization.compat_split_special_patterns": split}
    with sonicpy.open(":memory:", config=config) as index:
        for number, word in enumerate(("@\x01_", "@\x00_", "@a\x02b", "http://x.org/\x01y", "@\x02\x01a")):
            index.push("c", "b", f"o{number}", f"hello {word}")
            for text in (f"hello {word}", f"{word} hello"):
                assert f"o{number}" in index.query("c", "b", text, limit=20), text
        assert not any(set(word) & set("\0\1\2") for word in index.words("c", "b"))


@pytest.mark.parametrize("text", ["\u3007" * 7, "\u3005" * 7, "\u2f00\u2f01\u2f02" * 3, "\uf900" * 7])
def test_compat_mode_takes_letters_that_only_han_has(text: str) -> None:
    with sonicpy.open(":memory:", config={"server.compat": "sonic"}) as index:
        index.push("c", "b", "o", f"{text} 2024-05-06 18:30")
        assert index.query("c", "b", f"{text} 2024-05-06 18:30") == ["o"]


@pytest.mark.parametrize("option", [{}, {"group": "price"}])
@pytest.mark.parametrize("buckets", ["b", ["b", "long"]])
def test_a_name_that_is_not_unicode_is_refused(index: sonicpy.Index, option: dict[str, str], buckets: object) -> None:
    with pytest.raises(sonicpy.InvalidArgument, match="after is not Unicode"):
        index.query("c", buckets, "amber", sort="newest", after="b/\ud800", **option)


def others(seed: int) -> list[tuple[str, str]]:
    """Return objects with 6,000 words together, more than a small bucket holds."""
    chance = random.Random(seed)
    return [(f"o{number}", " ".join(made_up(chance) for _ in range(20))) for number in range(300)]


def made_up(chance: random.Random) -> str:
    return "".join(chance.choices("bdfgklmnp", k=7))


@pytest.mark.full
@pytest.mark.parametrize("repeated", [3, 11, 20, 30, 31, 300])
def test_a_long_word_in_camel_case_harms_no_other(tmp_path: Path, repeated: int) -> None:
    """In a small bucket, in one that has just left that form, and in one with a graph."""
    word = "HomeAboutContact" * repeated
    with sonicpy.open(tmp_path) as opened:
        for bucket, rows in (("small", []), ("large", others(1))):
            opened.push("c", bucket, "long", f"{word} zebra")
            opened.push_many(rows, collection="c", bucket=bucket)
        for act in (opened.commit, opened.consolidate):
            act()
            for bucket in ("small", "large"):
                assert opened.query("c", bucket, "zebra") == opened.query("c", bucket, word.lower()) == ["long"]
                assert opened.query("c", bucket, "contact") == ["long"]
                assert opened.suggest("c", bucket, "zebr") == ["zebra"]
            assert opened.verify() == []
        for bucket in ("small", "large"):
            opened.pop("c", bucket, "long", word)
            assert (opened.query("c", bucket, "contact"), opened.query("c", bucket, "zebra")) == ([], ["long"])
        assert opened.verify() == []


def test_the_row_of_a_hidden_term_without_its_joints_is_no_damage(in_tables: None, tmp_path: Path) -> None:
    """Earlier versions wrote such rows."""
    key = word_key(0, b"\2home\2about\2contact" * 40)
    assert b"\xff" in key
    with sonicpy.open(tmp_path) as opened:
        opened.push("c", "b", "o", "zebra")
        opened.push_many(others(2), collection="c", bucket="b")
        opened.engine.commit()

        def write(view: WriteView) -> None:
            row = view.transaction.get(WORDS, word_key(0, b"zebra"))
            assert row is not None
            view.transaction.put(WORDS, key, row)
            view.transaction.put(PENDING, key, bytes([0, 0, 0, 0, 0, 1, Why.APPEARED]))

        opened.engine.store.maintain(write)
        opened.engine.commit()
        assert opened.query("c", "b", "zebr") == ["o"]
        opened.consolidate()
        assert opened.query("c", "b", "zebr") == ["o"]
