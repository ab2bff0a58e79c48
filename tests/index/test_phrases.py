"""Phrases by the order of words, compared with a reference implementation; and where the order is stored, changed and
transferred.
"""

import contextlib
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy._native.ordered_rows import with_order
from sonicpy._native.orders import pack_order
from sonicpy.index.index import Index
from sonicpy.index.maintenance.verify import verify_folder
from sonicpy.index.search import phrases as phrases_module
from sonicpy.search import QueryOptions
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.order_writer import OrderWriter
from sonicpy.store.disk.table_numbers import ORDERS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.store import Store
from tests.reference.phrases import Ordered
from tests.support.examples import examples

ORDERED: dict[str, object] = {"store.order": True}
WORDS = ["aa", "bb", "cc", "dd", "the", "ee"]
OBJECTS = ["o1", "o2", "o3"]

Change = tuple[str, str, list[str]]

texts = st.lists(st.sampled_from(WORDS), max_size=7)
changes: st.SearchStrategy[Change] = st.one_of(
    st.tuples(st.sampled_from(["push", "push", "upsert"]), st.sampled_from(OBJECTS), texts),
    st.tuples(st.just("pop"), st.sampled_from(OBJECTS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=2)),
    st.tuples(st.just("flush"), st.sampled_from(OBJECTS), st.just([])),
)
phrases = st.lists(st.sampled_from(WORDS), min_size=2, max_size=4)


def found(index: Index, phrase: str, **options: object) -> list[str]:
    return sorted(index.query("c", "b", "", phrase=phrase, stem=False, lang="none", **options))  # type: ignore[arg-type]


def opened(folder: Path, config: dict[str, object] = ORDERED) -> Index:
    return sonicpy.open(folder, config=config)


@settings(max_examples=examples(12))
@given(st.lists(changes, max_size=12), st.lists(phrases, min_size=1, max_size=4), st.booleans())
def test_phrases_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[str, str, list[str]]],
    asked: list[list[str]],
    again: bool,
) -> None:
    twin, held = Ordered(), dict[str, set[str]]()
    folder = tmp_path_factory.mktemp("phrases")
    with opened(folder) as index:
        index.push("c", "b", "always", "aa bb cc", lang="none")
        twin.push("always", ["aa", "bb", "cc"])
        for verb, oid, words in made:
            text, there = " ".join(words), held.setdefault(oid, set())
            if verb == "flush":
                index.flush("c", "b", oid)
                twin.flush(oid)
                there.clear()
            elif verb == "pop":
                index.pop("c", "b", oid, text)
                twin.pop(oid, words)
                if there and there <= set(words):
                    twin.flush(oid)
                there.difference_update(words)
            elif verb == "push":
                index.push("c", "b", oid, text, lang="none")
                twin.push(oid, words)
                there.update(words)
            else:
                index.upsert("c", "b", oid, text, lang="none")
                twin.upsert(oid, words)
                held[oid] = set(words)
        check(index, twin, asked)
    if again:
        assert verify_folder(folder) == []
        with opened(folder, {}) as index:
            check(index, twin, asked)


def check(index: Index, twin: Ordered, asked: list[list[str]]) -> None:
    for phrase in asked:
        wanted = sorted(twin.holders(phrase))
        assert found(index, " ".join(phrase)) == wanted
        quoted = index.query("c", "b", f'"{" ".join(phrase)}"', syntax="web", stem=False, total=True, lang="none")
        assert (sorted(quoted), quoted.total) == (wanted, len(wanted))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return opened(tmp_path / "store")


@pytest.mark.parametrize(
    ("text", "phrase", "other"),
    [
        ("the new york times", "new york", "york new"),
        ("to be or not to be", "or not to", "be to"),
        ("今日は東京都に行く", "京都に", "都京"),
        ("see os.path.join in python", "os.path.join in", "python os.path.join"),
        ("cities of light", "city of light", "of cities"),
        ("parseHttpHeader fails", "parseHttpHeader fails", "fails parseHttpHeader"),
        ("C++ code on .net core", "c++ code", "code c++"),
        ("os.path.join 東京", "path 東京", "path join"),
        ("parseHttpHeader fails in os.paths", "http fails in paths", "header parse"),
        ("the.end comes", "the comes", "the end"),
    ],
)
def test_words_have_their_places(index: Index, text: str, phrase: str, other: str) -> None:
    index.push("c", "b", "one", text)
    assert index.query("c", "b", "", phrase=phrase).objects == ["one"]
    assert index.query("c", "b", "", phrase=other).objects == []
    assert index.query("c", "b", f'"{phrase}"', syntax="web").objects == ["one"]


def test_a_phrase_does_not_cross_pieces(index: Index) -> None:
    index.push("c", "b", "one", "aa bb")
    index.push("c", "b", "one", "cc dd")
    assert found(index, "aa bb") == found(index, "cc dd") == ["one"]
    assert found(index, "bb cc") == []


def test_a_phrase_does_not_cross_named_texts(index: Index) -> None:
    texts = {"title": "aa bb", "": "cc dd", "body": "ee ff", "again": "aa bb"}
    index.upsert("c", "b", "one", texts)
    index.push_many([{"object": "many", "text": texts}], collection="c", bucket="b", upsert=True)
    for phrase in ("aa bb", "cc dd", "ee ff"):
        assert found(index, phrase) == ["many", "one"]
    for phrase in ("bb cc", "dd ee", "ff aa"):
        assert found(index, phrase) == []
    assert [row.fields["order"] for row in index.holdings("c", "b")] == [[["aa", "bb"], ["cc", "dd"], ["ee", "ff"]]] * 2
    index.upsert("c", "b", "one", "aa bb cc")
    assert found(index, "bb cc") == ["one"]


def test_a_piece_is_kept_once(index: Index) -> None:
    for _ in range(3):
        index.push("c", "b", "one", "aa bb aa")
    (holding,) = index.holdings("c", "b")
    assert holding.fields["order"] == [["aa", "bb", "aa"]]


@pytest.mark.parametrize("buckets", [["b"], ["a", "b"]])
def test_best_first_is_the_page_of_all(index: Index, monkeypatch: pytest.MonkeyPatch, buckets: list[str]) -> None:
    for number in range(120):
        text = ["bb aa", "aa cc bb", "bb aa bb"][number % 3] + " dd" * (number % 7)
        index.push("c", buckets[number % len(buckets)], f"o{number}", text, lang="none", tags=[f"t{number % 2}"])
    more: list[QueryOptions] = [{}, {"filter": "t1"}, {"offset": 30}, {"offset": 36}]
    for looked_at in ((1, 1), (3, 20), (500, 500)):
        monkeypatch.setattr(phrases_module, "LOOKED_AT_FIRST", looked_at)
        for text, options in product(("", "dd"), more):
            whole, page = (
                index.query("c", buckets, text, phrase="aa bb", lang="none", limit=7, total=total, **options)
                for total in (True, False)
            )
            assert (page.objects, page.scores) == (whole.objects, whole.scores)
            assert page.objects or options.get("offset")


@pytest.mark.parametrize("text", ["aa OR bb", "bb OR aa", "bb OR ee aa OR dd", "+bb aa OR ee"])
def test_words_of_alternatives_keep_their_places_in_a_phrase(index: Index, text: str) -> None:
    for number, words in enumerate(["aa bb cc", "bb cc aa", "aa cc bb", "dd ee aa bb", "ee bb aa"]):
        index.push("c", "b", f"o{number}", words, lang="none")
    for asked in (f'"aa bb" {text}', f'{text} "aa bb"'):
        assert set(index.query("c", "b", asked, syntax="web", lang="none", complete=False)) == {"o0", "o3"}


def test_a_phrase_goes_with_everything(index: Index) -> None:
    for number in range(40):
        text = "red ink here" if number % 2 else "ink red here"
        index.push("c", "b", f"o{number}", text, tags=["odd" if number % 3 else "third"], values={"n": number})
    third = [f"o{number}" for number in range(39, -1, -1) if number % 2 and number % 3 == 0]
    assert index.query("c", "b", "", phrase="red ink", filter="third", total=True).total == len(third)
    ordered = index.query("c", "b", "here", phrase="red ink", filter="third", sort="-n", limit=40)
    assert ordered.objects == third
    assert index.query("c", "b", "", phrase="red ink", sort="newest", limit=2).objects == ["o39", "o37"]
    assert index.query("c", ["b"], "", phrase="red ink", limit=3).total is None
    assert set(index.query("c", "b", "ink", phrase="red ink", boost="n", limit=50)) == {
        f"o{n}" for n in range(1, 40, 2)
    }


@pytest.mark.parametrize("options", [{}, {"sort": "newest"}, {"facets": ["*"]}, {"group": "n", "total": True}])
def test_every_one_of_several_buckets_has_to_keep_the_order(tmp_path: Path, options: Any) -> None:
    with opened(tmp_path, {}) as index:
        index.push("c", "d", "old", "nothing of the kind")
    with opened(tmp_path) as index:
        index.push("c", "a", "one", "a new hotel")
        assert index.query("c", ["a", "none"], "hotel", phrase="new hotel", **options).objects == ["one"]
        with pytest.raises(sonicpy.InvalidArgument, match="does not keep the order"):
            index.query("c", ["a", "d"], "hotel", phrase="new hotel", **options)


texts_of_several = st.lists(st.tuples(st.sampled_from(["b", "d"]), st.sampled_from(OBJECTS), texts), max_size=10)


@settings(max_examples=examples(10))
@given(texts_of_several, phrases)
def test_several_buckets_and_facets_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str, list[str]]], phrase: list[str]
) -> None:
    twins = {"b": Ordered(), "d": Ordered()}
    asked, tags = (
        " ".join(phrase),
        {name: [f"by {name}", "odd" if name in OBJECTS[::2] else "even"] for name in OBJECTS},
    )
    with opened(tmp_path_factory.mktemp("phrases")) as index:
        for bucket, twin in twins.items():
            index.push("c", bucket, "always", "aa bb cc")
            twin.push("always", ["aa", "bb", "cc"])
        for bucket, oid, words in made:
            index.push("c", bucket, oid, " ".join(words), lang="none", tags=tags[oid], values={"n": len(oid)})
            twins[bucket].push(oid, words)
        holders = {bucket: twin.holders(phrase) for bucket, twin in twins.items()}
        both = [(bucket, oid) for bucket, found in holders.items() for oid in found]
        hits = index.query("c", ["b", "d"], "", phrase=asked, stem=False, lang="none", total=True, facets=["*"])
        assert sorted((hit.bucket, hit.object) for hit in hits) == sorted(both)
        assert hits.total == len(both)
        newest = index.query("c", ["b", "d"], "", phrase=asked, stem=False, lang="none", sort="n")
        assert sorted((hit.bucket, hit.object) for hit in newest) == sorted(both)
        counts = Counter(tag for _, oid in both for tag in tags.get(oid, []))
        for facets in (
            hits.facets,
            index.facets("c", ["b", "d"], "", of="*", phrase=asked, stem=False, lang="none"),
            index.facets("c", ["b", "d"], f'"{asked}"', of="*", syntax="web", stem=False, lang="none"),
        ):
            assert facets is not None
            assert (facets.total, facets.tags[""]) == (len(both), counts)
        for bucket, found in holders.items():
            one = index.facets("c", bucket, "", of="odd*", ranges="n: 1", phrase=asked, stem=False, lang="none")
            odd = sum("odd" in tags.get(oid, []) for oid in found)
            assert (one.total, one.tags["odd"].get("odd", 0)) == (len(found), odd)
        with contextlib.suppress(IndexError):
            first = index.explain("c", ["b", "d"], f'"{asked}"', syntax="web", stem=False, lang="none").hits[0]
            assert (first.bucket, first.object) in both


def test_notes_say_how_quotes_beside_or_are_read(index: Index) -> None:
    index.push("c", "b", "one", "york new")
    assert index.query("c", "b", '"new york" OR berlin', syntax="web").objects == ["one"]
    (note,) = index.explain("c", "b", '"new york" OR berlin', syntax="web").notes
    assert note == "quotes beside OR mean all of these words, in any order"
    assert index.explain("c", "b", '"york new"', syntax="web").notes == ()


def test_without_the_order_quotes_are_words_and_a_phrase_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, {}) as index:
        index.push("c", "b", "one", "york new")
        assert index.query("c", "b", '"new york"', syntax="web").objects == ["one"]
        assert "store.order" in index.explain("c", "b", '"new york"', syntax="web").notes[0]
        with pytest.raises(sonicpy.InvalidArgument, match="the bucket does not keep the order of words"):
            index.query("c", "b", "", phrase="new york")
        assert not [row for row in index.holdings("c", "b") if "order" in row.fields]
        with index._engine.read() as view:
            assert "order" not in view.uses()
    with opened(tmp_path) as index:
        index.push("c", "b", "two", "new york")
        assert found(index, "new york") == ["two"]
        (note,) = index.explain("c", "b", '"new york"', syntax="web").notes
        assert note == "1 objects have no order of words: no phrase finds them"
        assert index.stats("c", "b")["unordered"] == 1
        index.push("c", "b", "one", "york new york")
        assert found(index, "new york") == ["one", "two"]
        assert index.explain("c", "b", "", phrase="new york").notes == ()


@pytest.mark.parametrize(
    ("setting", "kept"), [(True, "aabb"), (["x"], "bb"), ("x b", "b"), ("true", "aabb"), ("", ""), (False, "")]
)
def test_the_setting_names_collections_and_buckets(tmp_path: Path, setting: object, kept: str) -> None:
    with opened(tmp_path, {"store.order": setting}) as index:
        for collection, bucket in ((c, b) for c in "xy" for b in "ab"):
            index.push(collection, bucket, "one", "aa bb")
        count = sum("order" in row.fields for c in "xy" for b in "ab" for row in index.holdings(c, b))
        assert count == len(kept)


def test_other_settings_keep_orders_right(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        index.push("c", "b", "one", "cc dd")
    with opened(tmp_path, {}) as index:
        index.push("c", "b", "one", "aa bb zz")  # terms with other numbers: the order stays that of its words
        index.push("c", "b", "two", "cc dd")
        assert found(index, "cc dd") == ["one"]
        index.upsert("c", "b", "one", "cc dd")
        assert found(index, "cc dd") == []
        assert not index.verify()


def test_above_the_bound_no_order_is_kept_and_the_log_says_so(
    index: Index, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OrderWriter, "has_warned", False)
    index.push("c", "b", "long", "aa bb " * 33_000)
    assert ["an object has 66000 words" in line for line in caplog.messages] == [True]
    index.push("c", "b", "fits", "aa bb " * 32_000)
    assert found(index, "bb aa") == ["fits"]
    index.push("c", "b", "fits", "bb " * 2_000)
    assert found(index, "bb aa") == []
    assert index.stats("c", "b")["unordered"] == 2
    assert len(caplog.messages) == 1
    assert not index.verify()


def test_exports_and_backups_carry_orders(tmp_path: Path, index: Index) -> None:
    index.push("c", "b", "one", "aa bb cc")
    index.push("c", "b", "one", "cc aa dd")
    index.pop("c", "b", "one", "bb")
    index.push("c", "b", "two", "")
    rows = [*index.holdings("c", "b")]
    assert rows[0].fields["order"] == [["aa", None, "cc"], ["cc", "aa", "dd"]]
    with opened(tmp_path / "copy", {}) as copy:
        for row in rows:
            copy.push_terms("c", "b", row.object, row.terms, row.hidden, fields=row.fields)
        assert found(copy, "cc aa") == ["one"]
        assert found(copy, "aa cc") == []
        assert not copy.verify()
        with pytest.raises(sonicpy.InvalidArgument, match="order is"):
            copy.push_terms("c", "b", "three", {"aa": 1}, fields={"order": [["bb"]]})


def test_push_many_keeps_orders(index: Index) -> None:
    rows = [{"object": f"o{number}", "text": "aa bb" if number % 2 else "bb aa"} for number in range(100)]
    index.push_many(rows, collection="c", bucket="b")
    assert len(found(index, "aa bb", limit=100)) == 50
    index.push_many([{"object": "o1", "text": "bb aa"}], collection="c", bucket="b", upsert=True)
    assert len(found(index, "aa bb", limit=100)) == 49


def test_damage_is_named(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        for number in range(70):
            index.push("c", "b", f"o{number}", "aa bb cc")
    with contextlib.closing(Store(tmp_path, index._engine.analyzer(), map_bytes=1 << 30)) as store:
        view = store._writing()
        (key, row), (second, _) = view.transaction.rows(ORDERS, b"")
        changes: list[tuple[bytes, bytes | None, str]] = [
            (key, row[:-1], "cannot be read"),
            (key, with_order(row, 3, None), "orders has those of 69 objects, and the bucket counts 70"),
            (key, with_order(row, 3, pack_order([[7]], 8)), "the object 3"),
            (second, None, "orders has those of 64 objects"),
            (second[:-1] + b"\7", row, "does not exist"),
        ]
        for changed, value, said in changes:
            before = view.transaction.get(ORDERS, changed)
            put(view.transaction, changed, value)
            assert any(said in fault for fault in table_faults(view.transaction)), said
            put(view.transaction, changed, before)
        assert [*table_faults(view.transaction)] == []


def put(transaction: Transaction, key: bytes, row: bytes | None) -> None:
    if row is None:
        transaction.delete(ORDERS, key)
    else:
        transaction.put(ORDERS, key, row)


def test_phrases_in_fields_hold_the_forms_of_words(tmp_path: Path) -> None:
    with opened(tmp_path / "i") as index:
        index.upsert("c", "b", "one", {"title": "the new hotel", "body": "in york"}, "eng")
        index.upsert("c", "b", "two", {"title": "the hotel is new", "body": "in york"}, "eng")
        for fields in (None, "title", "title,body", "title^3"):
            found = index.query("c", "b", "hotel", phrase="new hotels", fields=fields, lang="eng")
            assert list(found) == ["one"], fields
        for text in ('"new hotels"', 'title:"new hotels"', 'york title:"new hotels"'):
            assert list(index.query("c", "b", text, syntax="web", lang="eng")) == ["one"], text
        assert list(index.query("c", "b", '"new hotels"', syntax="web", fields="title", lang="eng")) == ["one"]


@pytest.mark.parametrize(("phrase", "expected"), [("call foo.bar", ["1"]), ("call foo bar", ["4"])])
def test_a_part_of_a_joined_word_does_not_take_its_place(tmp_path: Path, phrase: str, expected: list[str]) -> None:
    with opened(tmp_path / "i") as index:
        for name, text in (("1", "call foo.bar now"), ("2", "call bar and later foo"), ("3", "a foo, then call bar")):
            index.push("c", "b", name, text)
        index.push("c", "b", "4", "call foo bar")
        assert sorted(index.query("c", "b", "", phrase=phrase)) == expected
        assert sorted(index.query("c", "b", f'"{phrase}"', syntax="web")) == expected
