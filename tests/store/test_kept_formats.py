"""Files of every version since 1.0 open in the present one, and give the recorded answers.

`tests/fixtures/make.py` made the fixtures. An existing fixture is never made again: a version with another format adds
its own, and these tests use all of them.
"""

import asyncio
import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.cluster.log.versions import FORMATS as ENTRIES
from sonicpy.errors import StoreError
from sonicpy.index.maintenance.verify import verify_backup, verify_folder
from sonicpy.store.care import backup
from sonicpy.store.disk import boot_mark, checkpoint, log
from sonicpy.store.disk.boot_mark import BOOT_FILE
from sonicpy.store.disk.checkpoint import CHECKPOINT_FILE
from sonicpy.store.disk.environment import Environment
from sonicpy.store.rows import meta
from tests.fixtures import make
from tests.fixtures.contents import MODES, config_of, facts, ranked
from tests.processes import run_here

pytestmark = pytest.mark.usefixtures("extras_as_made")

FORMATS = sorted(make.FOLDER.glob("format*"))
LOGS = sorted(make.FOLDER.glob("entries*"))
KINDS = ("closed", "killed")


class Kept:
    """A fixture, unpacked.

    Attributes:
        root: the folder with `closed`, `killed`, `backup` and `exported.jsonl`.
    """

    def __init__(self, fixture: Path, mode: str, root: Path) -> None:
        make.unpack(fixture / f"{mode}.tar.xz", root)
        self.root = root
        self.config = config_of(mode)
        self.facts: dict[str, Any] = json.loads((root / make.FACTS).read_text(encoding="utf-8"))
        self.ranked: dict[str, Any] = json.loads((fixture / make.RANKED).read_text(encoding="utf-8"))[mode]

    def judge(self, index: Index, kind: str) -> None:
        """Compare all answers of an index with the recorded ones."""
        found = json.loads(json.dumps(facts(index)))
        for name, wanted in self.facts[kind].items():
            assert found[name] == wanted, name
        assert ranked(index) == self.ranked[kind]


STORES = [
    pytest.param((fixture, mode), id=f"{fixture.name}-{mode}", marks=[] if mode == "default" else pytest.mark.full)
    for fixture in FORMATS
    for mode in MODES
]


@pytest.fixture(params=STORES)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    fixture, mode = request.param
    return Kept(fixture, mode, tmp_path)


def test_what_this_version_writes_is_kept() -> None:
    """A format that changes needs a new fixture: `python -m tests.fixtures.make`."""
    assert f"format{meta.FORMAT_VERSION}" in [folder.name for folder in FORMATS]
    assert f"entries{max(ENTRIES)}" in [folder.name for folder in LOGS]


def test_no_fixture_is_missing() -> None:
    """The fixtures have every format since the first one that is kept."""
    assert [folder.name for folder in FORMATS] == [f"format{n}" for n in range(4, meta.FORMAT_VERSION + 1)]
    assert [folder.name for folder in LOGS] == [f"entries{n}" for n in sorted(ENTRIES)]


def versions_in(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the versions of the files of a fixture, as read from their bytes."""
    (segment,) = (root / "killed" / "log").iterdir()
    yield "log", struct.unpack_from("<8sH", segment.read_bytes())[1]
    yield "checkpoint", struct.unpack_from("<8sH", (root / "closed" / CHECKPOINT_FILE).read_bytes())[1]
    yield "boot mark", json.loads((root / "closed" / BOOT_FILE).read_text())["version"]
    sealed = (root / "backup" / backup.BACKUP_FILE).read_bytes()
    yield "backup", backup.SEAL.unpack(sealed[-backup.SEAL.size :])[1]


def test_a_fixture_holds_each_file_as_this_version_writes_it(tmp_path: Path) -> None:
    """A new version of a file of the store is a new format of the store, and needs a fixture."""
    Kept(make.FOLDER / f"format{meta.FORMAT_VERSION}", "default", tmp_path)
    assert dict(versions_in(tmp_path)) == {
        "log": log.FORMAT_VERSION,
        "checkpoint": checkpoint.FORMAT_VERSION,
        "boot mark": boot_mark.VERSION,
        "backup": backup.FORMAT_VERSION,
    }


def test_a_closed_store_is_read_as_it_is(kept: Kept) -> None:
    folder = kept.root / "closed"
    assert verify_folder(folder) == []
    before = (folder / "data.mdb").read_bytes()
    with sonicpy.open(folder, kept.config, read_only=True) as index:
        kept.judge(index, "closed")
        assert index.verify() == []
    assert (folder / "data.mdb").read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_opens_for_writing(kept: Kept, kind: str) -> None:
    """The process of one of the stores was killed before its log was committed, and its machine has started again
    since.
    """
    folder = kept.root / kind
    for _ in range(2):
        with sonicpy.open(folder, kept.config) as index:
            kept.judge(index, kind)
    with sonicpy.open(folder, kept.config) as index:
        index.push("messages", "default", "object:after", "common afterwards", "none")
        index.consolidate()
        assert index.query_ids("messages", "default", "afterwards") == ["object:after"]
    assert verify_folder(folder) == []
    environment = Environment(folder, 1 << 27, read_only=True)
    with environment.reading() as transaction:
        assert meta.FORMAT.read(transaction) == str(meta.FORMAT_VERSION)
    environment.close()


def test_what_an_old_store_holds_changes_in_every_way(kept: Kept) -> None:
    """Rows of the old format are read, changed and removed, and changed rows get the present format."""
    folder = kept.root / "closed"
    held: dict[tuple[str, str], dict[str, list[str]]] = {}
    with sonicpy.open(folder, kept.config) as index:
        for one in index.holdings():
            held.setdefault((one.collection, one.bucket), {}).setdefault(one.object, []).extend(one.terms)
        for scope, objects in held.items():
            for number, (name, words) in enumerate(objects.items()):
                if number % 3 == 0:
                    index.flush_object(*scope, name)
                elif number % 3 == 1:
                    index.pop(*scope, name, " ".join(words[:1]))
                else:
                    index.push(*scope, name, "quokka afterwards " + " ".join(words), "none")
        index.consolidate()
        assert index.verify() == []
    assert verify_folder(folder) == []
    with sonicpy.open(folder, kept.config, read_only=True) as index:
        for scope, objects in held.items():
            left, names = set(index.objects(*scope, limit=None)), list(objects)
            assert left.isdisjoint(names[::3])
            assert set(names[2::3]) <= left
            assert set(index.query_ids(*scope, "quokka", limit=100)) <= set(names[2::3])
            assert len(index.query_ids(*scope, "quokka", limit=100)) == min(len(names[2::3]), 100)


def test_a_store_of_other_terms_is_refused_as_it_is(kept: Kept) -> None:
    folder = kept.root / "closed"
    other = kept.config.model_copy(
        update={"normalization": kept.config.normalization.model_copy(update={"diacritic_folding_enabled": True})}
    )
    before = (folder / "data.mdb").read_bytes()
    with pytest.raises(StoreError, match="= false, not true: .*; set it back, or push the texts again into a new"):
        sonicpy.open(folder, other)
    assert (folder / "data.mdb").read_bytes() == before


def test_a_backup_is_restored(kept: Kept) -> None:
    assert verify_backup(kept.root / "backup") == []
    with sonicpy.open(kept.root / "restored", kept.config) as index:
        index.restore(kept.root / "backup")
        index.consolidate()
        assert facts(index)["holdings"] == kept.facts["closed"]["holdings"]


def test_an_export_is_imported(kept: Kept, tmp_path: Path) -> None:
    given = ["import", str(kept.root / "exported.jsonl"), "--data", str(tmp_path / "imported")]
    status, _, error = run_here(given, tmp_path, {"server.compat": kept.config.server.compat})
    assert status == 0, error
    with sonicpy.open(tmp_path / "imported", kept.config) as index:
        assert facts(index)["holdings"] == kept.facts["closed"]["holdings"]


@pytest.mark.parametrize("fixture", LOGS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("begins", ["empty", "replica"])
def test_a_replica_applies_a_log(fixture: Path, begins: str, tmp_path: Path) -> None:
    """The replica begins at the first entry, or where the replica of the version that wrote the log stopped."""
    if begins == "replica":
        make.unpack(fixture / make.REPLICA, tmp_path)
    found = asyncio.run(make.follow(tmp_path / "replica", make.read_entries(fixture)))
    assert found == json.loads((fixture / make.FACTS).read_text(encoding="utf-8"))
    assert found["faults"] == []
    shutil.rmtree(tmp_path / "replica")
