"""The recipe for a table of PostgreSQL works against a server that the test starts."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import postgres
from tests.docs.pages import DOCS, blocks
from tests.docs.running import put_commands_on_path, run_in_shell

PAGE = DOCS / "recipes" / "follow.md"
GIVEN = "search:secret@localhost/shop?"


@pytest.fixture
def database() -> Iterator[tuple[Any, str]]:
    """A connection to a PostgreSQL for these tests, and its part of a URL."""
    pytest.importorskip("sqlalchemy", reason="needs the extra [tables]")
    if reason := postgres.missing():
        pytest.skip(f"PostgreSQL: {reason}")
    with postgres.open_postgres() as connection:
        yield connection, f"{postgres.USER}@/postgres?host={connection.info.host}&"


@pytest.mark.full
def test_a_table_of_postgresql_is_followed(
    database: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, address = database
    monkeypatch.chdir(tmp_path)
    put_commands_on_path(tmp_path / "bin", monkeypatch)
    (schema,) = [block.code for block in blocks(PAGE) if block.language == "sql"]
    (told,) = [block.code for block in blocks(PAGE) if block.language == "sh"]
    command = told.partition("\n")[2].rstrip().replace(GIVEN, address)
    assert address in command

    def sonicpy(flags: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(run_in_shell(f"{command} {flags} --json", PAGE.name, dict(os.environ)))
        return said

    def passed(*counts: int, flags: str = "") -> None:
        said = sonicpy(flags)
        assert (said["rows"], said["changed"], said["gone"]) == counts

    connection.execute(schema)
    connection.execute("INSERT INTO products VALUES (1, 'Rain jacket'), (2, 'Party hat'), (3, 'Art supplies')")
    passed(3, 3, 0)
    connection.execute("UPDATE products SET title = 'Felt hat' WHERE id = 2")
    connection.execute("UPDATE products SET gone = true WHERE id = 3")
    connection.execute("DELETE FROM products WHERE id = 1")
    drift = sonicpy("--check")
    assert (drift["changed"], drift["extra"], drift["missing"]) == (1, 2, 0)
    passed(1, 1, 1)
    assert sonicpy("--check")["extra"] == 1, "the deleted row was not marked"
    passed(1, 0, 1, flags="--whole")
    assert sonicpy("--check") | {"rows": 0, "samples": None} == {
        "rows": 0, "missing": 0, "changed": 0, "extra": 0, "refused_count": 0, "samples": None,
    }  # fmt: skip
