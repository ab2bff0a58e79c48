"""SUGGEST of several words: words that occur together with those before come first, compared with counts of plain
texts.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy.errors import InvalidArgument
from tests.support.examples import examples

WORDS = ("bado", "bago", "bakuta", "balo", "bameri", "dazu", "dexi", "foku", "gozi", "hupa")
"""Words without other forms, of which five have the same beginning."""


def fitting(
    texts: Sequence[str], before: Sequence[str], beginning: str, limit: int, passing: Sequence[str] | None = None
) -> list[str]:
    """Return the suggestions that counting in all texts would give.

    Args:
        passing: the texts that pass a filter; None: there is no filter.
    """
    held = [set(text.split()) for text in texts]
    frequency = Counter(word for words in held for word in words)
    held = held if passing is None else [set(text.split()) for text in passing]
    begun = sorted(
        (word for word in frequency if word.startswith(beginning)),
        key=lambda word: (word != beginning, -frequency[word], len(word), word),
    )
    known = [word for word in before if frequency[word]][-4:]
    for first in range(len(known) + (passing is not None)):
        wanted = set(known[first:])
        counts = {word: sum(wanted | {word} <= words for words in held) for word in begun}
        found = [word for word in sorted(begun, key=lambda word: -counts[word]) if counts[word]]
        if found:
            return found[:limit]
    return begun[:limit] if passing is None else []


def bucket_of(texts: Sequence[str]) -> sonicpy.Bucket:
    bucket = sonicpy.open(":memory:").bucket("c", "b")
    bucket.push_many((str(number), text, "none") for number, text in enumerate(texts))
    return bucket


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def many() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as index:
        yield index


@settings(max_examples=examples(60))
@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True), st.integers(1, 6))
def test_against_counts(many: sonicpy.Index, texts: list[str], before: list[str], limit: int) -> None:
    many.flush_bucket("c", "b")
    bucket = many.bucket("c", "b")
    bucket.push_many((str(number), text, "none") for number, text in enumerate(texts))
    wanted = fitting(texts, before, "ba", limit)
    assert bucket.suggest(f"{' '.join(before)} ba", limit=limit)[: len(wanted)] == wanted


@settings(max_examples=examples(40))
@given(TEXTS, st.sets(st.integers(0, 11)), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True))
def test_a_filter_counts_its_objects(many: sonicpy.Index, texts: list[str], red: set[int], before: list[str]) -> None:
    many.flush_collection("c")
    for number, text in enumerate(texts):
        for bucket in ("b", f"x{number % 3}"):
            many.push("c", bucket, f"o{number}", text, "none", tags=["red"] if number in red else None)
    passing = [text for number, text in enumerate(texts) if number in red]
    wanted = fitting(texts, before, "ba", 6, passing)
    for buckets in ("b", ["x0", "x*"]):
        found = many.suggest("c", buckets, f"{' '.join(before)} ba", limit=6, filter="red")
        assert found[: len(wanted)] == wanted, buckets
        assert all(any(word in text.split() for text in passing) for word in found)


@pytest.mark.parametrize("shares", [(0.5, 0.3), (0.5, 0.001), (0.002, 0.4)], ids=["common", "rare word", "rare before"])
@pytest.mark.full
def test_against_counts_in_a_large_bucket(shares: tuple[float, float]) -> None:
    chance = random.Random(5)
    before, share = shares
    texts = [
        " ".join(
            word
            for word, odds in zip(
                WORDS, (share, share / 3, share / 9, 0.01, 0.3, before, before, 0.02, 0.2, 1), strict=True
            )
            if chance.random() < odds
        )
        for _ in range(13_000)
    ]
    bucket = bucket_of(texts)
    for typed in (["dazu"], ["dexi", "dazu"], ["hupa"], ["foku", "gozi", "dazu"]):
        for _ in range(2):  # the second answer comes from caches
            assert bucket.suggest(f"{' '.join(typed)} ba") == fitting(texts, typed, "ba", 5)
            bucket.push("more", "xy")
    pushed = [*texts, "dazu bakuta", "dazu bakuta"]
    for number, text in enumerate(pushed[len(texts) :]):
        bucket.push(f"late{number}", text, lang="none")
    assert bucket.suggest("dazu ba") == fitting(pushed, ["dazu"], "ba", 5)


def test_a_word_before_stands_for_its_forms_and_signs_stand_for_nothing() -> None:
    bucket = bucket_of([])
    bucket.push("1", "gardens and roses", lang="eng")
    bucket.push("2", "robots", lang="eng")
    bucket.push("3", "robots rule", lang="eng")
    assert bucket.suggest("garden ro") == ["roses"]
    assert bucket.suggest("garden, ro !") == ["roses"]
    assert bucket.suggest("ro")[0] == "robots"


def test_a_correction_that_leads_to_something() -> None:
    bucket = bucket_of(["new york", "new yard", "yolk of eggs", "yolk"])
    assert bucket.suggest("new yrok") == ["york"]


def test_one_word_is_answered_as_before() -> None:
    bucket = bucket_of(["ba bado", "bado"])
    assert bucket.suggest("ba") == bucket.suggest(" ba ") == bucket.suggest("! ba") == ["ba", "bado"]


@pytest.mark.parametrize("text", ["", "!", "! ?"])
def test_no_last_word(text: str) -> None:
    with pytest.raises(InvalidArgument):
        bucket_of(["new york"]).suggest(text)


def test_in_alphabetical_order_several_words_are_refused() -> None:
    index = sonicpy.open(":memory:", {"search": {"suggest_order": "alphabetical"}})
    index.push("c", "b", "o", "new york")
    with pytest.raises(InvalidArgument, match="allowed is a word"):
        index.suggest("c", "b", "new yo")
