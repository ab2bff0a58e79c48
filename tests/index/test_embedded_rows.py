"""An UPSERT of an index with an embedder: only texts that change are embedded, and objects without a vector get one."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import sonicpy
from sonicpy.index.index import Index
from sonicpy.index.ingest import push_many

C, B = "c", "b"
ROWS = [(f"o{number}", f"text {number}") for number in range(10)]


class Letters:
    """An embedder that notes its texts."""

    def __init__(self, column: str = "") -> None:
        self.column = column
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        assert gc.isenabled()
        self.calls.append(texts)
        return [vector_of(text) for text in texts]

    def taken(self) -> list[list[str]]:
        """Return the texts of each call since the last time."""
        calls, self.calls = self.calls, []
        return calls


def vector_of(text: str) -> list[float]:
    return [crc32(text.encode()) >> place & 1 or -1.0 for place in range(24)]


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def index(letters: Letters) -> Iterator[Index]:
    with sonicpy.open(":memory:", embed=letters) as opened:
        yield opened
        assert opened.verify() == []


Pass = Callable[[Index, list[Any]], tuple[int, int]]
"""Brings an index in step with rows; returns how many changed, and how many did not."""


def by_many(index: Index, rows: list[Any]) -> tuple[int, int]:
    report = index.push_many(rows, collection=C, bucket=B, upsert=True)
    assert report.refused == []
    return report.indexed - report.unchanged, report.unchanged


def by_mirror(index: Index, rows: list[Any], *, whole: bool = True) -> tuple[int, int]:
    report = index.mirror(rows, collection=C, bucket=B, whole=whole)
    assert report.refused == []
    return report.changed, report.unchanged


def by_part(index: Index, rows: list[Any]) -> tuple[int, int]:
    return by_mirror(index, rows, whole=False)


def by_one(index: Index, rows: list[Any]) -> tuple[int, int]:
    changed = [index.upsert(C, B, *row) for row in rows]
    return changed.count(True), changed.count(False)


ways = pytest.mark.parametrize("bring", [by_many, by_mirror, by_part, by_one])


def texts_of(letters: Letters) -> list[str]:
    return [text for call in letters.taken() for text in call]


def check_vectors(index: Index, rows: list[Any], column: str = "vector") -> None:
    """Check that every object has the vector of its text, as a new index has it."""
    with sonicpy.open(":memory:") as twin:
        for object, text in dict(rows).items():
            twin.push(C, B, object, text, vector={column: vector_of(text)} if text else None)
        wanted, found = (
            {held.object: held.fields.get("vectors", {}).get(column) for held in each.holdings()}
            for each in (twin, index)
        )
    assert found == wanted


@ways
def test_only_texts_that_change_are_embedded(index: Index, letters: Letters, bring: Pass) -> None:
    rows = [*ROWS, ("empty", "")]
    assert bring(index, rows) == (11, 0)
    calls = letters.taken()
    assert sorted(sum(calls, [])) == sorted(text for _, text in ROWS)
    assert len(calls) == (10 if bring is by_one else 1), "one call for many rows"
    assert bring(index, rows) == (0, 11)
    assert letters.taken() == []
    rows[3], rows[7] = ("o3", "another"), ("o7", " text\n7 ")
    assert bring(index, rows) == (1, 10)
    assert letters.taken() == [["another"]]
    rows[7] = ROWS[7]
    check_vectors(index, rows)


@ways
def test_an_object_without_a_vector_gets_one(tmp_path: Path, bring: Pass) -> None:
    with sonicpy.open(tmp_path) as index:
        bring(index, ROWS)
    for column in ("old", "new"):
        letters = Letters(column)
        with sonicpy.open(tmp_path, embed=letters) as index:
            assert bring(index, ROWS) == (10, 0)
            assert sorted(texts_of(letters)) == sorted(text for _, text in ROWS)
            assert bring(index, ROWS) == (0, 10)
            assert letters.taken() == []
            check_vectors(index, ROWS, column)
    with sonicpy.open(tmp_path) as index:
        assert bring(index, ROWS) == (0, 10), "without an embedder, vectors do not matter"
        check_vectors(index, ROWS, "old")


def test_rows_with_tags_keep_the_vectors_of_their_texts(index: Index, letters: Letters) -> None:
    def pushed(rows: list[Any]) -> None:
        named = [{"id": name, "text": text, "tags": [tag]} for name, text, tag in rows]
        assert index.push_many(named, collection=C, bucket=B, upsert=True, tags="tags").refused == []

    pushed([("o1", "one", "red"), ("o2", "two", "red")])
    assert letters.taken() == [["one", "two"]]
    pushed([("o1", "one", "blue"), ("o2", "three", "blue")])
    assert letters.taken() == [["three"]]
    assert index.query(C, B, "one three", filter="blue", match="any") != []
    check_vectors(index, [("o1", "one"), ("o2", "three")])
    pushed([("o1", "two", "red"), ("o1", "one", "red")])
    check_vectors(index, [("o1", "one"), ("o2", "three")])
    letters.taken()
    index.upsert(C, B, "o1", "one", tags=["green"])
    assert letters.taken() == []
    index.upsert(C, B, "o1", "four", tags=["green"])
    assert letters.taken() == [["four"]]


@pytest.mark.parametrize("bring", [by_many, by_mirror, by_part])
def test_of_several_rows_of_an_object_the_last_counts(index: Index, letters: Letters, bring: Pass) -> None:
    bring(index, ROWS)
    letters.taken()
    bring(index, [*ROWS, ("o1", "another"), ("o1", "text 1")])
    assert set(texts_of(letters)) == {"another", "text 1"}
    check_vectors(index, ROWS)


@pytest.mark.full
@ways
def test_a_bucket_of_old_rules(index: Index, letters: Letters, bring: Pass) -> None:
    index.push_terms(C, B, "old", {"word": 1}, rules=1)
    rows = [*ROWS[:3], ("old", "word")]
    assert bring(index, rows) == (4, 0)
    assert sorted(texts_of(letters)) == ["text 0", "text 1", "text 2", "word"], "each text once"
    assert bring(index, rows) == (0, 4)
    assert letters.taken() == []
    check_vectors(index, rows)


@pytest.mark.parametrize("bring", [by_many, by_mirror, by_part])
def test_each_chunk_is_a_batch(monkeypatch: pytest.MonkeyPatch, bring: Pass) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 4)
    letters = Letters()
    with sonicpy.open(":memory:", embed=letters) as index:
        bring(index, ROWS)
        assert [len(call) for call in letters.taken()] == [4, 4, 2]
        bring(index, [*ROWS[:5], ("o5", "five"), ("o6", "six"), *ROWS[7:]])
        assert letters.taken() == [["five", "six"]]


@pytest.mark.parametrize("bring", [by_many, by_mirror])
def test_vectors_of_another_width_are_refused(tmp_path: Path, bring: Pass) -> None:
    with sonicpy.open(tmp_path, embed=lambda texts: [b"\1" for _ in texts]) as index:
        bring(index, ROWS)
    with sonicpy.open(tmp_path, embed=Letters()) as index:
        rows = [*ROWS, ("more", "more")]
        for report in (
            index.push_many(rows, collection=C, bucket=B, upsert=True),
            index.mirror(rows, collection=C, bucket=B),
        ):
            assert [(one.row, one.reason) for one in report.refused] == [
                (10, "the vector is refused: it has 24 bits, those of vector have 8")
            ]
        with pytest.raises(sonicpy.InvalidArgument, match="it has 24 bits"):
            index.upsert(C, B, "more", "more")
        assert not index.exists(C, B, "more")


def by_batch(index: Index, rows: list[Any]) -> tuple[int, int]:
    """Bring rows in step by one `upsert` each."""
    for name, text, *_ in rows:
        index.upsert(C, B, name, text)
    return 0, 0


@pytest.mark.parametrize("column", ["", "m"])
@pytest.mark.parametrize("bring", [by_batch, by_many])
def test_an_empty_text_has_no_vector(bring: Pass, column: str) -> None:
    with sonicpy.open(":memory:", embed=Letters(column)) as index:

        def columns() -> list[str]:
            return sorted({column for held in index.holdings(C, B) for column in held.fields.get("vectors", {})})

        index.push(C, B, "o", "old", vector={"other": [1] * 24})
        bring(index, [("o", "text")])
        assert columns() == ([column, "other"] if column else ["other"])
        bring(index, [("o", "")])
        assert columns() == (["other"] if column else [])
        bring(index, [("o", "text"), ("o", ""), ("p", "")])
        assert columns() == (["other"] if column else [])
        index.upsert(C, B, "o", "", vector=[1] * 24 if not column else {column: [1] * 24})
        given = columns()
        bring(index, [("o", "")])
        assert columns() == given, "the vector was given with this text"
        assert index.verify() == []


FULL = {f"v{number}": number for number in range(16)}
"""Values under all names that a bucket can have."""


def vectors(index: Index) -> dict[str, bool]:
    """Return whether each object has a vector, by name."""
    return {held.object: "vectors" in held.fields for held in index.holdings(C, B)}


def test_an_upsert_that_is_refused_takes_no_vector_away(index: Index, letters: Letters) -> None:
    index.upsert(C, B, "o", "text", values=FULL)
    with pytest.raises(sonicpy.InvalidArgument, match="16"):
        index.upsert(C, B, "o", "", values={"seventeenth": 1})
    assert vectors(index) == {"o": True}
    assert letters.taken() == [["text"]]
    assert index.upsert(C, B, "o", "", values={"v1": 7})
    assert vectors(index) == {"o": False}


def test_a_row_that_is_refused_takes_no_vector_away(index: Index, letters: Letters) -> None:
    index.upsert(C, B, "o", "text", values=FULL)
    index.upsert(C, B, "p", "other")
    rows = [
        {"object": "o", "text": "", "seventeenth": 1},
        {"object": "p", "text": "new"},
        {"object": "p", "text": "", "seventeenth": 1},
        {"object": "q", "text": "also new"},
    ]
    report = index.push_many(rows, collection=C, bucket=B, upsert=True, values=["seventeenth"])
    assert [refused.row for refused in report.refused] == [0, 2]
    assert vectors(index) == {"o": True, "p": True, "q": True}
    assert letters.taken() == [["text"], ["other"], ["new", "also new"]]
    report = index.push_many([("o", ""), ("p", "")], collection=C, bucket=B, upsert=True)
    assert report.refused == [] and vectors(index) == {"o": False, "p": False, "q": True}


@pytest.mark.parametrize("bring", [by_batch, by_many])
def test_an_empty_text_in_a_bucket_of_old_rules_keeps_the_vector_that_came_with_it(tmp_path: Path, bring: Pass) -> None:
    with sonicpy.open(tmp_path, embed=Letters()) as index:
        index.push_terms(C, B, "old", {"word": 1}, rules=1)
        index.upsert(C, B, "o", "", vector=[1] * 24)
    with sonicpy.open(tmp_path, embed=Letters()) as index:
        bring(index, [("o", "")])
        assert vectors(index)["o"]


def test_a_text_that_is_not_unicode_is_not_embedded(index: Index, letters: Letters) -> None:
    report = index.push_many([("1", "red"), ("2", "lone \ud800"), ("3", "blue")], collection=C, bucket=B)
    assert [refused.row for refused in report.refused] == [1]
    assert texts_of(letters) == ["red", "blue"]


def test_compat_mode_embeds_nothing(tmp_path: Path) -> None:
    embed, compat = Letters(), {"server": {"compat": "sonic"}}

    def ask(index: Index) -> None:
        assert index.query(C, B, "text") == ["o2", "o1"]
        assert index.explain(C, B, "text").total == 2

    with sonicpy.open(tmp_path, compat, embed=embed) as index:
        index.push(C, B, "o1", "text one")
        assert index.push_many([("o2", "text two")], collection=C, bucket=B).indexed == 1
        ask(index)
        assert [held.fields for held in index.holdings(C, B)] == [{}, {}]
    with sonicpy.open(tmp_path, compat, embed=embed, read_only=True) as index:
        ask(index)
    assert embed.calls == []
