"""Exports and imports of facts and synonyms, which version 1.0 does not know."""

import json
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.index.ingest.exported import change_of_facts
from tests.cli.conftest import Run
from tests.cli.holdings import held


def test_facts_are_exported_and_imported(run: Run) -> None:
    with Index("d") as index:
        index.maintainer.engine.apply(change_of_facts("c", "b", {3: b"\0fact", 255: b""}))
        index.push("c", "b", "o1", "amber", "none")
        index.push("c", "plain", "o2", "birch", "none")
    run("export", "-o", "all.jsonl", "--data", "d")
    lines = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert lines == [
        {"uses": ["facts", "rules 8"]},
        {"collection": "c", "bucket": "b", "object": "o1", "terms": {"amber": 1}},
        {"collection": "c", "bucket": "b", "facts": {"3": "0066616374", "255": ""}},
        {"collection": "c", "bucket": "plain", "object": "o2", "rules": 8, "terms": {"birch": 1}},
    ]
    assert run("import", "all.jsonl", "--data", "other").endswith("; 2 indexed, 0 refused in all\n")
    with Index("other") as index, index.maintainer.engine.read() as view:
        states = [view.bucket("c", name) for name in ("b", "plain")]
        assert [state and view.facts(state.bucket) for state in states] == [{3: b"\0fact", 255: b""}, {8: b"\x08"}]
    assert held("other", bucket="b") == {"o1": {"amber"}}


def test_synonyms_are_exported_and_imported(run: Run) -> None:
    with Index("d") as index:
        index.push("c", "b", "o1", "amber", "none")
        index.set_synonyms("c", ["resin => amber", "a, b"])
        index.set_synonyms("empty", ["c, d"])
    run("export", "-o", "all.jsonl", "--data", "d")
    lines = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert lines == [
        {"uses": ["facts", "rules 8", "synonyms"]},
        {"collection": "c", "synonyms": ["resin => amber", "a, b"]},
        {"collection": "c", "bucket": "b", "object": "o1", "rules": 8, "terms": {"amber": 1}},
        {"collection": "empty", "synonyms": ["c, d"]},
    ]
    assert run("import", "all.jsonl", "--data", "other").endswith("; 1 indexed, 0 refused in all\n")
    with Index("other") as index:
        assert list(index.query("c", "b", "resin", fuzzy=0)) == ["o1"]
        assert index.synonyms("empty") == ["c, d"]


def test_the_verb_of_synonyms(run: Run) -> None:
    Path("rules.txt").write_text("# towns\n\nny, new york\n")
    assert run("synonyms", "c", "tv => television", "--data", "d") == "1 rule\n"
    assert run("synonyms", "c", "--add", "rules.txt", "--data", "d") == "2 rules\n"
    assert run("synonyms", "c", "--data", "d") == "tv => television\nny, new york\n"
    assert run("synonyms", "c", "--data", "d", "--json") == '["tv => television", "ny, new york"]\n'
    assert run("synonyms", "c", "--set", "rules.txt", "--data", "d") == "1 rule\n"
    run("synonyms", "c", "alone", "--data", "d", status=2, said="one word alone")
    run("synonyms", "c", "a, b", "--clear", "--data", "d", status=2, said="allowed is one of them")
    run("synonyms", "c", "--set", "missing", "--data", "d", status=2, said="cannot be read")
    run("synonyms", "c", "--set", "a, b", "--data", "d", status=2, said="it is a rule: sonicpy synonyms COLLECTION")
    assert run("synonyms", "c", "--clear", "--data", "d") == "0 rules\n"
    assert run("synonyms", "c", "--data", "d", said="there is no collection") == ""


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            [{"uses": ["facts", "colours"]}],
            "the export rows.jsonl uses 'colours', unknown to this sonicpy: install the",
        ),
        (
            [{"collection": "c", "object": "o2", "fields": {"terms": {"birch": 1}, "colours": "red"}}],
            "the export uses 'colours', unknown to this sonicpy: install the version that wrote it, or a later one",
        ),
    ],
)
def test_an_export_that_uses_something_unknown_is_refused(run: Run, lines: list[object], says: str) -> None:
    known = {"collection": "c", "object": "o1", "terms": {"amber": 1}}
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, known]))
    run("import", "rows.jsonl", "--data", "d", status=1, said=says)
    assert held() == {}


DAMAGED: tuple[tuple[str, object], ...] = (
    ("3", "x"), ("256", ""), ("3", 1), ("9" * 5_000, ""),
    ("41", ""), ("42", ""), ("44", ""), ("45", ""), ("48", ""), ("56", ""),
    ("2", "ff"), ("2", b"eng x".hex()), ("8", ""), ("8", "ff"), ("43", "ff"), ("43", b"[7]".hex()),
    ("43", (b"[" * 100_000).hex()),
)  # fmt: skip


def test_damaged_facts_are_a_refused_row(run: Run) -> None:
    rows = [{"collection": "c", "bucket": "b", "facts": {kind: fact}} for kind, fact in DAMAGED]
    good = {"collection": "c", "bucket": "b", "object": "o1", "text": "the weather is good here"}
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, good]))
    report = json.loads(run("import", "rows.jsonl", "--data", "d", "--json", status=3, said="its facts cannot be read"))
    assert (report["indexed"], report["refused"]) == (1, len(DAMAGED))
    with Index("d") as index:
        assert index.query("c", "b", "weather") == ["o1"]
        assert index.verify() == []


def test_synonyms_of_a_wrong_collection_are_a_refused_row(run: Run) -> None:
    rows = [{"collection": name, "synonyms": ["a, b"]} for name in ("", "two words", "x" * 129, "é", 7.5, None, "c")]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = "row 2 is refused: collection is 'two words'; allowed are 1 to 128 ASCII characters without white space"
    report = json.loads(run("import", "rows.jsonl", "--data", "d", "--json", status=3, said=said))
    assert report["refused"] == 5
    with Index("d") as index:
        assert [index.synonyms(name) for name in ("c", "7.5")] == [["a, b"]] * 2


def test_an_export_of_synonyms_alone_is_imported(run: Run) -> None:
    with Index("d") as index:
        index.set_synonyms("c", ["a, b"])
    run("export", "-o", "all.jsonl", "--data", "d")
    run("import", "all.jsonl", "--data", "other")
    with Index("other") as index:
        assert index.synonyms("c") == ["a, b"]


def test_columns_of_these_names_are_data(run: Run) -> None:
    row = {"id": 1, "text": "amber", "collection": "c", "uses": ["colours"], "facts": {"1": "x"}, "fields": {"a": 1}}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    run("import", "rows.jsonl", "--data", "d")
    assert held() == {"1": {"amber"}}
