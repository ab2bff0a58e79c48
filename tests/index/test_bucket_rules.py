"""Rules of buckets: those of version 1.0 beside newer ones, in every way that texts and buckets can be moved."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sonicpy import Index, StoreError
from sonicpy.cli.main import main
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows import uses
from sonicpy.store.rows.meta import FORMAT, USES
from tests.index.shorthand import open_index

C, OLD, NEW = "c", "old", "new"
TEXT = "flat of 50 m² достопримечательность getElementById"
LONG = "достопримечательность"


def push_old(index: Index, object: str, text: str, bucket: str = OLD) -> None:
    """Push as version 1.0 did, into a bucket with its rules."""
    terms = index._engine.lexer.under(FIRST).lex_push(text, None)
    index._engine.push(C, bucket, object, terms, FIRST)


def both(path: Path) -> Index:
    """Return an index with a bucket of each version of the rules."""
    index = open_index(path)
    push_old(index, "o1", TEXT)
    index.push(C, NEW, "o1", TEXT)
    return index


def rules(index: Index) -> dict[str, int]:
    return {bucket: index.stats(C, bucket)["rules"] for bucket in (OLD, NEW)}


def check(index: Index) -> None:
    assert rules(index) == {OLD: FIRST, NEW: NEWEST}
    for _ in range(2):
        assert index.query(C, NEW, "m2 flat") == index.query(C, OLD, "m 2 flat") == index.query(C, OLD, "m²") == ["o1"]
        assert index.query(C, NEW, "m²") == ["o1"]
        assert index.suggest(C, NEW, "достопр") == [LONG]
        assert index.suggest(C, OLD, "достопр") == []
        assert index.query(C, OLD, LONG) == ["o1"]
        assert (index.count(C, NEW, "o1"), index.count(C, OLD, "o1")) == (6, 7)
        assert index.words(C, OLD) == ["2", "50", "flat", "getelementbyid", "m", "of"]
        assert index.words(C, NEW) == ["50", "flat", "getelementbyid", "m2", "of", LONG]
        assert index.verify() == []
        index.consolidate()


def test_a_first_push_with_other_fields_finds_the_rules_of_the_bucket(tmp_path: Path) -> None:
    with both(tmp_path):
        pass
    others: dict[str, Any] = {"tags": ["red"], "values": {"price": 5}, "vector": [1.0] * 8}
    for field in (None, "title"):
        with open_index(tmp_path, store={"order": True}) as index:
            for bucket in (OLD, NEW):
                index.push(C, bucket, "o2", "90 m² attic", field=field, **others)
            for bucket in (OLD, NEW):
                assert index.query(C, bucket, '"m² attic"', syntax="web", filter="red AND price = 5") == ["o2"]
                assert index.query(C, bucket, "attic", fields="title") == ([] if field is None else ["o2"])
                assert index.exists(C, bucket, "o2")
            assert rules(index) == {OLD: FIRST, NEW: NEWEST}
            assert index.verify() == []
            index.flush(C, OLD, "o2")
            index.flush(C, NEW, "o2")


def test_vectors_dropped_from_a_missing_bucket_make_none(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        assert index.drop_vectors(C, NEW) == 0
        assert (index.buckets(C), index.collections()) == ([], [])
        index.push(C, NEW, "o", "text", tags=["red"])
        assert index.stats(C, NEW)["rules"] == NEWEST


def test_each_bucket_has_its_own(tmp_path: Path) -> None:
    with both(tmp_path) as index:
        check(index)
        assert index.stats()["buckets_of_older_rules"] == 1
    with open_index(tmp_path) as index:
        check(index)
        index.push(C, OLD, "o2", "90 m²")
        index.push(C, NEW, "o2", "90 m²")
        assert index.push_many([(C, OLD, "o3", "7 m²", None), (C, NEW, "o3", "7 m²", None)]).indexed == 2
        assert sorted(index.query(C, OLD, "m")) == sorted(index.query(C, NEW, "m2")) == ["o1", "o2", "o3"]
        assert index.pop(C, OLD, "o2", "90 m²") == 3
        assert index.pop(C, NEW, "o2", "90 m²") == 2
        assert index.verify() == []


def test_a_flushed_bucket_gets_the_newest(tmp_path: Path) -> None:
    with both(tmp_path) as index:
        index.push(C, OLD, "o2", "m²")  # the index knows its rules now
        index.flush(C, OLD)
        index.push(C, OLD, "o1", TEXT)
        assert rules(index) == {OLD: NEWEST, NEW: NEWEST}
        assert index.query(C, OLD, "m2") == ["o1"]
        push_old(index, "o", TEXT, "again")
        index.push(C, "again", "o", "m²")
        index.flush(C)
        index.push(C, "again", "o", "m²")
        assert index.stats(C, "again")["rules"] == NEWEST


def test_the_log_carries_them(tmp_path: Path) -> None:
    """The log holds the rules of a bucket: a copy of the files before any commit, as a kill leaves them, has them,
    too.
    """
    with Index(tmp_path / "first", autocommit=False) as index:
        index.push(C, NEW, "o1", TEXT)
        push_old(index, "o1", TEXT)
        index._engine.store.seal()
        shutil.copytree(tmp_path / "first", tmp_path / "killed")
    with Index(tmp_path / "killed") as index:
        check(index)


def test_backups_and_restores(tmp_path: Path) -> None:
    with both(tmp_path / "one") as index:
        index.backup(tmp_path / "backup")
    with open_index(tmp_path / "other") as index:
        index.push("d", NEW, "o1", TEXT)
        index.restore(tmp_path / "backup")
        check(index)
        assert index.stats("d", NEW)["rules"] == NEWEST


def test_exports_and_imports(tmp_path: Path) -> None:
    with both(tmp_path / "one") as index:
        held = list(index.holdings())
        check(index)
    with open_index(tmp_path / "other") as index:
        for each in held:
            index.push_terms(each.collection, each.bucket, each.object, each.terms, each.hidden, each.rules)
        check(index)
        assert list(index.holdings()) == held
        old, new = sorted(held, key=lambda each: each.rules)
        with pytest.raises(
            StoreError, match="the bucket new of c has the rules 8, the terms of o1 were cut by the rules 1"
        ):
            index.push_terms(C, NEW, old.object, old.terms, old.hidden, old.rules)
        index.push_terms(C, "late", new.object, new.terms, new.hidden)
        assert index.stats(C, "late")["rules"] == NEWEST


def test_exports_are_lines_of_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, other = tmp_path / "one", tmp_path / "other"
    Index(store).close()
    with Index(store) as index:
        push_old(index, "o1", TEXT)
        index.push(C, NEW, "o1", TEXT)
    assert main(["export", "--data", str(store), "--output", str(tmp_path / "lines.jsonl")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "object" in line]
    assert {line["bucket"]: line.get("rules") for line in lines} == {OLD: None, NEW: NEWEST}
    assert main(["import", str(tmp_path / "lines.jsonl"), "--data", str(other)]) == 0
    capsys.readouterr()
    with Index(other) as index:
        check(index)


def test_an_explanation_names_older_rules(tmp_path: Path) -> None:
    with both(tmp_path) as index:
        old, new = index.explain(C, OLD, "m2"), index.explain(C, NEW, "m2")
        assert (old.analysis.rules, new.analysis.rules) == (FIRST, NEWEST)
        assert any(
            "has the rules 1" in advice and "FLUSHB it and push its texts again" in advice for advice in old.advice
        )
        assert not any("rules" in advice for advice in new.advice)


def test_an_older_version_refuses_the_newer_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_index(tmp_path) as index:
        push_old(index, "o1", TEXT)
        with index._engine.read() as view:
            assert (FORMAT.read(view.transaction), USES.read(view.transaction)) == ("5", None)
        index.push(C, NEW, "o1", TEXT)
    monkeypatch.delitem(uses.KNOWN, uses.RULES_8)
    with pytest.raises(StoreError, match="uses 'rules 8', unknown to this sonicpy: install the version that wrote it"):
        open_index(tmp_path)


def test_compat_mode_has_no_newer_rules(tmp_path: Path) -> None:
    with open_index(tmp_path, server__compat="sonic") as index:
        index.push(C, NEW, "o1", "50 m² 🔥")
        assert index.stats(C, NEW)["rules"] == FIRST
        assert index.stats()["buckets_of_older_rules"] == 0
        with index._engine.read() as view:
            assert FORMAT.read(view.transaction) == "5"


def test_a_popped_word_takes_its_parts_along(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.push(C, NEW, "o1", "getElementById word")
        assert index.pop(C, NEW, "o1", "GETELEMENTBYID") == 1
        assert [each.hidden for each in index.holdings()] == [{}]
        assert index.verify() == []
