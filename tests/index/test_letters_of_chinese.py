"""Stores that version 1.0 made without the extra [zh]: their Chinese is cut by letters, for good."""

from pathlib import Path

import pytest

import sonicpy
from sonicpy import Config, Index
from sonicpy.errors import StoreError
from tests.index.extras import cut_by_letters
from tests.index.shorthand import B, C, found, open_index, push

TEXT = "我来到北京清华大学"
DEFAULT: dict[str, object] = {}
COMPAT: dict[str, object] = {"server__compat": "sonic"}
COMPAT_FOLDS: dict[str, object] = {**COMPAT, "normalization__diacritic_folding_enabled": True}
MODES = [
    pytest.param(DEFAULT, id="default"),
    pytest.param(COMPAT, id="compat"),
    pytest.param(COMPAT_FOLDS, id="compat, folded"),
]
READ_ONLY = Config.model_validate({})


def of_letters(folder: Path, **chosen: object) -> Index:
    """Return an opened index as version 1.0 made it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_by_letters(monkeypatch)
        return open_index(folder, **chosen)


def terms_of(index: Index, oid: str) -> set[str]:
    (held,) = (held for held in index.holdings() if held.object == oid)
    return {*held.terms, *held.hidden}


def uses_words(index: Index) -> bool:
    """Return whether the index cuts Chinese into words, as its store notes."""
    noted = index.engine.store.made_with()["extras.zh"]
    assert noted == index.engine.analyzer()["extras.zh"]
    return noted == "True"


@pytest.mark.parametrize("chosen", MODES)
def test_new_stores_have_words(tmp_path: Path, chosen: dict[str, object]) -> None:
    for _ in range(2):
        with open_index(tmp_path, **chosen) as index:
            assert uses_words(index)
            push(index, "o", TEXT, "cmn")
            assert "清华大学" in terms_of(index, "o")
    with of_letters(tmp_path / "other", **chosen) as index:
        push(index, "o", TEXT, "cmn")
        assert "清华大学" not in terms_of(index, "o")


@pytest.mark.parametrize("chosen", MODES)
def test_an_older_store_stays_as_it_was_made(tmp_path: Path, chosen: dict[str, object]) -> None:
    with of_letters(tmp_path, **chosen) as index:
        push(index, "old", TEXT, "cmn")
        push(index, "gone", TEXT, "cmn")
        made, answers = index.engine.store.made_with(), [found(index, word, lang="cmn") for word in ("清华", TEXT)]
    for number in range(2):
        with open_index(tmp_path, **chosen) as index:
            assert not uses_words(index)
            assert index.engine.store.made_with() == made
            if not number:
                assert [found(index, word, lang="cmn") for word in ("清华", TEXT)] == answers
                assert index.pop(C, B, "gone", TEXT)
                assert index.count_objects(C, B) == 1, "POP removes each term that PUSH stored"
            push(index, f"new{number}", TEXT, "cmn")
            assert terms_of(index, f"new{number}") == terms_of(index, "old")
            assert set(found(index, "清华", lang="cmn")) == {"old", *(f"new{before}" for before in range(number + 1))}


def test_readers_follow_the_store(tmp_path: Path) -> None:
    """Search processes open the folder as this reader does."""
    with of_letters(tmp_path / "letters") as letters, open_index(tmp_path / "words") as words:
        for index in (letters, words):
            push(index, "o", TEXT)
    for name in ("letters", "words"):
        with sonicpy.open(tmp_path / name / "store", READ_ONLY, read_only=True) as reader:
            assert uses_words(reader) == (name == "words")
            assert found(reader, "清华大学") == ["o"]
            assert ("清华大学" in reader.words(C, B)) == (name == "words")


def test_another_difference_is_told_as_ever(tmp_path: Path) -> None:
    of_letters(tmp_path).close()
    with pytest.raises(StoreError, match=r"was made with server\.compat = none, not sonic: .*; set it back"):
        open_index(tmp_path, **COMPAT)
    with pytest.raises(StoreError, match="was made with normalization.diacritic_folding_enabled = false, not true"):
        open_index(tmp_path, normalization__diacritic_folding_enabled=True)


@pytest.mark.parametrize("chosen", MODES)
def test_an_empty_store_takes_a_backup_of_letters_and_follows_it(tmp_path: Path, chosen: dict[str, object]) -> None:
    with of_letters(tmp_path / "old", **chosen) as index:
        push(index, "o", TEXT, "cmn")
        terms = terms_of(index, "o")
        index.backup(tmp_path / "backup")
    with open_index(tmp_path / "new", **chosen) as index:
        before = index.engine.packed_analyzer
        assert uses_words(index)
        index.restore(tmp_path / "backup")
        assert not uses_words(index)
        assert index.engine.packed_analyzer != before
        push(index, "p", TEXT, "cmn")
        assert terms_of(index, "p") == terms_of(index, "o") == terms
    with open_index(tmp_path / "new", **chosen) as index:
        assert not uses_words(index)
        assert set(found(index, "清华", lang="cmn")) == {"o", "p"}
        assert index.verify() == []


@pytest.mark.parametrize("has_words", [True, False])
def test_a_store_with_texts_takes_no_backup_that_is_cut_otherwise(tmp_path: Path, has_words: bool) -> None:
    makers = (of_letters, open_index)
    with makers[not has_words](tmp_path / "old") as index:
        push(index, "o", TEXT)
        index.backup(tmp_path / "backup")
    with makers[has_words](tmp_path / "new") as index:
        push(index, "p", "english")
        with pytest.raises(StoreError, match=rf"made with extras\.zh = {not has_words}, not {has_words}".lower()):
            index.restore(tmp_path / "backup")
        assert uses_words(index) == has_words
        assert index.count_objects(C, B) == 1
