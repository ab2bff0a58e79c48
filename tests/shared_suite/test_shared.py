"""One index, in this process or behind a server: the same calls have the same outcome in every place.

The words of the texts are not stop words of any language. If the outcome would depend on the guessed language, the
calls give LANG(none).
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sonicpy.errors import CommandError, InvalidArgument, NotOffered, SonicError
from tests.shared_suite.places import NAMES, Place, opened

WORDS = "zebra kiwi mango quokka fjord lynx gnu vortex jumbo pixel".split()
AWKWARD = [
    'zebra "quoted" text',
    'zebra ends in a quote"',
    "zebra ends in a backslash\\",
    'C:\\new\\zebra \\n \\\\ \\"',
    "two\nlines\r\nof zebra\rtext",
    "\t zebra \u00a0 blanks \u2028 everywhere \u3000",
    "zebra \x00 \x1c \x7f control",
    "LANG(eng) zebra LIMIT(1)",
    '"" "zebra" ""',
    "zebra 🎉 👩\u200d👩\u200d👧 é e\u0301 שלום привет 你好 สวัสดี 안녕",
    "'zebra'; DROP TABLE objects; --",
    "zebra (with) [brackets] {of} <all> kinds",
]


FULL = ("compat, asyncio", "cluster, blocking", "cluster, asyncio")
PARAMETERS = [pytest.param(name, marks=[pytest.mark.full] if name in FULL else []) for name in NAMES]


@pytest.fixture(scope="module", params=PARAMETERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(request.param, tmp_path_factory.mktemp("place")) as somewhere:
        yield somewhere


@pytest.fixture
def collection(request: pytest.FixtureRequest) -> str:
    """The name of a collection for only this test."""
    return str(request.node.originalname)


def test_pushed_texts_are_found(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", "o:1", "zebra kiwi", lang="none")
    index.push(collection, "b", "o:2", "kiwi mango", lang="none")
    index.push(collection, "other", "o:3", "kiwi", lang="none")
    hits = index.query(collection, "b", "kiwi", lang="none")
    assert sorted(hits) == ["o:1", "o:2"]
    assert hits.objects == list(hits)
    assert {hits[0].object, hits[1].object} == {"o:1", "o:2"}
    assert index.query(collection, "b", "zebra") == ["o:1"]
    assert index.query(collection, "b", "quokka") == []
    assert index.query(collection, "unknown", "kiwi") == []
    assert index.query(f"{collection}-unknown", "b", "kiwi") == []


def test_hits_have_scores_where_objects_are_ranked_by_them(place: Place, collection: str) -> None:
    index = place.index
    for number in range(3):
        index.push(collection, "b", f"o:{number}", "zebra " + "kiwi " * number, lang="none")
    scores = [hit.score for hit in index.query(collection, "b", "zebra")]
    if place.is_default:
        assert all(isinstance(score, float) for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]
    elif place.is_wire:
        assert scores == [None] * 3


def test_the_total_is_returned_or_not_offered(place: Place, collection: str) -> None:
    index = place.index
    for number in range(5):
        index.push(collection, "b", f"o:{number}", "zebra")
    if place.is_default:
        whole = index.query(collection, "b", "zebra")
        for limit, offset in ((2, 0), (2, 4), (0, 0), (9, 9)):
            hits = index.query(collection, "b", "zebra", limit=limit, offset=offset, total=True)
            assert (hits.total, hits) == (5, whole[offset : offset + limit])
            assert hits.scores == whole[offset : offset + limit].scores
        assert index.query(collection, "b", "...", total=True).total == 0
    else:
        with pytest.raises(NotOffered):
            index.query(collection, "b", "zebra", limit=2, total=True)
    assert index.query(collection, "b", "zebra", limit=2).total is None


def test_awkward_texts_are_found_by_their_words_and_popped_as_a_whole(place: Place, collection: str) -> None:
    index = place.index
    for number, text in enumerate(AWKWARD):
        bucket = f"b{number}"
        index.push(collection, bucket, "o", text, lang="none")
        assert index.query(collection, bucket, "zebra", lang="none") == ["o"], text
        assert index.query(collection, bucket, text, lang="none") == ["o"], text
        held = index.count_object_words(collection, bucket, "o")
        assert held >= 1, text
        assert index.pop(collection, bucket, "o", text) == held, text
        assert index.count_object_words(collection, bucket, "o") == 0, text
        assert index.query(collection, bucket, "zebra", lang="none") == [], text


def test_texts_longer_than_a_line(place: Place, collection: str) -> None:
    index = place.index
    middle = [f"word{number}" for number in range(15_000)]
    text = " ".join(["zebra", *middle, 'élan"\\', "quokka"])
    assert len(text.encode()) > 100_000
    index.push(collection, "b", "long", text, lang="none")
    for word in ("zebra", "word0", "word7777", "word14999", "élan", "quokka"):
        assert index.query(collection, "b", word, lang="none", limit=1) == ["long"], word
    held = index.count_object_words(collection, "b", "long")
    assert held == len(middle) + 3
    assert index.pop(collection, "b", "long", text) == held


def test_long_texts_of_any_unicode(place: Place, collection: str) -> None:
    index = place.index
    chance = random.Random(7)
    kinds = [(0x20, 0x7F), (0xA0, 0x530), (0x5D0, 0x5EB), (0x620, 0x6FF), (0x3040, 0x30FF), (0x4E00, 0x4F00),
             (0xAC00, 0xAD00), (0x1F300, 0x1F600), (0x300, 0x36F), (0x2000, 0x2070)]  # fmt: skip
    text = "".join(chr(chance.randrange(*chance.choice(kinds))) for _ in range(40_000))
    assert len(text.encode()) > 100_000
    index.push(collection, "b", "o", f"zebra {text} quokka", lang="none")
    assert index.query(collection, "b", "zebra", lang="none") == ["o"]
    assert index.query(collection, "b", "quokka", lang="none") == ["o"]
    assert index.count_object_words(collection, "b", "o") > 1000


def test_the_same_text_again_changes_nothing(place: Place, collection: str) -> None:
    index = place.index
    for _ in range(3):
        index.push(collection, "b", "o", "zebra kiwi mango", lang="none")
    assert index.count_object_words(collection, "b", "o") == 3
    assert index.pop(collection, "b", "o", "kiwi quokka") == 1
    assert index.pop(collection, "b", "o", "kiwi") == 0
    assert index.count(collection, "b", "o") == 2


def test_texts_without_words(place: Place, collection: str) -> None:
    index = place.index
    for text in ("", " ", "\n", "...", "\t \u3000"):
        index.push(collection, "b", "o", text)
        assert index.query(collection, "b", text) == []
        assert index.pop(collection, "b", "o", text) == 0


def test_counts(place: Place, collection: str) -> None:
    index = place.index
    for number, word in enumerate(WORDS):
        index.push(collection, f"b{number % 2}", f"o:{number}", f"{word} fluffy", lang="none")
    index.consolidate()
    assert index.count_buckets(collection) == index.count(collection) == 2
    assert index.count_words(collection, "b0") == index.count(collection, "b0") == 6
    assert index.count_objects(collection, "b1") == 5
    assert index.count_object_words(collection, "b0", "o:0") == index.count(collection, "b0", "o:0") == 2
    assert index.count(collection, "b0", "unknown") == 0
    assert index.count("unknown") == 0
    with pytest.raises(ValueError, match="without its bucket"):
        index.count(collection, None, "o:0")


def test_words_and_suggestions(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", "o", "fjord fjords fjordland lynx élan", lang="none")
    index.consolidate()
    assert index.words(collection, "b") == ["fjord", "fjordland", "fjords", "lynx", "élan"]
    assert index.words(collection, "b", limit=2, offset=1) == ["fjordland", "fjords"]
    assert index.words(collection, "unknown") == []
    suggested = index.suggest(collection, "b", "fjor")
    assert sorted(suggested) == ["fjord", "fjordland", "fjords"]
    assert index.suggest(collection, "b", "fjor", limit=1) == suggested[:1]
    assert index.suggest(collection, "b", "xylophone") == []
    if place.is_default:
        assert index.suggest(collection, "b", "lynx f", limit=1) == ["fjord"]
    for word in ("", "...") if place.is_default else ("", "...", "fjord a/b"):
        with pytest.raises(CommandError) as refusal:
            index.suggest(collection, "b", word)
        assert refusal.value.code == "query_error"


def test_pages(place: Place, collection: str) -> None:
    index = place.index
    names = [f"o:{number}" for number in range(250)]
    with index.batch() as batch:
        for name in names:
            batch.push(collection, "b", name, "zebra", lang="none")
            batch.push(collection, "b", f"{name}:other", "kiwi", lang="none")  # Sonic ignores words of all objects
    everything = list(index.query(collection, "b", "zebra", limit=100))
    assert len(everything) == len(set(everything)) == 100
    assert index.query(collection, "b", "zebra", limit=30, offset=50) == everything[50:80]
    assert sorted(index.query(collection, "b", "zebra", limit=1000)) == sorted(names)
    assert len(index.query(collection, "b", "zebra", limit=200, offset=100)) == 150
    assert index.query(collection, "b", "zebra", offset=250) == []


def test_many_rows(place: Place, collection: str) -> None:
    index = place.index
    rows = [
        ("o:0", "zebra kiwi"),
        ("two words", "zebra"),
        ("o:2", None),
        {"id": "o:3", "text": "zebra", "lang": "eng"},
        ("o:4", "\ud800"),
        (collection, "b2", "o:5", "zebra", "none"),
        ("o:6", "zebra mango " * 5000, "none"),
        (1, 2, 3, 4, 5, 6),
        ("o:8", "zebra", "english"),
        ("o:0", "quokka"),
    ]
    done: list[int] = []
    report = index.push_many(rows, collection=collection, bucket="b", progress=done.append)
    assert report.indexed == 5
    assert [row.row for row in report.refused] == [1, 2, 4, 7, 8]
    assert [row.object for row in report.refused][:3] == ["two words", "o:2", "o:4"]
    assert all(row.reason for row in report.refused)
    assert done[-1] == len(rows)
    assert sorted(index.query(collection, "b", "zebra", lang="none")) == ["o:0", "o:3", "o:6"]
    assert index.query(collection, "b2", "zebra") == ["o:5"]
    assert index.count(collection, "b", "o:0") == 3
    assert index.push_many([], collection=collection, bucket="b").indexed == 0
    for wrong in ("text", {"id": "o", "text": "t"}, 7):
        with pytest.raises(TypeError):
            index.push_many(wrong, collection=collection, bucket="b")
    with pytest.raises(CommandError):
        index.push_many([], collection="two words", bucket="b")


def test_a_bucket_keeps_the_names(place: Place, collection: str) -> None:
    bucket = place.index.bucket(collection, "b")
    bucket.push("o:1", "zebra kiwi", "none")
    assert bucket.push_many([("o:2", "kiwi", "none")]).indexed == 1
    place.index.consolidate()
    assert sorted(bucket.query("kiwi")) == ["o:1", "o:2"]
    assert (bucket.count(), bucket.count("o:1"), bucket.count_objects()) == (2, 2, 2)
    assert (bucket.suggest("zeb"), bucket.words()) == (["zebra"], ["kiwi", "zebra"])
    assert (bucket.pop("o:1", "kiwi"), bucket.flush("o:1"), bucket.flush()) == (1, 1, 1)
    with pytest.raises(CommandError):
        place.index.bucket(collection, "two words")


def test_flush(place: Place, collection: str) -> None:
    index = place.index
    for bucket in ("b1", "b2"):
        for name in ("o:1", "o:2"):
            index.push(collection, bucket, name, "zebra kiwi", lang="none")
    assert index.flush_object(collection, "b1", "o:1") == 2
    assert index.flush(collection, "b1", "o:1") == 0
    assert index.query(collection, "b1", "zebra") == ["o:2"]
    assert index.flush_bucket(collection, "b1") == 1
    assert index.query(collection, "b1", "zebra") == []
    assert sorted(index.query(collection, "b2", "zebra")) == ["o:1", "o:2"]
    assert index.flush(collection, "b2") == 1
    assert index.query(collection, "b2", "zebra") == []
    assert index.flush(f"{collection}-unknown") == 0
    index.flush_collection(collection)
    assert index.count_objects(collection, "b2") == 0


def test_vectors(place: Place, collection: str) -> None:
    index = place.index
    up, down = [1.0, 2.0, -1.0, 0.5, 3.0, -2.0, 1.0, 1.0], [-1.0] * 8
    if not place.is_default:
        with pytest.raises((InvalidArgument, NotOffered)):
            index.push(collection, "b", "o:1", "zebra kiwi", "none", vector=up)
        return
    if place.kind == "cluster":  # it is not upgraded; tests/cluster/test_vectors.py has the rest
        with pytest.raises(CommandError):
            index.push(collection, "b", "o:1", "zebra kiwi", "none", vector=up)
        return
    index.push(collection, "b", "o:1", "zebra kiwi", "none", vector=up)
    index.bucket(collection, "b").push("o:2", "zebra kiwi", "none", vector={"vector": down})
    rows = [
        {"id": "o:3", "text": "zebra kiwi", "v": bytes([0b11011111])},
        {"id": "o:4", "text": "zebra kiwi", "v": up * 2},
    ]
    report = index.push_many(rows, collection=collection, bucket="b", lang="none", vector="v")
    assert (report.indexed, report.refused_count, report.refused[0].object) == (1, 1, "o:4")
    assert index.query(collection, "b", "zebra", vector=down, limit=1) == ["o:2"]
    assert index.query(collection, "b", "zebra", vector=up, meaning=1.5, depth=3)[2] == "o:2"
    assert index.bucket(collection, "b").query("zebra", vector={"vector": down}, limit=1) == ["o:2"]
    likeness = {hit.object: hit.likeness for hit in index.explain(collection, "b", "zebra", vector=down).hits}
    assert likeness["o:2"] == pytest.approx(1) and (likeness["o:3"] or 0) < 0
    with pytest.raises(CommandError):
        index.push(collection, "b", "o:1", "", vector=up * 2)
    with pytest.raises(CommandError):
        index.query(collection, "b", "zebra", vector=up * 2)
    index.push(collection, "b", "o:1", "", "none", vector={"new": up * 2})
    with pytest.raises(CommandError):
        index.query(collection, "b", "zebra", vector=up)
    assert index.query(collection, "b", "zebra", vector={"new": up * 2}, limit=1)
    assert index.drop_vectors(collection, "b", "new") == 1
    assert index.bucket(collection, "b").drop_vectors() == 1
    assert index.drop_vectors(collection, "b") == 0
    plain = index.query(collection, "b", "zebra")
    assert index.query(collection, "b", "zebra", vector=down) == plain
    assert index.query(collection, "b", "zebra", vector=down).scores == plain.scores


def test_names_that_are_not_valid(place: Place) -> None:
    index = place.index
    calls: list[tuple[Callable[[str], object], str]] = [
        (lambda name: index.push(name, "b", "o", "text"), "InvalidCollection"),
        (lambda name: index.pop("c", name, "o", "text"), "InvalidBucket"),
        (lambda name: index.push("c", "b", name, "text"), "InvalidObject"),
        (lambda name: index.query("c", name, "text"), "InvalidBucket"),
        (lambda name: index.suggest(name, "b", "word"), "InvalidCollection"),
        (lambda name: index.words("c", name), "InvalidBucket"),
        (lambda name: index.count(name), "InvalidCollection"),
        (lambda name: index.flush("c", "b", name), "InvalidObject"),
    ]
    for name in ("", "two words", "line\nbreak", "naïve", "x" * 129):
        for call, detail in calls:
            if name == "naïve" and detail == "InvalidObject" and place.is_default:
                continue
            with pytest.raises(CommandError) as refusal:
                call(name)
            assert (refusal.value.code, refusal.value.detail) == ("invalid_argument", detail), name


def test_names_of_every_allowed_character(place: Place, collection: str) -> None:
    index = place.index
    name = "".join(chr(code) for code in range(0x21, 0x7F))
    index.push(collection, name, name, "zebra")
    assert index.query(collection, name, "zebra") == [name]
    assert index.count_object_words(collection, name, name) == 1
    assert index.flush_object(collection, name, name) == 1


def test_languages(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", "o", "zebra", lang="eng")
    assert index.query(collection, "b", "zebra", lang="eng") == ["o"]
    for lang in ("klingon", "en)", "e n", ""):
        for call in (
            lambda lang=lang: index.push(collection, "b", "o", "kiwi", lang=lang),
            lambda lang=lang: index.query(collection, "b", "zebra", lang=lang),
        ):
            with pytest.raises(CommandError) as refusal:
                call()
            assert refusal.value.code == "invalid_meta_value"
    with pytest.raises(CommandError, match="lone surrogate"):
        index.push(collection, "b", "o", "\ud800")


def test_statistics_and_checks_are_returned_or_not_offered(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", "o", "zebra kiwi", lang="none")
    if place.is_default:
        assert index.verify() == []
        assert index.stats(collection, "b")["objects"] == 1
        assert index.stats(collection)["objects"] == 1
        assert index.stats()["objects"] >= 1
    else:
        for call in (index.verify, index.stats, lambda: index.stats(collection, "b")):
            with pytest.raises(NotOffered):
                call()


def test_whole_numbers_and_tags_of_languages(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", 7, "zebra kiwi", lang="en-GB")
    assert index.push_many([(8, "zebra"), (9.0, "zebra", "fr")], collection=collection, bucket="b").indexed == 2
    assert sorted(index.query(collection, "b", "zebra", lang="en")) == ["7", "8", "9"]
    assert index.count(collection, "b", 7) == index.count_object_words(collection, "b", "7") == 2
    assert index.pop(collection, "b", 7, "kiwi") == index.flush(collection, "b", 8) == 1
    assert index.flush_object(collection, "b", 9) == 1
    assert index.count(collection, "b", of="objects") == 1


def test_names_of_objects_in_any_script(place: Place, collection: str) -> None:
    index = place.index
    for name in ("naïve", "东京(1)", "a)b(c"):
        if place.is_default:
            index.push(collection, "b", name, "zebra " * 9000, lang="none")
            assert index.query(collection, "b", "zebra", limit=1) == [name]
            assert index.exists(collection, "b", name) and index.flush(collection, "b", name) == 1
        elif not name.isascii():
            with pytest.raises(CommandError) as refusal:
                index.push(collection, "b", name, "zebra")
            assert (refusal.value.code, refusal.value.detail) == ("invalid_argument", "InvalidObject")


def test_a_text_without_words_makes_an_object(place: Place, collection: str) -> None:
    index = place.index
    for number, text in enumerate(("", " ", "\n", "...", "\t \u3000")):
        index.push(collection, "b", number, text)
        assert index.push_many([(f"m{number}", text)], collection=collection, bucket="b").indexed == 1
    assert index.count_objects(collection, "b") == 10
    assert index.push_many([("o", None)], collection=collection, bucket="b").refused[0].reason == "the text is missing"


def test_listing_is_returned_or_not_offered(place: Place, collection: str) -> None:
    index = place.index
    names = [f"o:{number}" for number in range(250)]
    rows = [(collection, f"b{number % 2}", name, f"zebra word{number}", "none") for number, name in enumerate(names)]
    index.push_many(rows)
    if not place.is_default:
        for call in (
            index.collections, lambda: index.buckets(collection), lambda: index.objects(collection, "b0"),
            lambda: index.exists(collection, "b0", "o:0"), lambda: index.count(collection, of="objects"),
            lambda: index.words(collection, "b0", prefix="z"), lambda: index.words(collection, "b0", after="z"),
        ):  # fmt: skip
            with pytest.raises(NotOffered):
                call()
        return
    assert collection in index.collections() and index.collections() == sorted(index.collections())
    assert index.buckets(collection) == ["b0", "b1"] and index.buckets("unknown") == []
    assert index.objects(collection, "b0") == names[:200:2]
    assert index.objects(collection, "b0", limit=None) == names[::2]
    assert index.objects(collection, "b0", after="o:240", limit=3) == ["o:242", "o:244", "o:246"]
    assert index.objects(collection, "b1", prefix="o:24", limit=None) == ["o:241", "o:243", "o:245", "o:247", "o:249"]
    assert index.objects(collection, "unknown") == index.objects(collection, "b0", limit=0) == []
    with pytest.raises(InvalidArgument, match="after is 'gone', which is no object of the bucket 'b0'") as refusal:
        index.objects(collection, "b0", after="gone")
    assert refusal.value.code == "not_found"
    assert index.exists(collection, "b0", "o:0") is True and index.exists(collection, "b1", "o:0") is False
    assert index.words(collection, "b0", prefix="word", after="word24", limit=2) == ["word240", "word242"]
    assert index.count(collection, of="objects") == 250
    bucket = index.bucket(collection, "b0")
    assert bucket.objects(limit=2) == names[:4:2] and bucket.exists("o:2")
    assert bucket.words(prefix="z") == ["zebra"] and bucket.count(of="objects") == 125
    if "asyncio" not in place.name:
        assert len(bucket) == 125 and list(bucket) == names[::2] and "o:2" in bucket and 5 not in bucket


def test_explanations_are_returned_or_not_offered(place: Place, collection: str) -> None:
    index = place.index
    index.push(collection, "b", "o", "zebra kiwi", lang="none")
    if place.is_default:
        explanation = index.explain(collection, "b", "zebra", lang="none")
        assert "zebra" in str(explanation)
        assert [hit.object for hit in explanation.hits] == ["o"]
        assert index.bucket(collection, "b").explain("zebra", lang="none") == explanation
    else:
        with pytest.raises(NotOffered):
            index.explain(collection, "b", "zebra")


def test_backup_and_restore(place: Place, collection: str, tmp_path: Path) -> None:
    index = place.index
    index.push(collection, "b", "o:1", "zebra", lang="none")
    if place.kind == "cluster":  # which has commands of its own for it
        for refused in (index.backup, index.restore):
            with pytest.raises(CommandError):
                refused(tmp_path / "copy")
        return
    index.backup(tmp_path / "copy")
    index.push(collection, "b", "o:2", "zebra", lang="none")
    index.restore(tmp_path / "copy")
    assert index.query(collection, "b", "zebra") == ["o:1"]


def test_changes_in_any_order_agree_with_a_model(place: Place, collection: str) -> None:
    index = place.index
    chance = random.Random(42)
    model: dict[str, set[str]] = {}
    for _ in range(300):
        name = f"o:{chance.randrange(12)}"
        some = chance.sample(WORDS, chance.randrange(1, 5))
        action = chance.random()
        if action < 0.6:
            index.push(collection, "b", name, " ".join(some), lang="none")
            model.setdefault(name, set()).update(some)
        elif action < 0.9:
            assert index.pop(collection, "b", name, " ".join(some)) == len(model.get(name, set()) & set(some))
            model[name] = model.get(name, set()) - set(some)
        else:
            assert index.flush_object(collection, "b", name) == len(model.pop(name, set()))
    for word in WORDS:
        found = index.query(collection, "b", word, lang="none", limit=20)
        assert set(found) == {name for name, held in model.items() if word in held}, word
    for name, held in model.items():
        assert index.count_object_words(collection, "b", name) == len(held)


def test_synonyms(place: Place, collection: str) -> None:
    index = place.index
    if place.kind == "cluster":  # it is not upgraded; tests/cluster/test_synonyms.py has the rest
        with pytest.raises(SonicError):
            index.set_synonyms(collection, ["tv => television"])
        return
    if not place.is_default:
        with pytest.raises((InvalidArgument, NotOffered)):
            index.set_synonyms(collection, ["tv => television"])
        return
    index.push(collection, "b", "o:1", "television show", "none")
    index.push(collection, "b", "o:2", "new york", "none")
    assert list(index.query(collection, "b", "tv", fuzzy=0)) == []
    assert index.set_synonyms(collection, ["tv => television", "ny, new york"]) == 2
    assert index.query(collection, "b", "tv", fuzzy=0) == ["o:1"]
    (hit,) = index.query(collection, "b", "ny", fuzzy=0, how=True)
    assert tuple(hit.how[0]) == ("synonym", "ny", "new york")
    more = [f"word{number} => television, {'x' * 30}" for number in range(1_200)]
    assert index.set_synonyms(collection, more, add=True) == 1_202
    assert index.synonyms(collection) == ["tv => television", "ny, new york", *more]
    assert index.query(collection, "b", "word1199", fuzzy=0) == ["o:1"]
    with pytest.raises(CommandError):
        index.set_synonyms(collection, ["alone"])
    assert index.set_synonyms(collection, more[:700]) == 700
    assert index.flush(collection) == 1
    assert index.synonyms(collection) == []
