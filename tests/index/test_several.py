"""Several buckets give the same answers as one bucket with all of their objects."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy.api.explanation import Term
from sonicpy.bucket_names import in_bucket, read_buckets, split_bucket
from sonicpy.errors import InvalidArgument
from sonicpy.index.search import several
from tests.index.shorthand import open_index
from tests.index.test_spread import corpus, queries
from tests.support.examples import examples

C, ALL = "c", "whole"
BUCKETS = ("red", "forum:1", "forum:2", "b,(*")
NAMED = ["red", "forum:*", '"b,(*"', "none"]
"""The buckets in a list; the last one does not exist."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path_factory.mktemp("several") / "index") as opened:
        fill(opened)
        opened.consolidate()
        for bucket in (ALL, BUCKETS[1]):
            opened.push(C, bucket, "late", "an orange engine and a lighthouse", "eng")  # its words are pending
        yield opened


def fill(index: sonicpy.Index) -> None:
    chance = random.Random(3)
    for oid, text in corpus(1):
        for bucket in (ALL, chance.choice(BUCKETS)):
            index.push(C, bucket, oid, text, "eng")


def compare(index: sonicpy.Index, text: str, limit: int, offset: int, lang: str | None) -> None:
    one = index.query(C, ALL, text, limit=limit, offset=offset, total=True, lang=lang)
    several = index.query(C, NAMED, text, limit=limit, offset=offset, total=True, lang=lang)
    assert (several.scores, several.total, several.whole) == (one.scores, one.total, one.whole), text
    whole = {*index.query(C, ALL, text, limit=10_000, lang=lang)}
    assert whole >= {*several}, text
    if one.scores:
        sure = {name for name, score in one.pairs() if score not in (one.scores[0], one.scores[-1])}
        assert sure <= {*several}, text
    for hit in several:
        assert index.exists(C, hit.bucket or "", hit.object)


@pytest.mark.full
def test_queries(index: sonicpy.Index) -> None:
    chance = random.Random(7)
    for text in (*queries(9, 250), "", "!", "a", "the of", "runing engin", "zzzzz", "user@example.org", "indexing q"):
        compare(index, text, chance.choice((1, 3, 10, 100)), chance.choice((0, 0, 2, 9)), chance.choice(("eng", None)))


@settings(max_examples=examples(25))
@given(st.lists(st.text("aehlnrstuwi ", min_size=1, max_size=7), max_size=4).map(" ".join), st.integers(1, 12))
def test_any_letters(index: sonicpy.Index, text: str, limit: int) -> None:
    compare(index, text, limit, 0, "eng")


@pytest.mark.full
def test_a_later_bucket_leaves_out_what_cannot_be_among_the_best(tmp_path: Path) -> None:
    """For common words of many objects, the walk in later buckets begins with the score of the best objects in the
    earlier ones.
    """
    chance = random.Random(5)
    words = [f"{first}{second}zx" for first in "abcdef" for second in "klmn"]
    with sonicpy.open(tmp_path / "index") as index:
        rows = [
            (
                C,
                chance.choice(BUCKETS),
                f"o{number}",
                " ".join(chance.choices(words, k=chance.choice((1, 3, 9)))),
                "none",
            )
            for number in range(12_000)
        ]
        index.push_many(rows)
        index.push_many((C, ALL, *rest) for _, _, *rest in rows)
        for _ in range(40):
            text = " ".join(chance.sample(words, k=chance.choice((1, 2, 3, 5))))
            compare(index, text, chance.choice((1, 10, 50)), 0, "none")


def test_words(index: sonicpy.Index) -> None:
    for word in ("a", "ap", "lig", "nihgt", "runing", "serch", "w", "zzzzzz", "cafe", "t", "running wa", "house a"):
        for limit in (1, 5, 20):
            assert index.suggest(C, NAMED, word, limit=limit) == index.suggest(C, ALL, word, limit=limit), word
    assert index.words(C, NAMED, limit=500) == index.words(C, ALL, limit=500)
    assert index.words(C, NAMED, limit=5, offset=3, prefix="w", after="wa") == index.words(
        C, ALL, limit=5, offset=3, prefix="w", after="wa"
    )
    assert index.count(C, NAMED) == index.count(C, ALL)
    assert index.count(C, NAMED, of="objects") == index.count(C, ALL, of="objects")


def in_order(term: Term) -> Term:
    """Return a term whose alternates with equal weights are in alphabetical order."""
    alternates = sorted(term.alternates, key=lambda each: (-(each.weight or 0), each.word))
    return replace(term, alternates=tuple(alternates))


def test_explanations(index: sonicpy.Index) -> None:
    for text in ("night lights", "runing houses", "the engine a", "zzzz"):
        one, several = index.explain(C, ALL, text, limit=5), index.explain(C, NAMED, text, limit=5)
        assert [in_order(term) for term in several.terms] == [in_order(term) for term in one.terms]
        assert (several.total, several.whole, several.objects) == (one.total, one.whole, one.objects)
        assert [(hit.score, hit.how, hit.base) for hit in several.hits] == [
            (hit.score, hit.how, hit.base) for hit in one.hits
        ]
        assert several.buckets == BUCKETS
        for hit in several.hits:
            assert hit.score == pytest.approx(
                hit.base + sum(part.score or 0 for part in hit.parts) + (hit.more_score or 0)
            )
            assert index.exists(C, hit.bucket or "", hit.object)
        assert sonicpy.Explanation.from_json(several.to_json()) == several
        assert sonicpy.Explanation.from_json(one.to_json()) == one
        assert '"buckets"' not in one.to_json() and '"bucket":null' not in one.to_json()


def test_the_order_of_equal_scores_and_the_names_of_hits() -> None:
    with sonicpy.open(":memory:") as index:
        for bucket in ("x", "y"):
            for number in range(3):
                index.push(C, bucket, f"{bucket}{number}", "same words")
        hits = index.query(C, ["y", "x", "y"], "same", limit=5)
        assert hits == ["y2", "y1", "y0", "x2", "x1"]
        assert hits.buckets == ["y", "y", "y", "x", "x"]
        assert [hit.bucket for hit in reversed(hits)] == ["x", "x", "y", "y", "y"]
        assert hits[3].to_dict() == {"bucket": "x", "object": "x2", "score": hits[3].score}
        assert hits.to_dicts()[0]["bucket"] == hits[:2].to_dicts()[1]["bucket"] == "y"
        assert index.query(C, ["y"], "same")[0].bucket == "y"
        assert index.query(C, "y", "same")[0].bucket is None
        assert index.query(C, ["none*"], "same", total=True).total == 0
        assert index.query_ids(C, ["x", "y"], "same", limit=1) == ["x2"]


def test_a_change_of_any_bucket_changes_the_answer() -> None:
    """The cache keeps an answer over several buckets, named as the server names them, until one of them changes."""
    with sonicpy.open(":memory:") as index:
        index.push(C, "x", "o", "same")
        search = sonicpy.search.asked("QUERY", C, ["x", "y*"], "same", {})
        assert index.find_ids(search) == index.find_ids(search) == ["x/o"]
        index.push(C, "other", "o", "same")
        assert index.find_ids(search) == ["x/o"]
        index.push(C, "y/1", "new", "same")
        assert index.find_ids(search) == ["x/o", "y%2F1/new"]
        assert index.suggest(C, ["x", "y*"], "sa") == ["same"]
        index.push(C, "y/1", "new", "sax sax")
        assert index.suggest(C, ["x", "y*"], "sa") == ["same", "sax"]


def test_synonyms_change_the_kept_answer(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.push(C, "x", "old", "television")
        index.push(C, "y", "new", "tv")
        searches = [sonicpy.search.asked("QUERY", C, buckets, "tv", {}) for buckets in (["x", "y"], ["y", "x"])]
        for rules, expected in (([], ["y/new"]), (["tv => television"], ["x/old", "y/new"]), ([], ["y/new"])):
            index.set_synonyms(C, rules)
            assert [sorted(index.find_ids(search)) for search in searches] == [expected] * 2


def test_threads_share_the_rows_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread whose rows another one throws away in between goes on with its own."""
    with sonicpy.open(":memory:") as index:
        for number in range(4):
            index.push(C, f"b{number % 2}", f"o{number}", f"word{number} same")
        with index._reading(C, "b0", ("b1",)) as lexicon:
            assert isinstance(lexicon, several.UnitedLexicon)
            monkeypatch.setattr(several, "CACHED_MAX", 2)
            looked_up, words_of_all = list[bytes](), several.words_of_all

            def interrupted(readers: Any, words: list[bytes], **options: Any) -> Any:
                if not looked_up:  # as if another thread ran in between
                    looked_up.extend(words)
                    lexicon.rows([b"word0", b"word1", b"word2"])
                return words_of_all(readers, words, **options)

            lexicon.rows([b"word3"])
            monkeypatch.setattr(several, "words_of_all", interrupted)
            assert [row and row.df for row in lexicon.rows([b"word3", b"same"])] == [1, 4]
            assert looked_up == [b"same"]
            looked_up.clear()
            lexicon.rows([b"word3"])
            looked_up.clear()
            assert lexicon.holders([b"word3", b"same"]) == [0, 1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "bucket is empty"),
        ([""], "bucket has the element ''"),
        (["a,b"], "bucket has the element 'a,b'"),
        (["a*b"], "bucket has the element 'a\\*b'"),
        (["a b"], "bucket has the element 'a b'"),
        ([1], "bucket has the element 1"),
        (['"'], "bucket has the element"),
    ],
)
def test_wrong_elements(given: list[str], says: str) -> None:
    with sonicpy.open(":memory:") as index, pytest.raises(InvalidArgument, match=says):
        index.query(C, given, "x")


def test_what_is_refused() -> None:
    settings = {"search": {"buckets_maximum": 2}}
    with sonicpy.open(":memory:", settings) as index:
        for bucket in ("x", "y", "z"):
            index.push(C, bucket, "o", "same")
        assert len(index.query(C, ["x", "y"], "same")) == 2
        for named in (["*"], ["x", "y", "z"]):
            with pytest.raises(InvalidArgument, match=r"at most 2 \(search.buckets_maximum\)"):
                index.query(C, named, "same")
        with pytest.raises(InvalidArgument, match="one bucket"):
            index.count(C, ["x", "y"], "o")
    with sonicpy.open(":memory:", {"search": {"ranking": "newest"}}) as index:
        index.push(C, "x", "o", "same")
        with pytest.raises(InvalidArgument, match="search.ranking is newest"):
            index.query(C, ["x"], "same")
    with sonicpy.open(":memory:", {"server": {"compat": "sonic"}}) as index:
        with pytest.raises(InvalidArgument, match="server.compat is sonic"):
            index.query(C, ["x"], "same")
        with pytest.raises(InvalidArgument, match="server.compat is sonic"):
            index.suggest(C, ["x"], "same")


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=9)


@given(NAMES, NAMES)
def test_names_survive_a_line(bucket: str, object: str) -> None:
    assert split_bucket(in_bucket(bucket, object)) == (bucket, object)
    quoted = sonicpy.bucket_names.quoted_bucket(bucket)
    assert read_buckets(f"{quoted},a*,{quoted}") == (quoted, "a*", quoted)
    assert sonicpy.bucket_names.name_of(quoted) == (bucket, False)


def test_a_small_bucket_beside_a_large_one_of_no_known_language_has_no_language_of_its_own() -> None:
    czech = [
        "Dobrý den, jak se máte? Děkuji, mám se dobře a jdu do města s kamarádem.",
        "Praha je hlavní město České republiky, kde žije mnoho lidí.",
        "Včera večer jsme byli v divadle a potom jsme šli domů pěšky.",
        "zámky a hrady v Čechách jsou velmi staré a krásné",
        "nádraží bylo plné lidí, kteří čekali na vlak",
    ]
    pick = random.Random(1)
    other = [" ".join("".join(pick.choices("bdgklmnorstu", k=6)) for _ in range(8)) for _ in range(400)]
    with sonicpy.open(":memory:") as index:
        for number, text in enumerate([*czech, *other]):
            for bucket in ("small" if number < len(czech) else "large", "all"):
                index.push("c", bucket, str(number), text, "none")
        assert index.query("c", "small", "hradem", match="all", complete=False).objects == ["3"]
        for word in ("hradem", "městem", "divadlo", "kamarád"):
            for lang in (None, "eng", "ces"):
                options: Any = {"lang": lang, "match": "all", "fuzzy": 0, "complete": False, "total": True}
                together, one = (
                    index.query("c", ["small", "large"], word, **options),
                    index.query("c", "all", word, **options),
                )
                assert (together.objects, together.scores, together.total) == (one.objects, one.scores, one.total)
