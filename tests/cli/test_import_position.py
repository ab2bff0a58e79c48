"""A saved position covers only rows that the sink has stored durably, and is deleted only after the last ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sonicpy.cli.importing import job
from sonicpy.cli.importing.job import ImportJob
from sonicpy.cli.importing.mapping import FieldMapping
from sonicpy.cli.importing.position import Position
from sonicpy.cli.importing.progress import ProgressBar
from sonicpy.cli.importing.row_sources import Source

ROWS = 35


class Sink:
    """A sink that counts the entries that were pushed and those that were stored."""

    def __init__(self) -> None:
        self.pushed = self.stored = 0

    def push(self, entries: Sequence[Any]) -> list[tuple[int, str]]:
        self.pushed += len(entries)
        return []

    def sync(self) -> None:
        self.stored = self.pushed

    def objects(self, collection: str) -> int:
        return self.pushed


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Source]:
    path = tmp_path / "rows.csv"
    path.write_text("id,text\n" + "".join(f"{number},word{number}\n" for number in range(ROWS)))
    source = Source(str(path))
    yield source
    source.close()


@pytest.mark.parametrize(("save_every_s", "saves"), [(0.0, 4), (1_000.0, 0)])
def test_rows_are_stored_before_their_position_is_saved_or_removed(
    rows: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_every_s: float, saves: int
) -> None:
    monkeypatch.setattr(job, "CHUNK_ROWS", 10)
    monkeypatch.setattr(job, "SAVE_EVERY_S", save_every_s)
    sink, stored = Sink(), list[int]()

    def write(path: Path, position: Position) -> None:
        assert sink.stored == position.rows
        stored.append(position.rows)

    def remove(path: Path) -> None:
        assert sink.stored == ROWS

    monkeypatch.setattr(job, "write_position", write)
    monkeypatch.setattr(job, "remove_position", remove)
    importing = ImportJob(rows, FieldMapping(collection="c", bucket="b"), sink)
    importing.save_position(tmp_path / "position", Position())
    with ProgressBar(None, "rows", shown=False) as progress:
        assert importing.run(None, progress).indexed == ROWS
    assert len(stored) == saves
