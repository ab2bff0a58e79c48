"""Three rankings of texts, compared with plain models, and the purpose of each."""

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Index
from tests.index.shorthand import B, C, found, open_index, push
from tests.reference.bm25 import Bm25
from tests.reference.ranking import single
from tests.support.examples import examples

WORDS = ["anker", "birne", "dampf", "eiche", "feder", "grube"]
TOLERANCE = 1e-6
"""The relative tolerance of scores, because lengths are stored in 32 bits."""

Changes = list[tuple[str, str, list[str]]]
oids = st.sampled_from([f"o{number}" for number in range(9)])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9)
changes = st.lists(st.tuples(st.sampled_from(["push", "push", "push", "pop", "flush"]), oids, texts), max_size=40)
questions = st.lists(st.sampled_from([*WORDS, "unbekannt"]), min_size=1, max_size=5)
buckets = count()


@pytest.fixture(scope="module", params=["bm25", "newest", "sonic"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(tmp_path_factory.mktemp("ranking"), search__ranking=request.param) as opened:
        yield opened


def carry_out(index: Index, bucket: str, todo: Changes) -> Bm25:
    """Make changes in a bucket and in a model; return the model."""
    model = Bm25()
    with index.batch():
        for verb, oid, words in todo:
            text = " ".join(words)
            if verb == "push":
                index.push(C, bucket, oid, text, "none")
                model.push(oid, words)
            elif verb == "pop":
                assert index.pop(C, bucket, oid, text) == model.pop(oid, words)
            else:
                assert index.flush_object(C, bucket, oid) == model.flush(oid)
    return model


@settings(deadline=None, max_examples=examples(150))
@given(changes, questions)
def test_against_a_plain_model(index: Index, todo: Changes, question: list[str]) -> None:
    bucket = f"b{next(buckets)}"
    model = carry_out(index, bucket, todo)
    answer = index.query(C, bucket, " ".join(question), limit=100, lang="none")
    ranking = index.config.search.ranking
    if ranking == "bm25":
        check_order(answer, model.best(question))
    elif ranking == "newest":
        assert answer == newest(model, question)
    else:
        assert answer == sonic(model, question)


def check_order(answer: list[str], expected: list[tuple[str, float]]) -> None:
    """Check an order, in which only objects with nearly equal scores may change places."""
    scores = dict(expected)
    assert sorted(answer) == sorted(scores)
    for oid, (place, score) in zip(answer, expected, strict=True):
        assert oid == place or 0 < abs(scores[oid] - score) <= TOLERANCE * score, (answer, expected)


def newest(model: Bm25, question: list[str]) -> list[str]:
    return model.newest_first(set.intersection(*(set(model.holders(word)) for word in question)))


def sonic(model: Bm25, question: list[str]) -> list[str]:
    asked = list(dict.fromkeys(question))
    scores: dict[str, float] = defaultdict(float)
    for word in asked:
        df = len(model.holders(word))
        weight = single(math.log(1 + (model.objects - df + 0.5) / (df + 0.5)))
        for oid in model.newest_first(set(model.holders(word))):
            scores[oid] = single(scores[oid] + weight)
    return sorted(scores, key=lambda oid: -single(scores[oid] / len(asked)))


def test_bm25_prefers_rare_words_short_objects_and_more_of_the_query(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(20):
            push(index, f"common{number}", "birne dampf")
        push(index, "rare", "anker dampf")
        assert found(index, "birne anker")[0] == "rare"
        push(index, "short", "eiche feder")
        push(index, "long", f"eiche {' '.join(f'fuell{letter}' for letter in 'abcdefghij')}")
        assert found(index, "eiche") == ["short", "long"]
        push(index, "often", "feder " * 4)
        assert found(index, "feder") == ["often", "short"]
        assert found(index, "eiche feder")[0] == "short", "it holds both"


def test_bm25_tells_lengths_apart_however_long(tmp_path: Path) -> None:
    words = [f"wort{number}" for number in range(3_000)]
    with open_index(tmp_path) as index:
        for length in (2_000, 20, 200, 70, 63):
            push(index, f"o{length}", f"anker {' '.join(words[:length])}")
        assert found(index, "anker") == ["o20", "o63", "o70", "o200", "o2000"]


@pytest.mark.parametrize("ranking", ["bm25", "sonic"])
def test_special_words_are_required(tmp_path: Path, ranking: str) -> None:
    with open_index(tmp_path, search__ranking=ranking) as index:
        push(index, "both", "bestellung abc123 verschickt")
        push(index, "words", "bestellung verschickt")
        push(index, "other", "bestellung xyz789 verschickt")
        push(index, "mail", "bestellung von max@example.org")
        assert found(index, "bestellung abc123") == ["both"]
        assert found(index, "bestellung abc123 xyz789") == []
        assert found(index, "bestellung max@example.org") == ["mail"]
        assert set(found(index, "bestellung verschickt")) == {"both", "words", "other", "mail"}


def test_special_words_are_folded_in_the_default_mode_only(tmp_path: Path) -> None:
    with open_index(tmp_path / "default") as index:
        push(index, "o", "Bestellung ABC123")
        assert found(index, "abc123") == ["o"]
    with open_index(tmp_path / "compat", server__compat="sonic") as index:
        push(index, "o", "Bestellung ABC123")
        assert (found(index, "abc123"), found(index, "ABC123")) == ([], ["o"])


def test_newest_orders_by_the_age_of_objects(tmp_path: Path) -> None:
    with open_index(tmp_path, search__ranking="newest") as index:
        push(index, "a", "anker")
        push(index, "b", "anker birne")
        push(index, "c", "birne anker")
        push(index, "a", "birne")
        assert found(index, "anker birne") == found(index, "birne anker") == ["c", "b", "a"]
        assert found(index, "anker birne eiche") == []
        index.pop(C, B, "b", "anker")
        push(index, "b", "anker")
        assert found(index, "anker") == ["c", "b", "a"], "what is put in again comes into its old place"
        index.flush_object(C, B, "b")
        push(index, "b", "anker")
        assert found(index, "anker") == ["b", "c", "a"], "a new object with an old name"


def test_all_words_stand_before_some(tmp_path: Path) -> None:
    """An object with all words comes first, however long it is, and however often another object holds a part of the
    query.
    """
    words = " ".join(f"wort{number}" for number in range(500))
    with open_index(tmp_path) as index:
        for number in range(50):
            push(index, f"birne{number}", "birne")
        push(index, "all", f"anker birne {words}")
        push(index, "part", "anker anker anker anker")
        assert found(index, "anker birne")[0] == "all"
        assert found(index, "anker birne unbekannt")[0] == "part", "none holds all, so the score decides"


def test_special_words_are_not_required_of_a_sentence(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "near", "Pumpe und Ventil verlieren im Winter Wasser")
        push(index, "told", "Pumpe P12 verliert Wasser")
        assert found(index, "pumpe p13") == ["told", "near"]
        push(index, "other", "P13")
        assert found(index, "pumpe p13") == ["other"]
        index.flush_object(C, B, "other")
        assert found(index, "pumpe p12") == ["told"]
        assert found(index, "Verlieren Pumpe und Ventil P13 im Winter Wasser?")[0] == "near"
        assert set(found(index, "Warum verliert Pumpe P12 im kalten Winter Wasser?")) == {"near", "told"}


def test_no_query_is_empty_because_of_its_stop_words(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.push(C, B, "band", "The Who", "none")
        assert index.query(C, B, "the who", lang="eng") == ["band"]
        assert index.query(C, B, "discography of the who", lang="eng") == ["band"]
        assert index.query(C, B, "discography of the who xyz123", lang="eng") == ["band"], "no object holds the number"
        index.push(C, B, "other", "discography", "none")
        assert index.query(C, B, "discography of the who", lang="eng") == ["other"]
