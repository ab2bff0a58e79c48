"""Digests are part of an export: an UPSERT or a mirror after an import changes only the texts that differ."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import InvalidArgument
from sonicpy.index.report.export import ExportedObject

C, B = "c", "b"
TEXTS: dict[str, Any] = {
    "o1": "amber birch amber",
    "o2": {"title": "Cedar", "body": "amber delta"},
    "o3": "",
    "o4": "東京都庁 getElementById",
}
SETTINGS = {"store": {"order": True}}


@pytest.fixture
def source() -> sonicpy.Index:
    index = sonicpy.open(":memory:", SETTINGS)
    for name, text in TEXTS.items():
        index.upsert(C, B, name, text, "en", tags=["red"] if name == "o2" else None)
    index.push(C, B, "pushed", "elder", "en")
    return index


def take(target: sonicpy.Index, held: ExportedObject) -> None:
    target.push_terms(
        held.collection, held.bucket, held.object, held.terms, held.hidden, held.rules, held.languages, held.fields
    )


def copied(source: sonicpy.Index, target: sonicpy.Index) -> sonicpy.Index:
    for held in source.holdings():
        take(target, held)
    return target


def test_a_copy_has_the_digests(source: sonicpy.Index) -> None:
    target = copied(source, sonicpy.open(":memory:", SETTINGS))
    names = [*TEXTS, "pushed"]
    assert target.digests(C, B, names) == source.digests(C, B, names)
    assert None not in source.digests(C, B, [*TEXTS]) and source.digests(C, B, ["pushed"]) == [None]
    assert not any(target.upsert(C, B, name, text, "en") for name, text in TEXTS.items())
    assert target.upsert(C, B, "o1", "amber", "en")
    assert target.verify() == []


def test_only_objects_that_are_new_get_one(source: sonicpy.Index) -> None:
    target = sonicpy.open(":memory:", SETTINGS)
    target.push(C, B, "o1", "fir", "en")
    target.upsert(C, B, "o2", "gum", "en")
    target.upsert(C, B, "o3", "gum", "en")
    copied(source, target)
    assert target.digests(C, B, ["o1", "o2"]) == [None, None]
    assert target.digests(C, B, ["o3"]) == [target.digest(C, B, "o3", "gum", "en")], "an empty text adds nothing"
    assert target.digests(C, B, ["o4"]) == source.digests(C, B, ["o4"])
    assert target.upsert(C, B, "o1", TEXTS["o1"], "en")
    assert target.query(C, B, "fir") == []
    held = target.digests(C, B, [*TEXTS])
    copied(source, target)
    assert target.digests(C, B, [*TEXTS]) == held, "the same words again change nothing"


def test_other_settings_give_other_words(source: sonicpy.Index) -> None:
    target = copied(source, sonicpy.open(":memory:", {**SETTINGS, "normalization": {"stemming_enabled": True}}))
    assert target.digests(C, B, [*TEXTS]) == [None] * len(TEXTS)
    assert target.upsert(C, B, "o1", TEXTS["o1"], "en")


def test_a_killed_import_is_replayed_with_digests(source: sonicpy.Index, tmp_path: Path) -> None:
    target = copied(source, sonicpy.open(tmp_path / "index", SETTINGS))
    target.engine.store.seal()
    copy = shutil.copytree(tmp_path / "index", tmp_path / "as a killed process leaves it")
    target.close()
    with sonicpy.open(copy, SETTINGS) as again:
        assert again.digests(C, B, [*TEXTS]) == source.digests(C, B, [*TEXTS])


@pytest.mark.parametrize("digest", ["", "ab", "x" * 16 + " 01234567", "0" * 16, 7, ["a"]])
def test_no_digest(source: sonicpy.Index, digest: Any) -> None:
    (held, *_) = source.holdings()
    bad = dataclasses.replace(held, object="new", fields={**held.fields, "digest": digest})
    with pytest.raises(InvalidArgument, match="digest is"):
        take(source, bad)
    assert not source.exists(C, B, "new")
