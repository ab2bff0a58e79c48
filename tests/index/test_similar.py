"""SIMILAR finds the objects that a query with the heaviest words of an object finds, without the object itself."""

import random
from collections import Counter
from math import log, sqrt

import pytest

import sonicpy
from sonicpy._native.planner import SHARE_EXPONENT_MAX, SHARE_STRENGTH
from sonicpy._native.similar_plan import BRINGING_MAX, TERMS_MAX
from sonicpy.errors import InvalidArgument

WORDS = [f"{first}{second}o{third}" for first in "bdfg" for second in "aeiu" for third in "klmnprst"]


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    chance = random.Random(11)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return {f"o{number}": chance.choices(WORDS, weights, k=chance.choice((3, 8, 20, 90))) for number in range(300)}


@pytest.fixture(scope="module")
def bucket(texts: dict[str, list[str]]) -> sonicpy.Bucket:
    only_words = {"search": {"query_alternates_try": 0}}  # queries correct nothing
    found = sonicpy.open(":memory:", only_words).bucket("c", "b")
    found.push_many((name, " ".join(words), "none") for name, words in texts.items())
    return found


def rarest(texts: dict[str, list[str]], name: str) -> list[str]:
    """Return the words of an object that weigh most, each as often as the object holds it."""
    held = Counter(word for words in texts.values() for word in set(words))
    counts = Counter(texts[name])

    def weight(word: str) -> float:
        return log(1 + (len(texts) - held[word] + 0.5) / (held[word] + 0.5)) * sqrt(counts[word])

    shared = sorted((word for word in counts if held[word] > 1), key=lambda word: (-weight(word), word))
    rare = shared[:3] + [word for word in shared[3:] if held[word] <= max(64, len(texts) // 5)]
    return [word for word in rare[:TERMS_MAX] for _ in range(counts[word])]


def test_against_queries(bucket: sonicpy.Bucket, texts: dict[str, list[str]]) -> None:
    for name in [name for name, words in texts.items() if len(set(words)) <= BRINGING_MAX][::7]:
        text = " ".join(rarest(texts, name)) + " "
        asked = bucket.query(text, limit=300, lang="none", stem=False).pairs()
        wanted = {one: score % 1 for one, score in asked if one != name and score is not None}
        found = bucket.similar(name, limit=300)
        assert {*found} == wanted.keys(), name
        assert found.scores == sorted(found.scores or [], reverse=True)
        for one, score in found.pairs():
            assert score is not None and score % 1 == pytest.approx(wanted[one], rel=1e-9), name


def test_words_behind_the_first_only_add_to_the_score() -> None:
    chance = random.Random(2)
    texts = {f"o{number}": chance.sample(WORDS, chance.choice((2, 4, 9, 20, 60))) for number in range(150)}
    held = Counter(word for words in texts.values() for word in words)
    weights = {word: log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in held.items()}
    found = sonicpy.open(":memory:", {"search": {"query_alternates_try": 0}}).bucket("c", "b")
    found.push_many((name, " ".join(words), "none") for name, words in texts.items())
    checked = 0
    for name in [name for name, words in texts.items() if len(words) > BRINGING_MAX][::5]:
        words = rarest(texts, name)
        first, exponent = words[:BRINGING_MAX], min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / len(words))
        asked = dict(found.query(" ".join(words) + " ", limit=300, lang="none", stem=False).pairs())
        like = {one for one in texts if one != name and {*first} & {*texts[one]}}
        answer = found.similar(name, limit=300)
        assert {*answer} == like
        for one, score in answer.pairs():
            shares = [
                sum(weights[word] for word in some if word in texts[one]) / sum(weights[word] for word in some)
                for some in (first, words)
            ]
            wanted = (asked[one] or 0.0) % 1 * (shares[0] / shares[1]) ** exponent
            assert (score or 0.0) % 1 == pytest.approx(wanted, rel=1e-9)
            checked += 1
    assert checked > 300


def test_a_word_of_many_objects_leads_to_none() -> None:
    texts = {
        f"o{number}": ["shared", f"pair{number // 2}", f"four{number // 4}", f"eight{number // 8}"]
        for number in range(80)
    }
    found = sonicpy.open(":memory:").bucket("c", "b")
    found.push_many((name, " ".join(words), "none") for name, words in texts.items())
    assert [*found.similar("o9", limit=80)] == ["o8", "o11", "o10", "o15", "o14", "o13", "o12"]
    found.push("all", "shared", "none")
    assert len(found.similar("all", limit=90)) == 80, "it has no other word"


def test_pages(bucket: sonicpy.Bucket) -> None:
    whole = bucket.similar("o3", limit=25)
    assert len(whole) == 25 and "o3" not in whole
    assert bucket.similar("o3", limit=10, offset=5) == whole[5:15].objects
    assert bucket.similar("o3") == whole[:10].objects
    assert bucket.similar("o3", limit=0) == []


def test_nothing_is_like_it() -> None:
    bucket = sonicpy.open(":memory:").bucket("c", "b")
    assert bucket.similar("o") == []
    bucket.push("o", "alone")
    bucket.push("empty", "!")
    assert bucket.similar("o") == bucket.similar("none") == bucket.similar("empty") == []
    bucket.push("other", "alone too")
    assert bucket.similar("o") == ["other"]


def test_compat_mode_refuses() -> None:
    with sonicpy.open(":memory:", {"server": {"compat": "sonic"}}) as index:
        index.push("c", "b", "o", "same")
        with pytest.raises(InvalidArgument, match="server.compat is sonic"):
            index.similar("c", "b", "o")


def test_forms_of_words_count_as_in_queries() -> None:
    chance = random.Random(5)
    stems = ("filter", "print", "jump", "paint", "plant", "count", "open", "film", "lift", "melt", "knock", "float")
    ends = ("", "s", "ed", "ing")
    texts = {f"o{number}": chance.sample(stems, chance.choice((2, 3, 5))) for number in range(120)}
    found = sonicpy.open(":memory:", {"search": {"query_alternates_try": 0}}).bucket("c", "b")
    texts = {name: [stem + chance.choice(ends) for stem in words] for name, words in texts.items()}
    found.push_many((name, " ".join(words), "eng") for name, words in texts.items())
    for name, words in texts.items():
        asked = found.query(" ".join(words) + " ", limit=200, lang="eng").pairs()
        wanted = {one: score % 1 for one, score in asked if one != name and score is not None}
        answer = found.similar(name, limit=200)
        assert {*answer} == wanted.keys(), name
        for one, score in answer.pairs():
            assert (score or 0.0) % 1 == pytest.approx(wanted[one], rel=1e-9), name


def test_forms_in_one_object_count_as_one_word() -> None:
    found = sonicpy.open(":memory:").bucket("c", "b")
    found.push("asked", "filter filters filtering jumped", "eng")
    found.push_many((f"f{number}", ("filter", "filters", "filtering")[number % 3], "eng") for number in range(18))
    found.push_many((f"j{number}", "jumped", "eng") for number in range(3))
    found.push_many((f"o{number}", f"other{number}", "eng") for number in range(80))
    assert {*found.similar("asked", limit=3)} == {"j0", "j1", "j2"}, "three clauses would weigh more than one rare word"
    assert len(found.similar("asked", limit=50)) == 21


def test_no_forms_without_stemming() -> None:
    for stemming, others in (("off", ["same"]), ("auto", ["same", "form"])):
        found = sonicpy.open(":memory:", {"search": {"stemming": stemming}}).bucket("c", "b")
        found.push("asked", "filter", "eng")
        found.push("form", "filters", "eng")
        found.push("same", "filter", "eng")
        assert [*found.similar("asked")] == others


def test_a_word_held_more_often_than_a_count_can_be() -> None:
    found = sonicpy.open(":memory:").bucket("c", "b")
    found.push("asked", "painter " * 200 + "painters " * 200)
    found.push("form", "painters")
    found.push("same", "painter")
    assert {*found.similar("asked")} == {"same", "form"}


def test_many_words() -> None:
    chance = random.Random(9)
    words = [first + second for first in WORDS[:100] for second in WORDS[:60]]
    texts = {f"o{number}": chance.sample(words, 450) for number in range(20)}
    found = sonicpy.open(":memory:").bucket("c", "b")
    found.push_many((name, " ".join(each), "none") for name, each in texts.items())
    found.push("part", " ".join(texts["o3"][:300]), "none")
    assert found.similar("part", limit=1) == ["o3"]
    assert found.similar("o3", limit=1) == ["part"]
