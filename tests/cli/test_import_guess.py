"""An import proposes the command that the columns suggest, and reports how many rows were added to existing objects."""

import json
import shlex
from pathlib import Path

import pytest

from sonicpy.cli.importing.guess import guessed_command
from tests.cli.conftest import Run
from tests.processes import Server

GUESSES = [
    (["sku", "name", "price"], "--id sku --text name --collection goods"),
    (["price", "name", "product_id"], "--id product_id --text name --collection goods"),
    (["ID", "Title", "Description", "year"], "--id ID --text Title --text Description --collection goods"),
    (
        ["Product ID", "Product Name", "Description"],
        "--id 'Product ID' --text 'Product Name' --text Description --collection goods",
    ),
    (["number", "words of it"], "--id number --text 'words of it' --collection goods"),
    (["one", "two"], "--id one --text two --collection goods"),
    (["alone"], None),
]


@pytest.mark.parametrize(("columns", "command"), GUESSES)
def test_columns_suggest_a_command(columns: list[str], command: str | None) -> None:
    expected = None if command is None else f"sonicpy import data/goods.csv {command}"
    assert guessed_command(Path("data/goods.csv"), columns) == expected


def test_the_proposed_command_imports_the_file(run: Run) -> None:
    Path("goods.csv").write_text("sku,name\nA1,red apple\nA1,green apple\nB2,plum\n")
    proposed = "sonicpy import goods.csv --id sku --text name --collection goods"
    run("import", "goods.csv", "--data", "d", status=2, said=f"it has 'sku', 'name'; perhaps: {proposed}\n")
    said = "1 row was added to objects that were there, beside their earlier words\n"
    run(*shlex.split(proposed)[1:], "--data", "d", "-q", said=said)
    assert run("query", "goods", "apple", "--data", "d") == "A1\n"


def test_the_proposed_command_reads_the_file_as_this_one(run: Run) -> None:
    Path("goods.txt").write_text("sku;name\nA1;grün\n", encoding="latin-1")
    flags = ["--format", "csv", "--delimiter", ";", "--encoding", "iso8859-1"]
    proposed = f"sonicpy import goods.txt {shlex.join(flags)} --id sku --text name --collection goods"
    run("import", "goods.txt", *flags, "--data", "d", status=2, said=f"; perhaps: {proposed}\n")
    run(*shlex.split(proposed)[1:], "--data", "d", "-q")
    assert run("query", "goods", "grün", "--data", "d") == "A1\n"


def test_rows_that_met_an_object_are_counted(run: Run, shared_server: Server) -> None:
    Path("rows.jsonl").write_text("".join(json.dumps({"id": i % 3, "text": f"word{i}"}) + "\n" for i in range(5)))
    for where in (["--data", "d"], ["--server", f"sonic://127.0.0.1:{shared_server.port}"]):
        line = ["import", "rows.jsonl", "--collection", "met_rows", "--json", *where]
        assert json.loads(run(*line))["met"] == 2
        assert json.loads(run(*line))["met"] == 5
