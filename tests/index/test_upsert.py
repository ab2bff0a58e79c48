"""UPSERT: an object holds only its last text; it is compared with a new index of these texts."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import InvalidArgument
from sonicpy.index.index import Index
from sonicpy.index.report.export import ExportedObject
from sonicpy.index.text_digests import text_digest
from sonicpy.store.disk.table_numbers import DIGESTS
from sonicpy.store.rows.digests import digest_key
from sonicpy.store.rows.meta import FORMAT
from sonicpy.store.views.write_view import WriteView
from tests.store.consistency import faults

COMMON = [f"w{number}" for number in range(12)]
RARE = [f"rare{number}" for number in range(900)]
OTHER = ["camelCase", "fooBar", "the", "x" * 60, "a@example.com"]


def a_text(dice: random.Random) -> str:
    words = [
        dice.choice(COMMON if dice.random() < 0.8 else RARE + OTHER) for _ in range(dice.choice([0, 1, 3, 8, 8, 20]))
    ]
    return dice.choice([" ", "  ", "\n"]).join(words)


def contents(index: sonicpy.Index) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    return {held.object: (dict(held.terms), dict(held.hidden)) for held in index.holdings()}


def scores(index: sonicpy.Index, text: str) -> list[tuple[float, str]]:
    return sorted((round(hit.score or 0.0, 6), hit.object) for hit in index.query("c", "b", text, limit=1000))


def pushed(folder: Path, texts: dict[str, str]) -> sonicpy.Index:
    index = sonicpy.open(folder)
    index.push_many([("c", "b", name, text) for name, text in texts.items()])
    return index


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 12))])
def test_an_object_holds_the_last_text(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    index = sonicpy.open(tmp_path / "index")
    held: dict[str, str | None] = {}
    """Object -> its text; None: other changes followed the UPSERT."""
    for _ in range(4):
        with index.batch():
            for _ in range(200):
                name, text, kind = f"o{dice.randrange(160)}", a_text(dice), dice.randrange(20)
                if kind < 12:
                    assert index.upsert("c", "b", name, text) or held[name] is not None
                    held[name] = text
                elif kind < 14:
                    index.push("c", "b", name, text + " pushed")
                    held[name] = None
                elif kind < 16 and (text := held.get(name) or "") and text.split():
                    assert index.pop("c", "b", name, text) > 0
                    held.pop(name)
                    assert not index.exists("c", "b", name)
                elif kind < 17:
                    index.flush("c", "b", name)
                    held.pop(name, None)
                elif kind < 18:
                    index.words("c", "b", limit=20)
                    scores(index, " ".join(dice.sample(COMMON, 2)))
                elif (known := held.get(name)) is not None:
                    assert not index.upsert("c", "b", name, f"  {known}\n"), "the same text, by its digest"
        assert index.verify() == []
        with index.engine.read() as view:  # the other twin does not know that a term of joints has no frequency
            assert [fault for fault in faults(view) if r"\x02" not in fault] == []
        for name, digest in index.iterate_digests("c", "b"):
            known = held[name]
            assert digest == (None if known is None else text_digest(name, known, None))
        if dice.random() < 0.5:
            index.close()
            index = sonicpy.open(tmp_path / "index")
    texts = {name: text if text is not None else a_text(dice) for name, text in held.items()}
    assert index.push_many([("c", "b", *item) for item in texts.items()], upsert=True).indexed == len(texts)
    twin = pushed(tmp_path / "twin", texts)
    assert index.verify() == []
    assert contents(index) == contents(twin)
    assert index.words("c", "b", limit=2000) == twin.words("c", "b", limit=2000)
    for _ in range(8):
        text = " ".join(dice.sample(COMMON, 2) + dice.sample(RARE, 1))
        assert scores(index, text) == scores(twin, text), text
        counted = [one.query("c", "b", text, total=True).total for one in (index, twin)]
        assert counted[0] == counted[1]
    index.consolidate()
    assert index.words("c", "b", limit=2000) == twin.words("c", "b", limit=2000)
    assert index.verify() == []
    index.close()
    twin.close()


@pytest.mark.full
def test_common_words_change_in_their_blocks(tmp_path: Path) -> None:
    """Lists of several blocks lose objects, gain objects in their middle, and get other frequencies and lengths."""
    dice = random.Random(3)
    texts = {f"o{number}": "alpha beta" for number in range(700)}
    index = pushed(tmp_path / "index", texts)
    for _ in range(3):
        for name in dice.sample(sorted(texts), 150):
            texts[name] = dice.choice(["alpha", "beta", "beta beta alpha", "gamma", "alpha alpha alpha beta gamma", ""])
            index.upsert("c", "b", name, texts[name])
            assert [*index.objects("c", "b", limit=None)] == [*texts], "an object keeps its place"
        assert index.verify() == []
    for name in [*texts][100:420]:  # whole blocks lose a word
        texts[name] = "gamma"
        index.upsert("c", "b", name, texts[name])
    twin = pushed(tmp_path / "twin", texts)
    assert index.verify() == []
    assert contents(index) == contents(twin)
    for text in ("alpha", "beta", "gamma", "alpha gamma"):
        assert scores(index, text) == scores(twin, text)
        assert index.query("c", "b", text, limit=10) == twin.query("c", "b", text, limit=10)
    index.close()
    twin.close()


def test_what_a_killed_process_leaves_is_replayed(tmp_path: Path) -> None:
    index = Index(tmp_path / "index", autocommit=False)
    texts: dict[str, str] = {}
    dice = random.Random(4)
    for number in range(200):
        name = f"o{dice.randrange(40)}"
        texts[name] = a_text(dice)
        index.upsert("c", "b", name, texts[name])
        if number == 120:
            index.engine.commit()
    index.engine.store.seal()
    copy = shutil.copytree(tmp_path / "index", tmp_path / "as a killed process leaves it")
    expected = contents(index)
    index.close()
    again = sonicpy.open(copy)
    assert contents(again) == expected
    assert again.verify() == []
    assert dict(again.iterate_digests("c", "b")) == {name: text_digest(name, texts[name], None) for name in texts}
    assert not any(again.upsert("c", "b", *item) for item in texts.items())
    again.close()


def test_a_change_between_ends_the_digest(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "index")
    digest = index.digest("c", "b", "o", "one two", "en")
    assert index.upsert("c", "b", "o", "one two", "en")
    assert index.digests("c", "b", ["o", "missing"]) == [digest, None]
    assert index.stats("c", "b")["digests"] == 1
    assert digest == index.digest("c", "b", "o", " one\n two ", "eng") != index.digest("c", "b", "o", "one two")
    assert index.upsert("c", "b", "o", "one two"), "the language is another"
    for change in (
        lambda: index.push("c", "b", "o", "three"),
        lambda: index.pop("c", "b", "o", "two"),
        lambda: index.flush("c", "b", "o"),
        lambda: index.flush("c", "b"),
        lambda: index.flush("c"),
    ):
        index.upsert("c", "b", "o", "one two")
        assert index.digests("c", "b", ["o"]) == [index.digest("c", "b", "o", "one two")]
        change()
        assert index.digests("c", "b", ["o"]) == [None]
        assert index.upsert("c", "b", "o", "one two")
        assert index.query("c", "b", "three") == []
    assert index.verify() == []
    index.close()


@pytest.mark.parametrize("words", [2, 300])
def test_a_push_of_words_that_the_object_has_ends_the_digest_if_it_changes_anything(words: int) -> None:
    """Another order of the words, or a word in another named text; the long text's order grows."""
    text = " ".join(f"w{number:03}" for number in range(words))
    with sonicpy.open(":memory:", {"store.order": True}) as index:
        for pushed, is_kept in ((text, True), ("w001 w000", False)):
            index.upsert("c", "b", "o", text)
            index.push("c", "b", "o", pushed)
            assert (index.digests("c", "b", ["o"]) != [None]) is is_kept
            assert index.query("c", "b", "", phrase="w001 w000").objects == ([] if is_kept else ["o"])
            assert index.upsert("c", "b", "o", text) is not is_kept
            assert index.query("c", "b", "", phrase="w001 w000") == []
        named = {"title": "one", "body": "two"}
        index.upsert("c", "b", "n", named)
        index.push("c", "b", "n", "one", field="body")
        assert index.query("c", "b", "body:one", syntax="web") == ["n"]
        assert index.upsert("c", "b", "n", named)
        assert index.query("c", "b", "body:one", syntax="web") == []


def test_an_index_that_never_replaced_a_text_is_as_before(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "index")
    index.push("c", "b", "o", "one two")
    index.push("c", "b", "o", "three")
    with index.engine.snapshot_of_now() as view:
        assert "digests" not in view.uses()
        assert view.transaction.count(DIGESTS) == 0
    index.upsert("c", "b", "o", "one")
    with index.engine.snapshot_of_now() as view:
        assert "digests" in view.uses()
        assert (FORMAT.read(view.transaction), view.transaction.count(DIGESTS)) == ("6", 1)
    index.close()


def test_a_bucket_of_old_rules_keeps_them(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "index")
    index.push_terms("c", "b", "old", {"word": 1}, rules=1)
    assert index.upsert("c", "b", "o", "one two")
    assert not index.upsert("c", "b", "o", "one two")
    assert index.text_rules("c", "b") == 1
    assert index.digests("c", "b", ["o"]) == [text_digest("o", "one two", None, 1)]
    report = index.push_many([("c", "b", "o", "one two"), ("c", "b", "p", "three")], upsert=True)
    assert (report.indexed, report.unchanged) == (2, 1)
    index.close()


def test_many_rows(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "index")
    rows: list[Any] = [("c", "b", f"o{number}", f"text {number}") for number in range(100)]
    assert index.push_many(rows, upsert=True).unchanged == 0
    rows[7] = ("c", "b", "o7", "another text")
    report = index.push_many([*rows, ("c", "b", "o8", "twice"), ("c", "b", "o8", "text 8")], upsert=True)
    assert (report.indexed, report.unchanged, report.refused) == (102, 99, [])
    assert [*index.query("c", "b", "another")] == ["o7"]
    assert index.query("c", "b", "twice") == []
    report = index.push_many([("c", "b", "o9", "\ud800"), ("c", "b", "o9", None)], upsert=True)
    assert (report.indexed, report.refused_count) == (0, 2)
    with pytest.raises(InvalidArgument, match="new and upsert"):
        index.push_many(rows, upsert=True, new=True)
    index.close()


def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = sonicpy.open(tmp_path / "index")
    index.upsert("c", "b", "o", "one")
    for text in ("\ud800", 7):
        with pytest.raises(InvalidArgument):
            index.upsert("c", "b", "o", text)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        index.upsert("c", "b", "a name", "one")
    for limit in ("vector_pushes.RECORD_MAX_BYTES", "changing.mutations.RECORD_BYTES_MAX"):
        monkeypatch.setattr(f"sonicpy.store.{limit}", 5_000)
    many = " ".join(f"{number:x}{'y' * 30}" for number in range(300))
    with pytest.raises(InvalidArgument, match="split the text"):
        index.upsert("c", "b", "o", many)
    assert [*index.query("c", "b", "one")] == ["o"]
    index.close()
    compat = sonicpy.open(tmp_path / "compat", {"server": {"compat": "sonic"}})
    with pytest.raises(InvalidArgument, match="compat"):
        compat.upsert("c", "b", "o", "one")
    with pytest.raises(InvalidArgument, match="compat"):
        compat.push_many([("c", "b", "o", "one")], upsert=True)
    compat.close()


def test_backup_restore_and_faults(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "index")
    for number in range(200):
        index.upsert("c", "b", f"o{number}", f"text {number}")
    index.flush("c", "b", "o70")
    held = dict(index.iterate_digests("c", "b"))
    assert len(held) == 199
    index.backup(tmp_path / "copy")
    index.flush("c")
    index.restore(tmp_path / "copy")
    assert dict(index.iterate_digests("c", "b")) == held
    assert not index.upsert("c", "b", "o199", "text 199")
    assert index.verify() == []
    with index.engine.read() as view:
        state = view.bucket("c", "b")
        assert state is not None
        bucket = state.bucket

    def damage(view: WriteView) -> None:
        for number, row in ((1, b"x" * 8 * 64), (9, b"y" * 8), (0, b"z" * 7), (2, b"z" * 8 + bytes(8))):
            view.transaction.put(DIGESTS, digest_key(bucket, number), row)

    index.engine.store.maintain(damage)
    index.engine.commit()
    assert index.verify() == [
        "c/b: the row 0000000000 of digests has 7 bytes; allowed are 8 an object",
        "c/b: digests has one of the object 70, which does not exist",
        "c/b: row 2 of digests ends with an object that has none",
        "c/b: digests has one of the object 576, which does not exist",
    ]
    index.close()


def by_one(index: Index, row: dict[str, Any]) -> bool:
    others = {"tags": row["tags"], "values": {"price": row["price"], "place": row["place"]}, "vector": row["vector"]}
    if row["price"] is None and row["place"] is None:
        del others["values"]
    return index.upsert("c", "b", row["id"], row["text"], **others)


def by_many(index: Index, row: dict[str, Any]) -> bool:
    columns = {"tags": "tags", "values": ["price", "place"], "vector": "vector"}
    report = index.push_many([row], collection="c", bucket="b", upsert=True, **columns)
    assert report.refused == []
    return report.unchanged == 0


def by_mirror(index: Index, row: dict[str, Any]) -> bool:
    row["vector"] = None
    report = index.mirror([row], collection="c", bucket="b", whole=False, tags="tags", values=["price", "place"])
    assert report.refused == []
    return report.changed == 1


def content(index: Index) -> list[ExportedObject]:
    return [*index.holdings()]


@pytest.mark.parametrize("bring", [by_one, pytest.param(by_many, marks=pytest.mark.full), by_mirror])
def test_what_is_reported_as_changed_has_changed(bring: Callable[[Index, dict[str, Any]], bool]) -> None:
    dice = random.Random(7)
    with sonicpy.open(":memory:") as index, sonicpy.open(":memory:") as twin:
        outcomes = Counter[bool]()
        for _ in range(200):
            row = {
                "id": f"o{dice.randrange(3)}",
                "text": dice.choice(("one two", "three")),
                "tags": dice.choice((None, [], ["red"], ["blue", "red"])),
                "price": dice.choice((None, 1, 2)),
                "place": dice.choice((None, "1.5/2")),
                "vector": dice.choice((None, b"ab", b"cd")),
            }
            before, changed = content(index), bring(index, row)
            assert changed == (content(index) != before)
            others = {"tags": row["tags"], "values": {"price": row["price"], "place": row["place"]}}
            if bring is by_mirror:  # a row has all
                others["tags"] = row["tags"] or []
            elif bring is by_many:
                others["values"] = {name: value for name, value in others["values"].items() if value is not None}
            elif row["price"] is None and row["place"] is None:
                del others["values"]
            twin.upsert("c", "b", row["id"], row["text"], vector=row["vector"], **others)
            assert content(index) == content(twin)
            outcomes[changed] += 1
        assert outcomes[False] > 5
        assert index.verify() == []


@pytest.mark.parametrize("between", ["upsert", "push"])
def test_a_count_between_changes_does_not_bring_back_a_written_text(tmp_path: Path, between: str) -> None:
    with sonicpy.open(tmp_path / "index") as index:
        index.upsert("c", "b", "o", "blue")
        index.commit()
        getattr(index, between)("c", "b", "o", "red")
        assert index.count("c") == 1
        assert index.upsert("c", "b", "o", "blue")
        assert (index.query("c", "b", "blue"), index.query("c", "b", "red")) == (["o"], [])
