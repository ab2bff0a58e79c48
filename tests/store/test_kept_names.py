"""Stores that use a name of format 6 open in the present version, and give the recorded answers.

`tests/fixtures/make.py` made these stores, with the contents of `tests/fixtures/used.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.config import Config
from sonicpy.index.maintenance.verify import verify_backup, verify_folder
from sonicpy.store.disk.environment import Environment
from sonicpy.store.rows import uses
from sonicpy.store.rows.meta import uses_of
from tests.fixtures import make
from tests.fixtures.used import USED, Used, answers
from tests.processes import run_here

pytestmark = pytest.mark.usefixtures("extras_as_made")

ALWAYS = {uses.FACTS, uses.RULES_8}
"""The names that every fixture has."""


class Kept:
    """A fixture, unpacked in `root`."""

    def __init__(self, name: str, root: Path) -> None:
        make.unpack(make.USED_FOLDER / f"{name}.tar.xz", root)
        self.name, self.root = name, root
        self.used: Used = USED[name]
        self.config = Config.model_validate(self.used.settings)
        self.facts: dict[str, Any] = json.loads((root / make.FACTS).read_text(encoding="utf-8"))

    def judge(self, index: sonicpy.Index, kind: str, *, is_asked: bool = True) -> None:
        """Compare all answers of an index with the recorded ones."""
        found, wanted = json.loads(json.dumps(answers(index, self.used))), dict(self.facts[kind])
        asked = wanted.pop("asked")
        assert (found.pop("asked") == asked) is is_asked
        assert found == wanted


QUICK = {uses.GRAPHLESS, uses.ORDER}
"""The names whose fixtures the gate opens."""
NAMES = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.full) for name in sorted(USED)]


@pytest.fixture(params=NAMES)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    return Kept(request.param, tmp_path)


def test_every_name_has_a_fixture() -> None:
    """A new name needs a row in `USED` and a fixture, which `python -m tests.fixtures.make` makes."""
    assert uses.KNOWN.keys() - ALWAYS == USED.keys() | {uses.FIELD_RECORDS}, "the last one is of entries: entries2"
    assert {path.name.removesuffix(".tar.xz") for path in make.USED_FOLDER.iterdir()} == USED.keys()


@pytest.mark.parametrize("kind", ["closed", "killed"])
def test_its_store_opens_for_writing(kept: Kept, kind: str) -> None:
    """The killed store has to apply its log, in which the name is used, too."""
    folder = kept.root / kind
    if kind == "closed":
        assert verify_folder(folder) == []
        environment = Environment(folder, 1 << 27, read_only=True)
        with environment.reading() as transaction:
            assert uses_of(transaction) >= {*ALWAYS, kept.name}
        environment.close()
    for _ in range(2):
        with sonicpy.open(folder, kept.config) as index:
            kept.judge(index, kind)
    with sonicpy.open(folder, kept.config) as index:
        for name in index.objects("messages", "default", limit=None)[::2]:
            index.flush_object("messages", "default", name)
        kept.used.fill(index, (1, 61))
        index.consolidate()
        assert index.verify() == []
        assert "o61" in index.query_ids("messages", "default", "forecast", limit=100)


@pytest.mark.parametrize("way", ["backup", "export"])
def test_it_is_carried_into_another_store(kept: Kept, way: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    if way == "backup":
        assert verify_backup(kept.root / "backup") == []
    else:
        settings = {f"store.{key}": str(value).lower() for key, value in kept.used.settings.get("store", {}).items()}
        given = ["import", str(kept.root / "exported.jsonl"), "--data", str(other)]
        status, _, error = run_here(given, tmp_path, settings)
        assert status == 0, error
    with sonicpy.open(other, kept.config) as index:
        if way == "backup":
            index.restore(kept.root / "backup")
        kept.judge(index, "closed", is_asked=way == "backup" or kept.used.is_exported)
        assert index.verify() == []
