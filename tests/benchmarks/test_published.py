"""Tests of the rows of the published benchmarks, in a tiny profile, and of the oracle that checks their answers."""

import csv
import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import corpora
from benchmarks.peers import cluster
from benchmarks.peers.kinds import BOTH, EITHER, PREFIX, TYPO, WORD
from benchmarks.published.__main__ import IN_DOCS, NUMBERS, ROWS
from benchmarks.published.oracle import Oracle
from benchmarks.published.pages import OURS, PAGES, SHOWN, SONIC, shown, write
from benchmarks.published.plots import draw
from benchmarks.published.profiles import TINY
from benchmarks.published.synapse_rows import shard_of
from benchmarks.published.table import IN_PROCESS, NETWORK, Figure, Table

IN_THE_GATE = "K"


@pytest.mark.parametrize(
    "letter", [pytest.param(letter, marks=[] if letter == IN_THE_GATE else [pytest.mark.full]) for letter in ROWS]
)
def test_every_row_runs(letter: str, tmp_path: Path) -> None:
    said: list[str] = []
    table = Table("tiny", said.append)
    ROWS[letter].run(table, TINY, tmp_path / "work", lambda row: True)
    table.write(tmp_path / "results")
    rows = {figure.row for figure in table.figures}
    assert rows == {f"{letter}{number}" for number in range(1, NUMBERS[letter] + 1)}
    wrong = [figure for figure in table.figures if figure.peer.startswith("sonicpy") and "wrong" in figure.note]
    assert not wrong
    assert all(figure.rounds for figure in table.figures if not figure.note)
    held = json.loads((tmp_path / "results" / "results.json").read_text())
    assert len(held["figures"]) == len(table.figures)
    text = (tmp_path / "results" / "results.md").read_text()
    assert all(f"### {row}, " in text for row in rows)


@pytest.mark.full
@pytest.mark.parametrize("letter", ["Y", "L"])
def test_rows_over_a_cluster(letter: str, tmp_path: Path) -> None:
    if reason := cluster.missing():
        pytest.skip(reason)
    table = Table("tiny", lambda line: None)
    ROWS[letter].run(table, replace(TINY, has_cluster=True), tmp_path / "work", lambda row: True)
    assert {figure.row for figure in table.figures if figure.peer == cluster.NAME} == (
        {"Y4"} if letter == "Y" else {"L1", "L2", "L3"}
    )


@pytest.mark.full
def test_data_is_the_same_at_each_call() -> None:
    for make in (corpora.messages, corpora.domain_names, corpora.events, corpora.articles, corpora.keys):
        first, second = make(50), make(50)
        assert first == second
        assert len(set(map(repr, first))) == 50
    assert shard_of("a", 1 << 32) == 0xE40C292C  # FNV-1a of "a"
    assert hashlib.sha256(repr(corpora.keys(10)).encode()).hexdigest()[:8] == "a62d0118"


def test_the_oracle_tells_right_from_wrong() -> None:
    oracle = Oracle([(number, f"all {'even' if number % 2 == 0 else 'odd'} n{number}") for number in range(30)])
    assert oracle.newest(["all", "even"]) == list(range(28, 8, -2))
    assert oracle.fault(WORD, ["n3"], [3]) is None
    assert oracle.fault(WORD, ["n3"], []) == "1 objects missing"
    assert oracle.fault(WORD, ["n3"], [4]) == "an object that holds none of the words"
    assert oracle.fault(WORD, ["all"], [1] * 10) == "an object twice"
    assert oracle.fault(BOTH, ["all", "n3"], [3, *range(4, 13)]) is None
    assert oracle.fault(BOTH, ["all", "n3"], list(range(4, 14))) == "1 objects missing"
    assert oracle.fault(EITHER, ["n3", "n4"], [4, 3]) is None
    assert oracle.fault(EITHER, ["n3", "n4"], [4]) == "1 objects missing"
    assert oracle.fault(PREFIX, ["ev"], [2, 99]) is None
    assert oracle.fault(PREFIX, ["ev"], [1]) == "no holder of the prefix"
    assert oracle.fault(TYPO, ["n7"], [6]) == "the word that was meant is not found"


def test_plots_hold_every_measured_point(tmp_path: Path) -> None:
    table = Table("tiny", lambda line: None)
    for count in (1, 2, 4):
        for peer in ("ours", "<theirs> & co"):
            table.add(Figure("S1", f"QUERY, {count} connections", peer, IN_PROCESS, rounds=[1000.0 * count]))
    table.write(tmp_path)
    drawn = draw(tmp_path / "results.json", tmp_path)
    assert [path.name for path in drawn] == ["rate-by-connections.svg"]
    text = drawn[0].read_text()
    assert text.count("<circle") == 6
    assert "&lt;theirs&gt; &amp; co" in text


def test_plots_show_what_an_operation_costs_by_size(tmp_path: Path) -> None:
    table = Table("tiny", lambda line: None)
    for size in (10, 100, 1000):
        for command in ("PUSH up to", "QUERY of one to three words at"):
            case = f"{command} {size} texts"
            table.add(Figure("S1", case, "ours", IN_PROCESS, rounds=[1.0], cpu_us=float(size)))
    table.write(tmp_path)
    drawn = draw(tmp_path / "results.json", tmp_path)
    assert [path.name for path in drawn] == ["query-cost-by-size.svg", "push-cost-by-size.svg"]
    across = re.findall(r'<circle cx="([\d.]+)"', drawn[0].read_text())
    first, middle, last = map(float, across)
    assert middle - first == pytest.approx(last - middle), "the axis is logarithmic"


def test_rows_that_are_not_measured_again_stay(tmp_path: Path) -> None:
    for profile, row, expected in (("tiny", "R3", ["R3"]), ("tiny", "S1", ["R3", "S1"]), ("tiny", "R3", ["R3", "S1"]),
                                   ("small", "K1", ["K1"])):  # fmt: skip
        table = Table(profile, lambda line: None)
        table.keep(tmp_path, except_rows=[row])
        table.add(Figure(row, "case", "peer", IN_PROCESS, rounds=[1.0], more={"peak MB": 12.4, "disk MB": 3.0}))
        table.write(tmp_path)
        held = json.loads((tmp_path / "results.json").read_text())
        assert sorted(figure["row"] for figure in held["figures"]) == expected
    assert "| at most 12 MB of memory, 3 MB on disk |" in (tmp_path / "results.md").read_text()


def test_pages_hold_the_figures_of_their_rows(tmp_path: Path) -> None:
    table = Table("tiny", lambda line: None, versions={"Peer": "1.2"})
    for peer, rate in (("sonicpy", 900.0), ("tantivy", 300.0)):
        table.add(Figure("R3", "one word", peer, IN_PROCESS, rounds=[rate]))
    table.write(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- about -->\nold\n<!-- end -->\n<!-- R -->\n<!-- end -->\n<!-- summary -->\n<!-- end -->\n"
    )
    for _ in range(2):  # writing again changes nothing
        assert write(tmp_path / "results.json", tmp_path)[0] == page
        text = page.read_text()
        assert text.startswith("before\n<!-- about -->\nProfile tiny, ") and ", Peer 1.2.\n" in text
        assert text.count("| R3, one word, in process | sonicpy: 900/s | tantivy: 300/s | x 3.00 |") == 1
        assert "| one word, in process | sonicpy: 900/s | tantivy: 300/s | x 3.00 |" in text
        assert "old" not in text
    with (tmp_path / "data" / "reindexer.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["row"], row["case"], row["peer"], row["median"], row["unit"]) for row in rows] == [
        ("R3", "one word", "sonicpy", "900", "/s"), ("R3", "one word", "tantivy", "300", "/s"),
    ]  # fmt: skip


def test_more_time_is_slower_and_shares_of_right_answers_are_shown(tmp_path: Path) -> None:
    table = Table("tiny", lambda line: None)
    for peer, took, note in ((OURS, 20.0, "right in 90%"), (SONIC, 10.0, "many words")):
        table.add(Figure("S1", "consolidate at 1000000 texts", peer, NETWORK, unit=" ms", rounds=[took], note=note))
    table.write(tmp_path)
    (line,) = shown(json.loads((tmp_path / "results.json").read_text()), "S")
    assert line.endswith("| sonicpy: 20 ms (90% right) | Sonic: 10 ms | x 0.50 |")


def test_every_row_that_a_page_shows_was_measured() -> None:
    held = json.loads(IN_DOCS.read_text())
    assert {slot: len(shown(held, slot)) for slot in SHOWN} == {slot: len(rows) for slot, rows in SHOWN.items()}


def test_the_pages_of_the_docs_are_those_of_the_last_results(tmp_path: Path) -> None:
    folder = shutil.copytree(PAGES, tmp_path / "pages")
    write(IN_DOCS, folder)
    for path in filter(Path.is_file, folder.rglob("*")):
        name = path.relative_to(folder)
        assert path.read_bytes() == (PAGES / name).read_bytes(), name
