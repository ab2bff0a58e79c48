"""An import into a disk that becomes full reports it, and continues where it stopped once there is room."""

import os
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.cli.importing import job
from tests.cli.conftest import Run
from tests.disk import disk, fill

ROWS = 8_000


@pytest.mark.full
def test_an_import_that_fills_the_disk(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SAVE_EVERY_S", 0.0)
    rows = (f"{number},word{number} other{number} third{number}x common text\n" for number in range(ROWS))
    Path("rows.csv").write_text("id,text\n" + "".join(rows))
    verb = ["import", "rows.csv", "--collection", "c", "--data", "d/store", "--resume"]
    with disk(here / "d", 12 << 20) as root:
        filler = fill(root, 2 << 20)
        run(*verb, status=1, said="the disk of the store is full")
        assert os.listdir(root / "store" / "import"), "it knows how far it has come"
        filler.unlink()
        assert f"{ROWS} indexed, 0 refused in all\n" in run(*verb, said="continuing after row")
        with Index(root / "store") as index:
            assert index.count_objects("c", "default") == ROWS
            assert index.verify() == []
