"""The records of an import, applied to a replica, and the backup on the disk, without a cluster."""

import asyncio
import json
import os
import random
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.batches import unpack_records  # noqa: E402
from sonicpy.cluster.log.versions import newest, unpack_entry  # noqa: E402
from sonicpy.cluster.node.known_rules import rules_of  # noqa: E402
from sonicpy.cluster.node.snapshots import replace_folder, save  # noqa: E402
from sonicpy.cluster.operator import transfer  # noqa: E402
from sonicpy.cluster.registry.registry import Layout, Registry  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import ConfigError, InvalidArgument, StoreError  # noqa: E402
from sonicpy.index.index import Index  # noqa: E402
from sonicpy.index.recorder import RECORD_BYTES_MAX, Recorder  # noqa: E402
from sonicpy.index.replica_index import ReplicaIndex  # noqa: E402
from sonicpy.index.report import export  # noqa: E402
from sonicpy.rules import NEWEST  # noqa: E402
from sonicpy.store.care.backup import BACKUP_FILE  # noqa: E402
from sonicpy.store.disk.environment import DATA_FILE  # noqa: E402
from sonicpy.store.rows.log_progress import LogProgress  # noqa: E402
from tests.cluster.memory import MemoryBroker, MemoryVault  # noqa: E402
from tests.cluster.test_replica import entry, follow, pushed, replica_in  # noqa: E402
from tests.support.surfaces import ORDERED  # noqa: E402

C, B = "c", "b"


def recorder_of(config: Config) -> Recorder:
    """Return a recorder of a cluster that was upgraded."""
    recorder = Recorder(config)
    recorder.take_rules(rules_of(newest()), notes_order=True)
    return recorder


def records(recorder: Recorder, index: Index) -> list[bytes]:
    return [record for held in index.holdings() for record in transfer.records_of(recorder, held)]


def lines(index: Index | ReplicaIndex) -> list[dict[str, Any]]:
    with index.engine.snapshot_of_now() as view:
        return list(export.lines(view, None, None))


def replica_of(folder: Path, recorder: Recorder, changes: Iterable[bytes]) -> ReplicaIndex:
    replica = ReplicaIndex(folder, recorder)
    replica.apply_batch(list(changes), LogProgress(1, "e", "aa", {}))
    replica.engine.commit()
    return replica


def words(first: int, count: int, size: int) -> str:
    dice = random.Random(first)
    return " ".join(f"{number}{dice.randbytes(size // 2).hex()}" for number in range(first, first + count))


# -- objects -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [Config(), ORDERED], ids=["plain", "ordered"])
def test_an_object_of_many_words_arrives_as_it_was(tmp_path: Path, config: Config) -> None:
    text = words(0, 10_000, 8)
    recorder = recorder_of(config)
    with Index(tmp_path / "one", config, autocommit=False) as one:
        one.push(C, B, "big", text, "none", tags=["red"])
        one.commit()
        made = records(recorder, one)
        with replica_of(tmp_path / "0000", recorder, made) as replica:
            assert lines(replica) == lines(one)
    assert len(made) == 1


@pytest.mark.full
def test_an_object_beyond_a_record_keeps_the_order_of_its_texts(tmp_path: Path) -> None:
    texts = [words(first, 8_000, 44) for first in (0, 8_000, 12_000)]
    recorder = recorder_of(ORDERED)
    with Index(tmp_path / "one", ORDERED, autocommit=False) as one:
        one.push(C, B, "before", "plain", "none")
        for text in texts:
            one.push(C, B, "big", text, "none", tags=["red"], values={"price": 3})
        one.commit()
        made = records(recorder, one)
        assert len(made) > 3
        assert max(map(len, made)) <= RECORD_BYTES_MAX
        with replica_of(tmp_path / "0000", recorder, [*made, *made]) as replica:
            assert uncounted(lines(replica)[1:]) == uncounted(lines(one)[1:])
            for text in texts:
                first, second, third = text.split()[7_000:7_003]
                for index in (one, replica):
                    assert index.query(C, B, f'"{first} {second}"', lang="none", syntax="web") == ["big"]
                    assert index.query(C, B, f'"{first} {third}"', lang="none", syntax="web") == []


def uncounted(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return lines without the counts of languages, which depend on the number of imports."""
    for line in found:
        line.pop("languages", None)
    return found


def test_an_object_with_long_named_texts_is_cut_into_records(tmp_path: Path) -> None:
    recorder = recorder_of(Config())
    with Index(tmp_path / "one", autocommit=False) as one:
        one.upsert(C, B, "big", {"title": "apple", "body": words(0, 9_000, 44)}, "none")
        one.commit()
        made = records(recorder, one)
        assert len(made) > 1
        with replica_of(tmp_path / "0000", recorder, made) as replica:
            (there,), (here,) = lines(replica)[1:], lines(one)[1:]
            assert here["fields"].pop("digest"), "the first of several records does not hold the whole text"
            assert there == here


def test_a_text_beyond_a_record_is_refused_by_a_sentence(tmp_path: Path) -> None:
    with Index(tmp_path / "one", ORDERED, autocommit=False) as one:
        one.push(C, B, "big", words(0, 18_000, 60), "none")
        one.commit()
        with pytest.raises(InvalidArgument, match=r"a change of \d+ bytes of terms is refused: a cluster accepts"):
            records(recorder_of(ORDERED), one)


# -- mirrors -----------------------------------------------------------------------------------------------------------


class OwnName:
    """The claim of a name that no other process wants."""

    incarnation = 1
    loss: str | None = None

    async def may_begin(self) -> None:
        pass

    async def confirm(self, effect: "asyncio.Future[None]") -> None:
        pass


def imported(layout: Layout, sources: list[Path], monkeypatch: pytest.MonkeyPatch) -> dict[int, list[bytes]]:
    """Import folders into a broker in memory; return the records of each partition."""
    recorder = recorder_of(Config())
    found: dict[int, list[bytes]] = {}

    @asynccontextmanager
    async def appending(*_: object, **__: object) -> AsyncIterator[tuple[None, Recorder, transfer.Begin]]:
        appender = transfer.Appender(None, layout, OwnName(), newest())  # type: ignore[arg-type]
        yield None, recorder, lambda: asyncio.sleep(0, appender)  # the index has no synonyms to ask about
        await appender.stop()

    async def fill() -> None:
        broker = MemoryBroker()
        monkeypatch.setattr(transfer, "JetStream", lambda connection: broker)
        monkeypatch.setattr(transfer, "_appending", appending)
        await transfer._import("", sources, Config(), print)
        for packed in broker.logs[0]:
            for partition, section in unpack_entry(packed).sections.items():
                found.setdefault(partition, []).extend(unpack_records(section))

    asyncio.run(fill())
    return found


@pytest.mark.full
def test_mirrors_keep_their_owners_in_every_part_of_their_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(8, 1, ("n1",), spread=(("shop", 3),))
    with Index(tmp_path / "one", autocommit=False) as one:
        one.mirror([("1", "red shirt")], collection="shop", bucket="default", owner="first")
        one.mirror([("mail:1", "dear")], collection="notes", bucket="mail", owner="second", prefix="mail:")
        one.claim("shop", "empty", "third")
        one.push("shop", "free", "1", "green shirt", "eng")
        one.commit()
    records_of = imported(layout, [tmp_path / "one"], monkeypatch)
    for collection, bucket, owner, prefix in (
        ("shop", "default", "first", ""), ("notes", "mail", "second", "mail:"), ("shop", "empty", "third", ""),
    ):  # fmt: skip
        for partition in set(layout.parts_of(collection, bucket)):
            folder = tmp_path / f"{collection}-{bucket}-{partition}"
            with replica_of(folder, recorder_of(Config()), records_of[partition]) as replica:
                assert replica.claim_state(collection, bucket, owner, prefix) is True
                other = replica.claim_state(collection, bucket, "another", prefix)
                assert f"the mirror of '{owner}'" in str(other)
                assert replica.bucket_rules(collection, bucket) == NEWEST
                assert replica.verify() == []


# -- backups -----------------------------------------------------------------------------------------------------------


def test_the_disk_has_all_of_a_backup_before_it_is_said_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(2, 1, ("n1",))
    brokers = MemoryBroker(logs=1)
    registry = Registry(MemoryVault())
    synced: set[int] = set()

    @asynccontextmanager
    async def cluster_at(*_: object) -> AsyncIterator[tuple[None, Registry]]:
        yield None, registry

    async def nothing(*_: object) -> None:
        pass

    def noted(sync: Any) -> Any:
        return lambda descriptor: (sync(descriptor), synced.add(os.fstat(descriptor).st_ino))

    async def test() -> None:
        monkeypatch.setattr(registry, "layout", lambda: asyncio.sleep(0, layout))
        for partition in range(2):
            brokers.logs[0].append(entry(partition + 1, pushed("o1", "apple"), partition=partition))
            replica = replica_in(tmp_path / f"{partition:04}", partition=partition)
            await follow(brokers, partition + 1, replica)
            await save(replica, registry)
            await replica.close()
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):
                monkeypatch.setattr(os, name, noted(getattr(os, name)))
        await transfer._backup("", folder, print)
        await replace_folder(0, await brokers.epoch(0), registry, tmp_path / "again")

    folder = tmp_path / "new" / "backup"
    monkeypatch.setattr(transfer, "cluster_at", cluster_at)
    monkeypatch.setattr(transfer, "ask_nodes", lambda *_: asyncio.sleep(0, {}))
    monkeypatch.setattr(transfer, "_source", lambda *_: "n1")
    monkeypatch.setattr(transfer, "give_watched_order", nothing)
    asyncio.run(test())
    made = [folder, *folder.rglob("*")]
    assert len(made) == 6
    others = [tmp_path, folder.parent, tmp_path / "again" / DATA_FILE]
    assert [path for path in (*others, *made) if path.stat().st_ino not in synced] == []


@pytest.mark.parametrize(
    "content",
    [
        '{"lay',
        "{}",
        "[]",
        '{"partitions": 3, "layout": {}}',
        '{"partitions": {}}',
        '{"partitions": {}, "layout": {"partitions": 0}}',
        '{"partitions": {"0": {}, "2": {}}, "layout": {"partitions": 3}}',
        "\0",
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_a_damaged_description_of_a_backup_is_one_sentence(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError, match=r"holds no cluster\.json; allowed is a folder written by sonicpy"):
        transfer.restore("", tmp_path, Config(), print)
    (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(StoreError, match=r"cluster\.json is damaged; allowed is the file that"):
        transfer.restore("", tmp_path, Config(), print)


def backup_of_cluster(folder: Path, partitions: int) -> None:
    """Write the backup of a cluster, each partition of which holds one object."""
    for number in range(partitions):
        with Index(folder / f"store{number}", autocommit=False) as index:
            index.push(C, B, f"o{number}", "apple", "eng")
            index.commit()
            index.backup(folder / f"{number:04}")
    notes = {"layout": {"partitions": partitions}, "partitions": {str(number): {} for number in range(partitions)}}
    (folder / "cluster.json").write_text(json.dumps(notes))


def test_a_backup_of_a_cluster_is_imported_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*given: Any, **_: Any) -> Any:
        return asyncio.sleep(0, given[1])

    monkeypatch.setattr(transfer, "_import", whole)  # the first step that changes anything
    ways = transfer.import_folder, transfer.restore
    backup_of_cluster(tmp_path, 3)
    parts = [tmp_path / f"{number:04}" for number in range(3)]
    (tmp_path / "0007").mkdir()
    shutil.copy(parts[0] / BACKUP_FILE, tmp_path / "0007")  # belongs to another backup
    assert [way("", tmp_path, Config(), print) for way in ways] == [parts, parts]
    shutil.move(parts[1], tmp_path / "moved")
    for way in ways:
        with pytest.raises(
            StoreError, match=r"is incomplete: .*0001.sonicpy\.backup is missing; allowed is the whole "
        ):
            way("", tmp_path, Config(), print)
    shutil.move(tmp_path / "moved", parts[1])
    (tmp_path / "cluster.json").unlink()
    with pytest.raises(
        StoreError, match=r"holds an incomplete backup of a cluster, without cluster\.json; allowed is "
    ):
        transfer.import_folder("", tmp_path, Config(), print)
    for single in (parts[2], tmp_path / "store1"):
        assert transfer.import_folder("", single, Config(), print) == [single]
    assert transfer.made_with(parts[2])["lexer"]
