"""Explanations have the same hits, scores and totals as the query, sums that add up, and the right reasons."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy import Config, Index
from sonicpy.api.explanation import Explanation, Term
from sonicpy.errors import CommandError
from sonicpy.index.search.explain import PARTS_SHOWN, TERMS_SHOWN
from tests.index.shorthand import B, C, open_index, push
from tests.support.examples import examples

WORDS = [
    "anker", "ankerkette", "anke", "banker", "birne", "birnen", "dampf", "unbekannt", "der", "die", "x1", "a@b.de",
    "東京都", "京", "ﬁsch", "Fisch", "café", "cafe\u0301",
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)
buckets = count()
KINDS = ["bm25", "newest", "sonic", "compat"]


@pytest.fixture(scope="module", params=KINDS)
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    compat = request.param == "compat"
    given = {"server__compat": "sonic"} if compat else {"search__ranking": request.param}
    with open_index(tmp_path_factory.mktemp("explain"), search__query_alternates_try=4, **given) as opened:
        yield opened


@settings(deadline=None, max_examples=examples(120))
@given(
    st.lists(st.tuples(st.integers(0, 9), texts), max_size=15),
    texts,
    st.sampled_from([None, "deu", "none"]),
    st.integers(1, 12),
)
def test_hits_scores_and_total_are_those_of_the_query(
    index: Index, pushed: list[tuple[int, list[str]]], question: list[str], lang: str | None, limit: int
) -> None:
    bucket = f"b{next(buckets)}"
    with index.batch():
        for number, words in pushed:
            index.push(C, bucket, f"o{number}", " ".join(words), "deu")
    index.consolidate()
    text = " ".join(question)
    explained = index.explain(C, bucket, text, limit=limit, lang=lang)
    hits = index.query(C, bucket, text, limit=limit, lang=lang, total=True)
    assert [(hit.object, hit.score) for hit in explained.hits] == hits.pairs()
    assert explained.total == hits.total
    assert Explanation.from_json(explained.to_json()) == explained
    terms = {term.word: term for term in explained.terms}
    for hit in explained.hits:
        assert hit.parts, "something found it"
        if hit.score is not None:
            sum_of_parts = hit.base + sum(part.score or 0 for part in hit.parts) + (hit.more_score or 0)
            assert sum_of_parts == pytest.approx(hit.score, rel=1e-5)
        for part in hit.parts:
            term = terms[part.term]
            assert part.word in {term.word, *(other.word for other in term.alternates)}
            held = index.query_ids(C, bucket, part.word, limit=1000, lang="none")
            assert hit.object in held or index.config.server.compat == "sonic"


def term_of(explained: Explanation, word: str) -> Term:
    (found,) = [term for term in explained.terms if term.word == word]
    return found


def test_words_of_every_role(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=4) as index:
        push(index, "mail", "the weather report for max@example.org", "eng")
        push(index, "other", "the weathering of rocks", "eng")
        explained = index.explain(C, B, "the weather max@example.org wether", lang="eng")
    assert explained.language.code == "eng" and explained.language.how == "given"
    assert (term_of(explained, "the").role, term_of(explained, "the").why) == ("adds", "a stop word of the language")
    assert term_of(explained, "example.org").role == "required"
    weather = term_of(explained, "weather")
    assert (weather.role, weather.objects, weather.kept) == ("searched", 1, 1)
    assert [(other.word, other.how) for other in weather.alternates] == [("weathering", "form")]
    assert [(other.word, other.how, other.edits) for other in term_of(explained, "wether").alternates] == [
        ("weather", "correction", 1),
        ("weathering", "correction", 1),
    ]
    assert [hit.object for hit in explained.hits] == ["mail"]
    assert explained.hits[0].how == "exact"


@pytest.mark.parametrize(
    ("text", "lang", "code", "how"),
    [
        ("short", None, None, "short"),
        ("Der schnelle braune Fuchs springt über den faulen Hund und läuft davon", None, "deu", "letters"),
        ("Το γρήγορο καφέ αλεπού πηδά", None, "ell", "script"),
        ("1234567890 1234567890 1234567890", None, None, "unknown"),
        ("anything", "fra", "fra", "given"),
        ("anything", "none", None, "given"),
    ],
)
def test_the_language_and_why(tmp_path: Path, text: str, lang: str | None, code: str | None, how: str) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "word")
        language = index.explain(C, B, text, lang=lang).language
    assert (language.code, language.how) == (code, how)


def advice(index: Index, text: str, lang: str | None = "none", bucket: str = B) -> str:
    return "\n".join(index.explain(C, bucket, text, lang=lang).advice)


def test_advice(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=4, store__kv__retain_word_objects=3) as index:
        for number in range(5):
            push(index, f"o{number}", f"weather abc{number}")
        assert "names are compared letter by letter" in advice(index, "weather", bucket="Bucket")
        assert "holds no word" in advice(index, "...!")
        assert "No object holds 'qqq'" in advice(index, "qqq") and "fewer than four" in advice(index, "qqq")
        assert "few enough edits" in advice(index, "quelque")
        assert "No object holds 'abc9'; addresses, numbers" in advice(index, "weather abc9")
        assert "No object holds all required words" in advice(index, "abc2 abc3")
        assert "5 objects hold 'weather'; it finds only the newest 3 of them" in advice(index, "weather")
        assert advice(index, "abc4") == ""


def test_advice_where_stop_words_are_dropped(tmp_path: Path) -> None:
    with open_index(tmp_path, stopwords__mode="drop") as index:
        push(index, "o", "the weather in nantes", "eng")
        explained = index.explain(C, B, "the weather", lang="eng")
        assert [(term.word, term.role) for term in explained.terms] == [("weather", "searched"), ("the", "left out")]
        assert "Stop words of eng are left out of texts and queries (the)" in "\n".join(explained.advice)
        push(index, "o", "the one", "eng")
        assert "No object holds 'one'; it is a stop word, which PUSH drops" in advice(index, "the one", "eng")


def test_advice_before_a_consolidation(tmp_path: Path) -> None:
    with open_index(tmp_path, server__compat="sonic", search__query_alternates_try=4) as index:
        push(index, "o", "weather")
        assert "after the next one" in advice(index, "weath")
        index.consolidate()
        explained = index.explain(C, B, "weath", lang="none")
        assert [hit.object for hit in explained.hits] == ["o"] and not explained.unseen_words


def test_the_ranking_newest_says_that_nothing_is_scored(tmp_path: Path) -> None:
    with open_index(tmp_path, search__ranking="newest") as index:
        push(index, "o", "eins zwei")
        explained = index.explain(C, B, "eins zwei", lang="none")
    (hit,) = explained.hits
    assert (hit.score, hit.more_score, {part.score for part in hit.parts}) == (None, None, {None})
    assert {term.weight for term in explained.terms} == {None}
    assert "score" not in str(explained)


def test_a_long_query_is_told_in_part(tmp_path: Path) -> None:
    words = [f"wort{letter}{other}" for letter in "abcdefghijklmno" for other in "abcdefghij"]
    with open_index(tmp_path) as index:
        push(index, "o", " ".join(words))
        explained = index.explain(C, B, " ".join(words), lang="none")
        hits = index.query(C, B, " ".join(words), lang="none")
    assert (len(explained.terms), explained.more_terms) == (TERMS_SHOWN, len(words) - TERMS_SHOWN)
    (hit,) = explained.hits
    assert (len(hit.parts), hit.more) == (PARTS_SHOWN, len(words) - PARTS_SHOWN)
    assert hit.score == hits[0].score
    assert f"and {len(words) - TERMS_SHOWN} more words" in str(explained)
    assert f"{len(words) - PARTS_SHOWN} more words" in str(explained)


def test_how_it_looks(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=4) as index:
        index.push(C, B, "<o>", "weather & wind", "none")
        explained = index.explain(C, B, "weater", lang="none")
    shown = str(explained)
    assert "correction weather: 1 object" in shown and "by a correction" in shown and "1. <o>" in shown
    html = explained._repr_html_()
    assert "&lt;o&gt;" in html and "<table>" in html and "<o>" not in html
    line = explained.to_json()
    assert line.isascii() and "\n" not in line


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"terms":[]}', "null", '{"language":3}'])
def test_json_of_something_else(text: str) -> None:
    with pytest.raises(ValueError):
        Explanation.from_json(text)


def test_names_and_languages_are_checked(tmp_path: Path) -> None:
    with Index(tmp_path / "store", Config()) as index:
        with pytest.raises(CommandError, match="bucket is 'é'; allowed are"):
            index.explain(C, "é", "x")
        with pytest.raises(CommandError, match="lang is 'klingon'; allowed are"):
            index.explain(C, B, "x", lang="klingon")
