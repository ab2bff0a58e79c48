"""The last word of a query is also a beginning: objects with a longer word are found, too, below those with the
word.
"""

import random
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import Index
from tests.index.shorthand import B, C, open_index, push
from tests.reference.word_walks import distance_of
from tests.support.examples import examples, some

MANY = 12
"""A number of objects above `search.alternates_below`."""
buckets = count()


def pushed(index: Index, *texts: str) -> str:
    """Push texts into a new bucket as objects 0, 1, and so on; return its name."""
    bucket = f"b{next(buckets)}"
    with index.batch():
        for number, text in enumerate(texts):
            index.push(C, bucket, str(number), text, "none")
    return bucket


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_index(tmp_path_factory.mktemp("completions"), search__query_alternates_try=4)


def ask(index: Index, bucket: str, text: str, **options: object) -> list[str]:
    return index.query(C, bucket, text, limit=1000, lang="none", **options).objects  # type: ignore[arg-type]


def test_many_holders_hide_no_completion(index: Index) -> None:
    bucket = pushed(index, *["forward"] * MANY, "forwarding rules", "little mermaid", *["little", "mer"] * MANY)
    assert ask(index, bucket, "forward")[-1] == str(MANY), "below what holds the word"
    assert ask(index, bucket, "little mer")[0] == str(MANY + 1)
    assert str(MANY) not in ask(index, bucket, "forward ") + ask(index, bucket, "forward", complete=False)


def test_all_words_that_begin_so_are_one_list(index: Index) -> None:
    words = [f"plan{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]
    bucket = pushed(index, *words)
    hits = index.query(C, bucket, "plan", lang="none", total=True)
    assert (hits.total, hits.whole, len(hits)) == (64, 0, 10)
    assert sorted(ask(index, bucket, "plan"), key=int) == [str(number) for number in range(64)]
    (term,) = index.explain(C, bucket, "plan", lang="none").terms
    assert {other.how for other in term.alternates} == {"completion"}


def test_totals_say_how_many_hold_whole_words(index: Index) -> None:
    bucket = pushed(index, "planet", "planets", "planetary motion", "motion")
    for text, total, whole in (("planet", 3, 1), ("planet ", 3, 1), ("motion planet", 4, 3), ("planet motion", 4, 3)):
        hits = index.query(C, bucket, text, lang="none", total=True)
        assert (hits.total, hits.whole) == (total, whole), text
        explained = index.explain(C, bucket, text, lang="none")
        assert (explained.total, explained.whole) == (total, whole), text
    assert "3 of 4 objects answer, 1 of them by whole words" in str(index.explain(C, bucket, "planet", lang="none"))
    assert index.query(C, bucket, "planet").whole is None


@pytest.mark.parametrize(
    ("typed", "finds"),
    [
        ("naiv", "naïve"),
        ("sao", "são"),
        ("econ", "économie"),
        ("strasen", "straßenbahn"),
        ("lod", "łódź"),
        ("ελλ", "έλληνας"),
        ("koe", "können"),
        ("dju", "đundo"),
        ("ایر", "ايران"),
        ("जिं", "ज़िंदगी"),
        ("हिं", "हिन्दी"),
        ("हिन्", "हिंदी"),
    ],
)
def test_accents_are_not_needed(index: Index, typed: str, finds: str) -> None:
    bucket = pushed(index, finds, "unrelated")
    for _ in range(2):
        assert ask(index, bucket, typed) == ["0"]
        assert index.suggest(C, bucket, typed) == [finds.replace("ß", "ss").replace("ς", "σ")]
        index.consolidate()


@pytest.mark.parametrize(
    ("typed", "finds", "is_found"),
    [
        ("resturant", "restaurant", True), ("restuar", "restaurant", True), ("rset", "restaurant", True),
        ("rse", "restaurant", False), ("expreimen", "experimental", True), ("xpreimen", "experimental", True),
        ("expreime", "experimental", True), ("qqpreime", "experimental", False), ("xprxime", "experimental", False),
        ("naivte", "naïveté", True), ("nsivet", "naïveté", True),
    ],
)  # fmt: skip
def test_a_beginning_has_one_error_from_four_letters_on_and_two_from_eight(
    index: Index, typed: str, finds: str, is_found: bool
) -> None:
    bucket = pushed(index, finds, "unrelated")
    for _ in range(2):
        assert ask(index, bucket, typed) == ["0"] * is_found
        assert index.suggest(C, bucket, typed) == [finds] * is_found
        assert not is_found or index.query(C, bucket, index.suggest(C, bucket, typed)[0]) == ["0"]
        index.consolidate()


def test_the_last_letter_of_a_short_word_that_is_held_is_no_error(index: Index) -> None:
    bucket = pushed(index, "order", "ordeal", "orders", "odrerly", "ord")
    assert ask(index, bucket, "order") == ["0", "2", "3"]
    assert set(ask(index, bucket, "ordex")) == {"0", "1", "2"}, "it is not held"
    held = pushed(index, "aaaaaaca", "aaaaaabcyyyyy", "baaaaaca")
    assert ask(index, held, "aaaaaaca") == ["0", "2"], "one error at most"


def test_a_beginning_that_many_words_have_is_no_error(index: Index) -> None:
    bucket = pushed(index, *[f"compa{letter}" for letter in "abcdefghijkl"], "compound")
    assert len(ask(index, bucket, "compa")) == MANY
    found = ask(index, bucket, "compu")
    assert set(found) == set(map(str, range(MANY + 1)))
    assert len(ask(index, bucket, "compo")) == MANY + 1, "one object is not enough"


def test_a_completion_that_is_another_word_counts_only_if_nothing_else_does(index: Index) -> None:
    bucket = pushed(index, "john smith", "john jones", "john")
    assert ask(index, bucket, "john jo")[0] == "1"
    assert [other.word for other in index.explain(C, bucket, "john jo", lang="none").terms[1].alternates] == ["jones"]
    alone = pushed(index, "john smith", "john")
    assert [other.word for other in index.explain(C, alone, "john jo", lang="none").terms[1].alternates] == ["john"]


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    for name, setting in (("one", {"search__complete": False}), ("two", {"search__query_alternates_try": 0})):
        with open_index(tmp_path / name, **setting) as index:
            for number in range(MANY):
                push(index, f"o{number}", "planet")
            push(index, "more", "planetarium")
            assert "more" not in index.query(C, B, "planet", limit=100)


def test_compat_mode_has_none() -> None:
    with sonicpy.open(":memory:", config={"server": {"compat": "sonic"}}) as index:
        assert index.config.search.complete is False


OPTIONS: list[Any] = [
    {},
    {},
    {},
    {"match": "all"},
    {"match": "any"},
    {"fuzzy": 0},
    {"fuzzy": 1},
    {"fuzzy": 2, "match": "all"},
    {"syntax": "web", "fuzzy": 1},
]


def texts_of(chance: random.Random) -> list[str]:
    return [" ".join("".join(chance.choices("abé", k=chance.randint(1, 6))) for _ in range(3)) for _ in range(40)]


@pytest.mark.parametrize("ranking", ["bm25", "newest"])
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_pages_are_slices_of_one_answer(tmp_path: Path, ranking: str, seed: int) -> None:
    """The page decides whether completions are searched at all, but the objects and their order stay the same."""
    chance = random.Random(seed)
    with open_index(tmp_path, search__query_alternates_try=4, search__ranking=ranking) as index:
        bucket = pushed(index, *texts_of(chance))
        for _ in range(25):
            text = " ".join(chance.choice(texts_of(chance)).split()[: chance.randint(1, 3)])
            options = chance.choice(OPTIONS)
            whole = index.query(C, bucket, text, limit=1000, total=True, **options)
            assert whole.total == len(whole)
            for limit, offset in ((1, 0), (3, 0), (10, 0), (4, 7), (100, 0)):
                page = index.query(C, bucket, text, limit=limit, offset=offset, **options)
                assert page == whole[offset : offset + limit].objects, (text, options)
                assert page.scores == whole[offset : offset + limit].scores, (text, options)
            explained = index.explain(C, bucket, text, limit=1000, **options)
            assert [hit.object for hit in explained.hits] == whole.objects
            scores: list[float | None] = [*whole.scores] if whole.scores else [None] * len(whole)
            for hit, score in zip(explained.hits, scores, strict=True):
                assert hit.score is None or hit.score == pytest.approx(score)
                if hit.score is not None and not hit.more:
                    assert hit.base + sum(part.score or 0.0 for part in hit.parts) == pytest.approx(score)


@settings(deadline=None, max_examples=examples(80))
@given(
    st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=12), st.text("abc", min_size=1, max_size=9)
)
def test_what_begins_so_is_in_the_answer(index: Index, words: list[str], typed: str) -> None:
    bucket = pushed(index, *words)
    most = 0 if len(typed) < 4 else 1 if len(typed) < 8 else 2
    near = [number for number, word in enumerate(words) if distance_of(typed, list(word), most, begins=True) <= most]
    begun = {number for number, word in enumerate(words) if word.startswith(typed)}
    found = set(map(int, ask(index, bucket, typed)))
    assert begun <= found
    if typed in words:  # it has one error at most, and not in the last letter of a short word
        near = [number for number in near if distance_of(typed, list(words[number]), 1, begins=True) <= 1]
        near = [number for number in near if len(typed) > 6 or not words[number].startswith(typed[:-1])]
    assert len(begun) >= 10 or set(near) <= found
    assert set(index.suggest(C, bucket, typed, limit=1000)) >= {words[number] for number in near}


@pytest.mark.parametrize(("query", "first"), [("avery b", "whole"), ("avery 1", "number"), ("b avery", "whole")])
def test_one_last_character_is_a_beginning_before_it_is_a_word(query: str, first: str) -> None:
    with sonicpy.open(":memory:") as index:
        shop = index.bucket("shop", "default")
        shop.push_many([("whole", "avery lamp b"), ("number", "avery lamp 1")])
        shop.push_many([(f"avery:{i}", f"avery {word} lamp desk") for i in range(20) for word in [f"binder 19{i}"]])
        shop.push_many([(f"alone:{i}", "b 1") for i in range(3)] + [(f"other:{i}", f"bands {i} x") for i in range(60)])
        names = [hit.object for hit in shop.query(query, limit=100)]
    assert names[0] == first
    places = {name: place for place, name in enumerate(names)}
    if query != "b avery":  # there the letter is not the last word: it is whole
        assert max(places[f"avery:{i}"] for i in range(20)) < min(places.get(f"alone:{i}", 100) for i in range(3))


@pytest.mark.parametrize("words", [60, 70, 2_300])
def test_many_words_that_begin_so_are_found_after_changes(index: Index, words: int) -> None:
    texts = {str(number): f"p{number}x p{number % 9}y" for number in range(words)}
    bucket = pushed(index, *texts.values())
    for name, text in [("0", ""), ("new", "pnew p1y"), ("7", ""), ("newer", "pnewer p2y p2x"), ("new", "pn")]:
        texts[name] = f"{texts.get(name, '')} {text}".strip() if text else ""
        if text:
            index.push(C, bucket, name, text, "none")
        else:
            index.flush(C, bucket, name)
        copied = f"b{next(buckets)}"
        index.push_many(
            ((name, text) for name, text in texts.items() if text), collection=C, bucket=copied, lang="none"
        )
        for typed in ("p", "p1", "pn"):
            assert sorted(ask(index, bucket, typed)) == sorted(ask(index, copied, typed))
